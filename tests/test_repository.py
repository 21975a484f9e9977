"""The repository: one address, the set-up, the wheel, no path of one machine."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import yaml
from support import NOTEBOOKS, ROOT, execute

from book import address, environment

TEXTS = {".py", ".md", ".yml", ".yaml", ".toml", ".txt", ".in", ".cfg", ".js", ".css", ".html"}
TEXTS |= {".bib", ".cff", ".ipynb"}


def tracked() -> list:
    """The files of the repository; without git, all but what .gitignore names."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    git = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if git.returncode:
        pytest.skip("no git here to list the files with")
    return [ROOT / name for name in git.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list:
    return [path for path in tracked() if path.suffix in TEXTS]


# ------------------------------------------------------------- what there is


def test_every_chapter_is_in_the_table_of_contents():
    contents = (ROOT / "_toc.yml").read_text("utf-8")
    parts = yaml.safe_load(contents)["parts"]
    files = [chapter["file"] for part in parts for chapter in part["chapters"]]
    listed = [file for file in files if file.startswith("notebooks/")]
    assert listed == [f"notebooks/{path.stem}" for path in NOTEBOOKS]


def test_make_speaks_utf_8_in_every_locale():
    if shutil.which("make") is None:
        pytest.skip("no make")
    say = "import sys; print(sys.getfilesystemencoding(), sys.stdout.encoding)"
    command = ["make", "-s", f"--eval=say: ; @'{sys.executable}' -c '{say}'", "say"]
    ascii_alone = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=ascii_alone).stdout
    assert said.split() == ["utf-8", "utf-8"]


# ------------------------------------------------------------- one address


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with the files that hold the address, and nothing around it that tells one."""
    (tmp_path / "notebooks").mkdir()
    for name in ("pyproject.toml", *address.PLACES):
        shutil.copy(ROOT / name, tmp_path)
    for path in NOTEBOOKS:
        shutil.copy(path, tmp_path / "notebooks")
    return tmp_path


def test_one_command_writes_the_address_everywhere(elsewhere):
    """And nothing but it: written back, every file is as it was."""
    old, release = address.stored(ROOT)
    here = {path.relative_to(ROOT): path for path in texts()}
    place = old.removeprefix("https://github.com")
    holding = {name for name, path in here.items() if place in path.read_text("utf-8")}
    holding |= {Path("README.md"), *(path.relative_to(ROOT) for path in NOTEBOOKS)}
    assert address.write(old, elsewhere) == [], "run `make address`"
    changed = address.write("https://github.com/ann/another.book.git", elsewhere)
    assert {path.relative_to(elsewhere) for path in changed} == holding
    for path in changed:
        text = path.read_text("utf-8")
        assert old not in text
        site = "https://ann.github.io/another.book/"
        assert (site if path.name == "README.md" else "https://github.com/ann/another.book") in text
    assert address.address(elsewhere) == "https://github.com/ann/another.book"
    assert address.is_written(elsewhere)
    pyproject = elsewhere / "pyproject.toml"
    pyproject.write_text(pyproject.read_text("utf-8").replace(release[1:], "2.7.1", 1), "utf-8")
    address.write("https://github.com/ann/another.book", elsewhere)
    assert address.stored(elsewhere)[1] == "v2.7.1"
    assert 'version: "2.7.1"' in (elsewhere / "CITATION.cff").read_text("utf-8")
    assert "/blob/v2.7.1/" in (elsewhere / "notebooks" / NOTEBOOKS[5].name).read_text("utf-8")
    pyproject.write_text((ROOT / "pyproject.toml").read_text("utf-8"), "utf-8")
    address.write(old, elsewhere)
    for path in changed:
        assert path.read_bytes() == (ROOT / path.relative_to(elsewhere)).read_bytes()


def test_address_is_found_where_the_book_comes_from(elsewhere, monkeypatch):
    for name in ("BOOK_ADDRESS", "GITHUB_REPOSITORY", "GITHUB_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)

    address.write("https://github.com/OWNER/book", elsewhere)
    assert not address.is_written(elsewhere)
    assert address.address(elsewhere) is None, "a place-holder is no address"
    monkeypatch.setenv("GITHUB_REPOSITORY", "bob/fork")
    assert address.address(elsewhere) == "https://github.com/bob/fork"
    monkeypatch.setenv("BOOK_ADDRESS", "https://codeberg.org/eve/book/")
    assert address.address(elsewhere) == "https://codeberg.org/eve/book"
    for words in (
        "my book",
        "git@github.com:eve/book.git",
        "https://me:secret@github.com/eve/book",
    ):
        monkeypatch.setenv("BOOK_ADDRESS", words)
        with pytest.raises(ValueError):
            address.address(elsewhere)


def test_repository_named_as_its_owners_site_is_at_its_root():
    """As GitHub Pages serves it, in whatever case the name is written."""
    assert "(https://ann.github.io/)" in address.links(
        "https://github.com/Ann/Ann.github.io", "v1", ROOT
    )


OURS, ANOTHERS = "TRANSFORMERS_WORKED_OUT = True", "TABLE = {}"
CELL_RUN = """
import pathlib, sys, sysconfig
sys.path[:0] = ["here", "site"]
sys.path.append({packages!r})
sysconfig.get_path = lambda name: "site"
def install(source):
    pathlib.Path("site/helpers/__init__.py").write_text({ours!r})
