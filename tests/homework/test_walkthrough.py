"""The walk-through on the page for teachers is what its commands print."""

import re
import shutil
import sys

import pytest
from support import ROOT

from homework import walkthrough
from homework.run import sandbox

STORED = ROOT / "book" / "walkthrough"
PAGE = (ROOT / "book" / "for-teachers.md").read_text("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a Linux program")
def test_the_page_shows_what_the_commands_print(tmp_path):
    assert shutil.which("bwrap"), sandbox.INSTALL
    assert walkthrough.main([str(tmp_path)]) == 0
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == sorted(path.name for path in STORED.iterdir())
    for name in files:
        made, stored = ((folder / name).read_text("utf-8") for folder in (tmp_path, STORED))
        assert made == stored, f"{name}: run python -m homework.walkthrough book/walkthrough"


def test_the_page_shows_all_of_it():
    shown = set(re.findall(r"walkthrough/([\w.]+)", PAGE))
    assert shown == {path.name for path in STORED.iterdir()}
