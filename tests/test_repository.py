"""The house: folders, pins, licences, one address, no trace of how or where it was made."""

import importlib.metadata
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile

import pytest
import yaml
from packaging.requirements import Requirement
from support import NOTEBOOKS, ROOT, execute, repository

TEXTS = {
    ".py", ".md", ".yml", ".yaml", ".toml", ".txt", ".in", ".cfg", ".js", ".css", ".html", ".bib",
}  # fmt: skip


def tracked() -> list:
    """The files of the repository; without git, all but what .gitignore names."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    git = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if git.returncode:
        pytest.skip("no git here to list the files with")
    return [ROOT / name for name in git.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list:
    return [path for path in tracked() if path.suffix in TEXTS or path.suffix == ".ipynb"]


# ------------------------------------------------------------- what there is


def test_readme_gives_the_two_commands_and_the_licences():
    text = (ROOT / "README.md").read_text("utf-8")
    for wanted in (
        "make book",
        "make test",
        "CONTRIBUTING",
        "BSD",
        "CC BY 4.0",
        "requirements.txt",
    ):
        assert wanted in text, wanted
    assert re.search(r"!\[[^\]]{20,}\]\(|<img[^>]+alt=\"[^\"]{20,}\"", text), "one picture"


def test_links_of_the_readme_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text("utf-8")
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
            assert (ROOT / target).exists(), f"{name} links to {target}"


def test_every_chapter_is_in_the_table_of_contents():
    contents = (ROOT / "_toc.yml").read_text("utf-8")
    parts = yaml.safe_load(contents)["parts"]
    files = [chapter["file"] for part in parts for chapter in part["chapters"]]
    listed = [file for file in files if file.startswith("notebooks/")]
    assert listed == [f"notebooks/{path.stem}" for path in NOTEBOOKS]


def test_make_help_lists_every_target():
    if shutil.which("make") is None:
        pytest.skip("no make")
    said = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    for target in (
        "book", "test", "bench", "notebooks", "pdf", "zip", "serve", "lab", "lint", "clean", "help",
    ):  # fmt: skip
        assert re.search(rf"^{target}\b", said, re.MULTILINE), target


def test_ci_calls_the_readmes_command():
    script = ROOT / ".ci" / "run"
    text = script.read_text("utf-8")
    assert text.startswith("#!")
    assert "set -euo pipefail" in text
    assert re.search(r"^\s*(exec )?make test$", text, re.MULTILINE)
    if os.name != "nt":
        assert script.stat().st_mode & stat.S_IXUSR
    assert ".ci/run" in (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    for workflow in ("ci.yml", "pages.yml"):
        yaml.safe_load((ROOT / ".github" / "workflows" / workflow).read_text("utf-8"))


def test_files_that_workflows_and_the_guide_name_are_there():
    paths = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", ROOT / "ARCHITECTURE.md"]
    for path in (*paths, *(ROOT / ".github" / "workflows").glob("*.yml")):
        named = re.findall(
            r"\b(?:tests|helpers|homework|book)/[\w/]+\.\w+", path.read_text("utf-8")
        )
        missing = [name for name in named if "NN" not in name and not (ROOT / name).exists()]
        assert missing == [], path.name


# ------------------------------------------------------------- one address


def test_repository_has_one_address():
    known = repository()
    name = known.rpartition("/")[2]
    for path in texts():
        for found in re.findall(rf"https://github\.com/[\w.-]+/{name}\b", path.read_text("utf-8")):
            assert found == known, f"{path.relative_to(ROOT)} has {found}"


# ------------------------------------------------------------- pins


def pins() -> dict[str, Requirement]:
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    found = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    return {requirement.name.lower().replace("_", "-"): requirement for requirement in found}


def test_pins_are_exact_and_hold_no_cuda():
    for name, requirement in pins().items():
        assert [s.operator for s in requirement.specifier] == ["=="], name
        assert not re.match(r"nvidia|cuda|triton", name), name
    assert str(pins()["torch"].specifier) == "==2.13.0"


@pytest.mark.parametrize("workflow", ["ci.yml", "pages.yml"])
def test_workflows_take_the_pin_of_torch_from_requirements(workflow):
    text = (ROOT / ".github" / "workflows" / workflow).read_text("utf-8")
    assert f"torch{pins()['torch'].specifier}" not in text
    (pattern,) = re.findall(r"grep -oE '([^']+)' requirements\.txt", text)
    found = re.findall(pattern, (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)
    assert found == [str(pins()["torch"])]


def test_what_is_asked_for_by_name_is_pinned():
    for line in (ROOT / "requirements.in").read_text("utf-8").splitlines():
        asked = line.partition("#")[0].strip()
        if asked:
            name = Requirement(asked).name.lower().replace("_", "-")
            assert name in pins(), name
            version = next(iter(pins()[name].specifier)).version
            assert version in Requirement(asked).specifier


def test_installed_is_what_is_pinned():
    for name, requirement in pins().items():
        if requirement.marker is None or requirement.marker.evaluate():
            installed = importlib.metadata.version(name).partition("+")[0]
            assert installed == next(iter(requirement.specifier)).version, name


def test_pip_finds_no_conflict():
    check = [sys.executable, "-m", "pip", "check"]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_readers_torch_and_numpy_are_left_alone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for line in project["dependencies"]:
        requirement = Requirement(line)
        assert [s.operator for s in requirement.specifier] == [">="], line
        if requirement.name == "torch":
            assert requirement.specifier.contains("2.4.0")


# ------------------------------------------------------------- the wheel


def test_wheel_holds_code_and_data(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(
        ROOT / "helpers", source / "helpers", ignore=shutil.ignore_patterns("__pycache__")
    )
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(tmp_path), str(source)],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("helpers/")}
    files = (ROOT / "helpers").rglob("*")
    wanted = {p.relative_to(ROOT).as_posix() for p in files if p.is_file() and p.suffix != ".pyc"}
    assert packed == wanted


# ------------------------------------------------------------- no trace

ALLOWED_PATHS = {
    "tests/chapters/test_notebooks.py", "notebooks/execute.py", "tests/test_repository.py",
}  # fmt: skip


def test_no_file_holds_a_path_of_one_machine():
    for path in texts():
        name = path.relative_to(ROOT).as_posix()
        if name in ALLOWED_PATHS or path.suffix == ".ipynb":  # chapters have a rule of their own
            continue
        for found in execute.PATH.findall(execute.BLOB.sub("", path.read_text("utf-8"))):
            assert found.startswith(("/usr/bin/env", "/tmp/", "/opt/")), f"{name}: {found}"


def test_what_is_built_is_not_tracked():
    names = [path.relative_to(ROOT).as_posix() for path in tracked()]
    built = re.compile(r"(^|/)(_build|build|dist|\.venv|__pycache__|\.ipynb_checkpoints)/|\.pyc$")
    assert [name for name in names if built.search(name)] == []