"""


@pytest.mark.parametrize(
    ("place", "there"),
    [("site", OURS), ("site", "raise ImportError"), ("here", ANOTHERS), ("", "")],
)
@pytest.mark.parametrize("colab", [True, False])
@pytest.mark.parametrize("url", ["https://example.org/a", "https://github.com/OWNER/a"])
def test_first_cell_finds_helpers_or_gets_them(tmp_path, place, there, colab, url):
    """Whatever has their name, whether it comes before them or is imported."""
    (tmp_path / "site" / "helpers").mkdir(parents=True)
    if there:
        (tmp_path / place / "helpers").mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "helpers" / "__init__.py").write_text(there, "utf-8")
    code = CELL_RUN.format(packages=sysconfig.get_path("purelib"), ours=OURS)
    code += "sys.modules['google.colab'] = sys\n" * colab
    code += "import helpers\n" * (there == ANOTHERS)
    cell = address.first_cell(url, "v1")
    code += re.sub(r"%pip install --quiet (\S+)", r"install('\1')", cell)
    code += "\nfrom helpers import TRANSFORMERS_WORKED_OUT"
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if there == OURS or (colab and "OWNER" not in url):
        assert done.stderr == ""
    else:
        wanted = "only once the book is published" if "OWNER" in url else f"git+{url}@v1\n"
        assert "This kernel lacks the book's package helpers: use `make lab`" in done.stderr
        assert wanted in done.stderr


# ------------------------------------------------------------- the set-up


@pytest.fixture
def at(tmp_path, monkeypatch):
    """Return a function that sets a folder up, and gives the steps that it takes there."""
    steps = []

    def run_step(title, *command):
        steps.append(command)
        if "venv" in command:
            environment.PYTHON.parent.mkdir(parents=True, exist_ok=True)
            environment.PYTHON.touch()
        if "interrupted" in command:
            raise KeyboardInterrupt

    def set_up(root: Path, *words: str) -> list[tuple[str, ...]]:
        root.mkdir(exist_ok=True)
        for name in (environment.HASHES, environment.PINS, "pyproject.toml"):
            shutil.copy(ROOT / name, root)
        inside = environment.PYTHON.relative_to(environment.VENV)
        monkeypatch.setattr(environment, "ROOT", root)
        monkeypatch.setattr(environment, "VENV", root / ".venv")
        monkeypatch.setattr(environment, "PYTHON", root / ".venv" / inside)
        monkeypatch.setattr(environment, "READY", root / ".venv" / ".ready")
        steps.clear()
        environment.set_up(*words)
        return [*steps]

    monkeypatch.setattr(environment, "run", run_step)
    return set_up


def test_set_up_begins_anew_what_was_interrupted_or_moved_and_else_does_nothing(
    at, tmp_path, monkeypatch
):
    first, second = tmp_path / "a book's first folder", tmp_path / "the second, naïve 書"
    pip = environment.PIP
    monkeypatch.setattr(environment, "PIP", ["interrupted"])
    with pytest.raises(KeyboardInterrupt):
        at(first, "cpu")
    monkeypatch.setattr(environment, "PIP", pip)
    steps = at(first)
    assert ["venv" in one for one in steps] == [True, False, False, False]
    assert ["--require-hashes" in one for one in steps] == [False, False, True, False]
    assert any(one.endswith("+cpu") for one in steps[1]) == (sys.platform == "linux")
    assert at(first) == at(first, "lab") == []
    assert at(first.rename(second)) == [
        (*one[:-1], one[-1].replace(str(first), str(second))) for one in steps
    ]
    pins = second / environment.PINS
    monkeypatch.setattr(shutil, "copy", lambda *_: None)
    pins.write_text(f"{pins.read_text('utf-8')}another==1\n", "utf-8")
    assert len(at(second)) == 3, "into the same .venv"
    assert not any("+cpu" in word for one in at(second, "gpu") for word in one)
    assert at(second) == [], "what was chosen stays"


def test_set_up_takes_less_for_the_notebooks_alone(at, tmp_path):
    assert not any("--require-hashes" in one for one in at(tmp_path, "lab"))
    assert at(tmp_path, "lab") == []
    assert any("--require-hashes" in one for one in at(tmp_path)), "make book needs the rest"


def test_set_up_leaves_a_link_to_another_folders_alone(at, tmp_path):
    (tmp_path / ".venv").symlink_to(ROOT / ".venv", target_is_directory=True)
    assert at(tmp_path) == []


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("error sending request for url (https://pypi.org/simple/six/)", "there is no network"),
        ("error: No solution found when resolving dependencies", "there is no build"),
        ("failed to write: No space left on device (os error 28)", "the disk is full"),
    ],
)
def test_set_up_with_uv_says_why_it_stopped(said, why):
    with pytest.raises(SystemExit, match=why):
        environment.run("2/4", sys.executable, "-c", f"import sys; sys.exit({said!r})")


@pytest.mark.slow
def test_browser_that_is_not_downloaded_is_told(tmp_path):
    """Where the only server asked is none, and no other browser is found."""
    to = {"PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:9", "PLAYWRIGHT_BROWSERS_PATH": tmp_path}
    command = [sys.executable, "-m", "book.browser", "--get"]
    without = {**os.environ, **to, "PATH": "", "CHROMIUM": ""}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=without)
    if done.returncode == 0:
        pytest.skip("there is a browser in a place of its own")
    assert "Chromium was not downloaded: Error: connect ECONNREFUSED 127.0.0.1:9" in done.stderr


# ------------------------------------------------------------- the wheel


def test_wheel_holds_code_and_data(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for path in (ROOT / "pyproject.toml", ROOT / "README.md", *ROOT.glob("LICENSE*")):
        shutil.copy(path, source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "helpers", source / "helpers", ignore=ignored)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    build += ["--wheel-dir", str(tmp_path), str(source)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    packed = {name for name in names if name.startswith("helpers/")}
    assert {"LICENSE", "LICENSE-TEXT.md"} <= {Path(name).name for name in names}
    files = [p for p in (ROOT / "helpers").rglob("*") if "__pycache__" not in p.parts]
    wanted = {p.relative_to(ROOT).as_posix() for p in files if p.is_file()}
    assert packed == wanted


# ------------------------------------------------------------- no trace

ALLOWED_PATHS = {"tests/chapters/test_notebooks.py", "notebooks/execute.py"}
ALLOWED_PATHS |= {"tests/test_repository.py"}


def test_no_file_holds_a_path_of_one_machine():
    for path in texts():
        name = path.relative_to(ROOT).as_posix()
        if name in ALLOWED_PATHS or path.suffix == ".ipynb":  # chapters have a rule of their own
            continue
        for found in execute.PATH.findall(execute.BLOB.sub("", path.read_text("utf-8"))):
            assert found.startswith(("/usr/bin/env", "/tmp/", "/opt/", "C:\\Program")), name
