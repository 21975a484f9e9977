"""The walk-through on the page for teachers is what its commands print."""

import re
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO

import pytest
from handins import Warm, warm
from support import ROOT

from homework import grade, walkthrough

STORED = ROOT / "book" / "walkthrough"
PAGE = (ROOT / "book" / "for-teachers.md").read_text("utf-8")


def tried(assignment, real=grade.tried) -> str:
    with warm():
        return real(assignment)


def in_this_process(walk: walkthrough.Walk, line: str, real=walkthrough.Walk.printed) -> str:
    """What a command prints: the grader's, once it was run as it stands, over one sandbox here."""
    command = "python -m homework.grade "
    if not line.startswith(command) or "collect" not in walk.outputs:
        return real(walk, line)
    said = StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(walk.folder):
        patch.setattr(grade, "Worker", Warm)
        patch.setattr(grade, "tried", tried)
        with redirect_stdout(said), redirect_stderr(said):
            assert grade.main(line.removeprefix(command).split()) == 0, said.getvalue()
    return said.getvalue()


@pytest.mark.usefixtures("bubblewrap")
def test_the_page_shows_what_the_commands_print(tmp_path, monkeypatch):
    monkeypatch.setattr(walkthrough.Walk, "printed", in_this_process)
    assert walkthrough.main([str(tmp_path)]) == 0
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == sorted(path.name for path in STORED.iterdir())
    for name in files:
        made, stored = ((folder / name).read_text("utf-8") for folder in (tmp_path, STORED))
        assert made == stored, f"{name}: run python -m homework.walkthrough book/walkthrough"


def test_the_page_shows_all_of_it():
    shown = set(re.findall(r"walkthrough/([\w.]+)", PAGE))
    assert shown == {path.name for path in STORED.iterdir()}
