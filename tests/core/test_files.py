"""Atomic writes: the old file or the new one is there, whatever fails."""

import os
import stat

import pytest

from helpers import files


def test_text_is_written_unchanged(tmp_path):
    path = tmp_path / "made" / "on the way" / "note.txt"
    for text in ("é\r\nß\n", "shorter"):
        files.write_text(path, text)
        assert path.read_bytes() == text.encode("utf-8")
    assert [entry.name for entry in path.parent.iterdir()] == ["note.txt"]


def test_what_a_killed_process_left_is_removed_later(tmp_path):
    left = [tmp_path / name for name in (".note.txt-0123abcd", ".note.txt-4567cdef", ".other-txt")]
    for file in left:
        file.touch()
    os.utime(left[0], (0, 0))
    files.write_text(tmp_path / "note.txt", "new")
    assert [file.exists() for file in left] == [False, True, True]


@pytest.mark.parametrize("stage", ["builtins.open", "os.fsync", "os.replace"])
def test_an_interrupted_write_leaves_the_old_file(stage, tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    path = tmp_path / "note.txt"
    path.write_text("old")
    monkeypatch.setattr(stage, interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_bytes(path, b"new")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [
        ("note.txt", "old")
    ]


def test_all_of_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    sizes = []
    monkeypatch.setattr(os, "fsync", lambda file: sizes.append(os.fstat(file).st_size))
    files.write_bytes(tmp_path / "note", b"four")
    assert sizes == [4]


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_others_may_read_what_the_umask_lets_them(tmp_path):
    before = os.umask(0o027)
    try:
        files.write_bytes(tmp_path / "note", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "note").stat().st_mode) == 0o640


def test_a_file_in_place_of_the_folder_is_an_os_error(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError):
        files.write_text(tmp_path / "taken" / "note", "")
