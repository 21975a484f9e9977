"""What is hostile in a folder or a zip costs its own student, and nobody else."""

import json
import os
import stat
import zipfile

import pytest
from handins import hand_in_below, notebook, zipped

from homework.intake import archive
from homework.intake.collect import collected

A, B, C = notebook(n=1), notebook(n=2), notebook(n=3)


@pytest.fixture
def hand_in(tmp_path):
    return hand_in_below(tmp_path)


def test_links_are_not_followed(hand_in, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "05.ipynb").write_bytes(b"secret")
    hand_in({"ada/05.ipynb": A, "eve/notes.txt": b""})
    (tmp_path / "given/ada/06.ipynb").symlink_to(secret / "05.ipynb")
    (tmp_path / "given/eve/work").symlink_to(secret)
    (tmp_path / "given/mallory").symlink_to(secret)
    ada, eve, mallory = collected(tmp_path / "given")
    assert (ada.read(), ada.notes) == (A, ("ada/06.ipynb does not count: symbolic link left out",))
    assert eve.notes == ("eve/work does not count: symbolic link left out",)
    assert (mallory.error, mallory.notes) == ("symbolic link left out", ())
    with pytest.raises(ValueError, match="symbolic link"):
        mallory.read()


@pytest.mark.parametrize("late", ["file", "folder"])
def test_a_link_made_after_collecting_is_not_followed(hand_in, tmp_path, late):
    (found,) = hand_in({"ada/05/05.ipynb": A})
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/05.ipynb").write_bytes(b"secret")
    here = tmp_path / "given/ada/05"
    (here / "05.ipynb").unlink()
    if late == "file":
        (here / "05.ipynb").symlink_to(tmp_path / "secret/05.ipynb")
    else:
        here.rmdir()
        here.symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match="cannot be read"):
        found.read()


def test_pipes_are_not_opened(hand_in, tmp_path):
    hand_in({"ada/05.ipynb": A, "b/05.ipynb": B})
    os.mkfifo(tmp_path / "given/ada/06.ipynb")
    os.mkfifo(tmp_path / "given/eve.ipynb")
    ada, _, eve = collected(tmp_path / "given")
    assert ada.notes == ("ada/06.ipynb does not count: a pipe, socket or device left out",)
    assert eve.error == "a pipe, socket or device left out"


