"""One commit, the same bytes: the book is built a second time, elsewhere and otherwise.

In a folder with a space, an accent and Chinese in its name, without git and without a home, with
another umask, locale, time zone and hash seed.
"""

import os
import shutil
import subprocess
import sys

import pytest
from support import ROOT

from book import build
from book.address import address

OTHERWISE = {
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "MPLBACKEND": "nonsense",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "7",
    "TZ": "Asia/Kathmandu",
}


def run(module: str, folder, *arguments: str) -> str:
    """Run a module in a folder, in another environment; what it printed."""
    at = {"BOOK_ADDRESS": address(ROOT) or "", "PYTHONPATH": str(folder)}  # there is no git there
    environment = {**os.environ, **OTHERWISE, **at}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=environment,
        umask=0o077,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def copied(folder):
    """The sources of the site."""
    for name in build.SOURCES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def html_now(html_root):
    """The site, as its sources are now."""
    record = html_root.parent / ".doctrees" / build.RECORD
    if not record.exists() or record.read_text("utf-8") != build.state(ROOT):
        pytest.fail(
            "the site in _build/html is older than its sources; run `make book` first",
            pytrace=False,
        )
    return html_root


def files_of(site) -> dict[str, tuple[int, bytes]]:
    """Each file of a site: its mode and what it holds."""
    found = sorted(path for path in site.rglob("*") if path.is_file())
    return {
        p.relative_to(site).as_posix(): (p.stat().st_mode & 0o777, p.read_bytes()) for p in found
    }


@pytest.mark.nightly
def test_two_builds_give_the_same_site(html_now, tmp_path):
    folder = copied(tmp_path / "é 中 x")
    run("book.build", folder)
    here, there = files_of(html_now), files_of(folder / "_build" / "html")
    assert len(here) > 100
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []
    assert {mode for mode, _ in here.values()} == {0o644}


def test_nothing_is_built_where_nothing_has_changed(html_now):
    assert run("book.build", ROOT) == f"The book: {html_now / 'index.html'}\n"


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path, capsys):
    (tmp_path / "_build").write_text("a file, where a folder should be", "utf-8")
    assert build.main(tmp_path) == 2
    message = capsys.readouterr().err
    assert "_build" in message
    assert message.count("\n") == 1


def test_an_address_that_is_none_is_told_in_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BOOK_ADDRESS", "my book")
    assert build.main(tmp_path) == 2
    message = capsys.readouterr().err
    assert "should be like https://github.com/you/your-book, got 'my book'" in message
    assert message.count("\n") == 1