def test_what_may_not_be_read_is_said(hand_in, tmp_path, monkeypatch):
    hand_in({"ada/05.ipynb": A, "b/05.ipynb": B, "c/d/05.ipynb": C})
    real = os.open

    def opened(path, flags, *rest, **more):
        if path in ("ada", "d"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", opened)
    ada, b, c = collected(tmp_path / "given")
    assert "may not be read (Permission denied)" in ada.error
    assert "may not be read (Permission denied)" in c.error
    assert b.read() == B


@pytest.mark.parametrize(
    "name", ["../../../etc/cron.d/x", "/etc/passwd", "C:\\Windows\\x", "..\\..\\x", "a/../../x"]
)
def test_names_that_lead_out_lead_nowhere(tmp_path, name, monkeypatch):
    given = tmp_path / "deep/er/given.zip"
    given.parent.mkdir(parents=True)
    given.write_bytes(zipped({f"{name}_1_2_05.ipynb": A, "ada/05.ipynb": B}))
    before = sorted(tmp_path.rglob("*"))
    found = collected(given)
    assert {handed.read() for handed in found} == {A, B}
    assert all(".." not in handed.file and handed.file[0] not in "/\\" for handed in found)
    assert sorted(tmp_path.rglob("*")) == before


def member(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def test_links_and_devices_in_zips_are_left_out(tmp_path):
    link = member("ada/06.ipynb", stat.S_IFLNK | 0o777)
    device = member("ada/zero.ipynb", stat.S_IFCHR | 0o666)
    files = [(link, "/etc/passwd"), (device, ""), ("ada/05.ipynb", A), ("b/05.ipynb", B)]
    (tmp_path / "given.zip").write_bytes(zipped(files))
    ada, _ = collected(tmp_path / "given.zip")
    assert ada.read() == A
    assert ada.notes == (
        "ada/zero.ipynb does not count: a pipe, socket or device left out",
        "ada/06.ipynb does not count: symbolic link left out",
    )


def test_files_larger_than_allowed_are_not_read(hand_in, monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    large = zipped({"05.ipynb": bytes(1001)})
    files = {"a_1_1_05.ipynb": bytes(1001), "b_2_1_hw.zip": large, "c_3_1_05.ipynb": bytes(1000)}
    for kind in ("folder", "zip"):
        a, b, c = hand_in(files, kind=kind)
        assert "larger than" in a.error
        assert "larger than" in b.error
        assert len(c.read()) == 1000


def test_a_zip_that_lies_about_a_size_gives_no_more_than_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 10_000)
    data = zipped({"x_1_2_05.ipynb": bytes(500_000)})
    size = (500_000).to_bytes(4, "little")
    assert data.count(size) == 2
    (tmp_path / "given.zip").write_bytes(data.replace(size, (5000).to_bytes(4, "little")))
    (found,) = collected(tmp_path / "given.zip")
    assert "damaged" in found.error


def test_many_files_in_deep_folders_cost_nobody_else(hand_in):
    many = {f"ada/{'d/' * (n % 90)}{n:02d}.txt": b"" for n in range(2000)}
    for kind in ("folder", "zip"):
        ada, eve = hand_in(
            {"ada/05.ipynb": A, **many, "eve/" + "d/" * 200 + "05.ipynb": B}, kind=kind
        )
        assert (ada.read(), eve.read()) == (A, B)


def damaged(data: bytes) -> bytes:
    at = data.index(b"PK\1\2") - 20
    return data[:at] + bytes(b ^ 0xFF for b in data[at : at + 10]) + data[at + 10 :]


def encrypted(data: bytes) -> bytes:
    """With the flag of encryption set in both headers of the first member."""
    local, central = data.index(b"PK\3\4") + 6, data.index(b"PK\1\2") + 8
    changed = bytearray(data)
    changed[local] |= 1
    changed[central] |= 1
    return bytes(changed)


def packed_oddly(data: bytes) -> bytes:
    at = data.index(b"PK\1\2") + 10
    return data[:at] + b"\x09" + data[at + 1 :]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damaged, "damaged"),
        (encrypted, "encrypted"),
        (packed_oddly, "packed in an uncommon way"),
        (lambda data: data[:-30], "no whole zip"),
        (lambda data: b"", "no whole zip"),
        (lambda data: b"PK\5\6" + bytes(18), "empty zip"),
    ],
)
def test_zips_that_cannot_be_read_are_said(hand_in, spoil, said):
    text = json.dumps([n**5 for n in range(500)]).encode()
    spoilt = spoil(zipped({"05.ipynb": text}))
    files = {
        "a_1_1_hw.zip": spoilt,
        "b_2_1_05.ipynb": B,
        "c_3_2_hw.zip": spoilt,
        "c_3_1_05.ipynb": C,
    }
    a, b, c = hand_in(files)
    assert said in a.error
    assert (b.read(), b.notes) == (B, ())
    assert c.read() == C
    assert said in " ".join(c.notes)
    with pytest.raises(ValueError, match=said):
        a.read()


def test_names_that_are_no_text_or_long(hand_in, tmp_path):
    hand_in({"ada/05.ipynb": A, "b/" + "x" * 240 + ".ipynb": B})
    os.makedirs(os.fsencode(tmp_path / "given") + b"/\xff\xfe")
    with open(os.fsencode(tmp_path / "given") + b"/\xff\xfe/05\n\xff.ipynb", "wb") as file:
        file.write(C)
    found = collected(tmp_path / "given")
    assert {handed.read() for handed in found} == {A, B, C}
    for handed in found:
        assert handed.student.isascii()
        assert f"{handed.file} {handed.name}".encode()  # no half characters
        assert "\n" not in handed.file
        assert len(handed.file) <= 2 * archive.LONGEST_SHOWN


@pytest.mark.parametrize("kind", ["none", "notebook", "cut", "pipe"])
def test_a_source_that_is_none(tmp_path, kind):
    source = tmp_path / "given.zip"
    if kind == "pipe":
        os.mkfifo(source)
    elif kind != "none":
        source.write_bytes(A if kind == "notebook" else zipped({"05.ipynb": A})[:-30])
    with pytest.raises(ValueError, match="give the zip that your platform makes, or"):
        collected(source)
