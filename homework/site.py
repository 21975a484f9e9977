"""Build the site without solutions: for a course in which they should not lie a click away.

    python -m homework.site [--out FOLDER]

(`make book SOLUTIONS=no` is short for it.) The book's sources are copied, the solution cells are
taken out of the copy, and the copy is built: no page, source download or search index can hold what
its source does not have. What a page says of folded solutions is said otherwise (site.yml), and
links to the notebooks of the public repository lead to the chapter's student edition, which lies on
the site as homework/05.ipynb. Then every file of the site is searched for words that only the
solutions have. The folder holds the site and nothing else of the build.
"""

import base64
import json
import re
import shutil
import sys
import tempfile
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

from book.address import address
from book.build import jupyter_book
from helpers.chapters import TAUGHT
from homework.command import command, parser
from homework.release.assignment import ROOT, read_assignment
from homework.release.edition import edition
from homework.release.leaks import LeakError
from homework.release.leaks import leaks as leaks_of

OUT = ROOT / "_build" / "without-solutions"
SOURCES = (
    "_config.yml",
    "_toc.yml",
    "book",
    "notebooks",
    "helpers",
    "benchmarks",
    "homework/private_example",
)
CHANGES = Path(__file__).with_suffix(".yml")
NOTEBOOK_LINK = re.compile(r"\[[^\]]*\]\(https?://[^()\s]+\.ipynb[^()\s]*\)")
LINK = '<a href="{}" download>Problem set: the exercises, to hand in</a>'
ELSEWHERE = re.compile(r"https?://(?![^\s\"'<>)]+/homework/\d\d\.ipynb)[^\s\"'<>)]+\.ipynb")


# ---------------------------------------------------------------- the sources


def prepare(root: Path, source: Path) -> set[str]:
    """Copy the sources of a book without its solutions; gives the words that only those have.

    Raises: ValueError where a solution has no tag, or a text of site.yml is not where it should be.
    """
    ignored = shutil.ignore_patterns("__pycache__", ".*", "feedback.html")  # it shows answers
    for name in SOURCES:
        if (root / name).is_dir():
            shutil.copytree(root / name, source / name, ignore=ignored)
        else:
            shutil.copy(root / name, source / name)
    config = yaml.safe_load((source / "_config.yml").read_text("utf-8"))
    config["repository"]["url"] = address(root) or config["repository"]["url"]
    del config["launch_buttons"]  # they open the notebooks of the public repository
    (source / "_config.yml").write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
    cut = [cell for path in _chapters(source) for cell in _cut_out(path, config)]
    for change in yaml.safe_load(CHANGES.read_text("utf-8")):
        for path in _files(source, change["files"]):
            _reword(path, change, config)
    return _words_of_their_own(cut, source)


def _words_of_their_own(cut: list[NotebookNode], source: Path) -> set[str]:
    """The words that these cells have, and no file of a folder but judges, which no page shows."""
    files = [path for path in source.rglob("*") if path.is_file() and path.name != "exercises.py"]
    known = sorted(set().union(*(words(text) for path in files for text in texts(path))))

    def is_known(word: str) -> bool:  # also where only its ending differs, which an index cuts off
        at = bisect_left(known, word)
        return at < len(known) and known[at].startswith(word)

    held = [words(json.dumps(cell, ensure_ascii=False)) for cell in cut]
    own = [{word for word in found if not is_known(word)} for found in held]
    if not all(own):
        raise ValueError("a solution has no word of its own by which a leak of it could be known")
    return set().union(*own)


def _chapters(root: Path) -> list[Path]:
    return sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def _has_problem_set(path: Path) -> bool:
    return path.stem in {chapter.stem for chapter in TAUGHT}


def _files(source: Path, pattern: str) -> list[Path]:
    found = sorted(source.glob(pattern))
    if not found:
        raise ValueError(f"{CHANGES.name}: files should be a pattern of some file, got {pattern!r}")
    return [path for path in found if path.suffix != ".ipynb" or _has_problem_set(path)]


def _cut_out(path: Path, config: dict) -> list[NotebookNode]:
    """Take the solutions out of a notebook file, and links to other editions; gives the cells."""
    whole = nbformat.read(path, as_version=4)
    instead = LINK.format(_problem_set(path, config)) if _has_problem_set(path) else ""
    cut = [cell for cell in whole.cells if "solution" in cell.metadata.get("tags", [])]
    whole.cells = [cell for cell in whole.cells if cell not in cut]
    head = next(cell for cell in whole.cells if cell.cell_type == "markdown")
    title, _, rest = head.source.partition("\n\n")  # after it the badge, if there is one
    rest = NOTEBOOK_LINK.sub("", rest, count=1).lstrip()
    head.source = "\n\n".join(filter(None, [title, instead, rest]))
    for cell in whole.cells:
        if "BEGIN SOLUTION" in cell.source:
            raise ValueError(f"{path.name}: cell {cell.id} has a solution and not the tag solution")
        if cell.cell_type == "markdown":
            cell.source = NOTEBOOK_LINK.sub("", cell.source)
    kept = ("kernelspec", "language_info")  # and no state of widgets
    whole.metadata = {key: whole.metadata[key] for key in kept if key in whole.metadata}
    nbformat.write(whole, path)
    return cut


def _problem_set(path: Path, config: dict) -> str:
    """The address of a chapter's student edition, as its page and its download can link to it."""
    base = config["html"].get("baseurl", "").rstrip("/") or ".."
    return f"{base}/homework/{path.name[:2]}.ipynb"


def _reword(path: Path, change: dict, config: dict) -> None:
    """Let a file say what site.yml has in place of what it says."""
    instead = change["instead"].replace("PROBLEM-SET", _problem_set(path, config))
    instead = instead.replace("RELEASE", config["repository"]["branch"])
    wanted = _spaced(change.get("text") or change["from"])
    if "until" in change:
        wanted += r".*?(?=" + _spaced(change["until"]) + ")"
    if path.suffix == ".ipynb":
        whole = nbformat.read(path, as_version=4)
        places = [cell for cell in whole.cells if cell.cell_type == "markdown"]
        said = [re.subn(wanted, lambda _: instead, cell.source, flags=re.S) for cell in places]
        for cell, (text, _) in zip(places, said, strict=True):
            cell.source = text
        nbformat.write(whole, path)
    else:
        said = [re.subn(wanted, lambda _: instead, path.read_text("utf-8"), flags=re.S)]
        path.write_text(said[0][0], "utf-8")
    if (times := sum(n for _, n in said)) != 1:
        text = change.get("text") or change["from"]
        raise ValueError(
            f"{path.name} should say once, and says {times} times: {text!r}; "
            f"change the text in homework/{CHANGES.name}, too"
        )


def _spaced(text: str) -> str:
    """A pattern for a text, however its lines are broken."""
    return r"\s+".join(re.escape(word) for word in text.split())


# ---------------------------------------------------------------- the proof


def leaks(html: Path, secret: set[str]) -> list[str]:
    """What a built site holds of the secret words, and its links to notebooks that lie elsewhere.

    A sentence for each file and kind; none where all is well. What is packed (the frames of the
    explorers, the inventory) is unpacked; what the theme brings with it is left out.
    """
    complaints = []
    for path in sorted(p for p in html.rglob("*") if p.is_file() and "_static" not in p.parts):
        name = path.relative_to(html).as_posix()
        found = [*texts(path)]
        if held := secret & set().union(*map(words, found)):
            complaints.append(f"{name} holds words of solutions: {', '.join(sorted(held)[:5])}")
        if away := {link for text in found for link in ELSEWHERE.findall(text)}:
            complaints.append(f"{name} leads to a notebook that lies elsewhere: {min(away)}")
    return complaints


def words(text: str) -> set[str]:
    r"""The words of a text, names among them, as a search index has them; \n ends a line."""
    return set(re.findall(r"[^\W\d]\w{3,}", text.lower().replace("\\n", " ")))


def texts(path: Path) -> Iterator[str]:
    """What can be read in a file, as it stands and unpacked."""
    raw = path.read_bytes()
    found = re.findall(rb"[A-Za-z0-9+/]{24,}", raw)
    decoded = [base64.b64decode(run[: len(run) // 4 * 4]) for run in found]
    packed = [raw[at.start() :] for at in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", raw)]
    for data in (raw, *decoded, *map(_inflated, decoded + packed)):
        yield data.decode("utf-8", "ignore")


def _inflated(data: bytes) -> bytes:
    """What zlib had packed, of 50 MB at most; nothing where it had not."""
    try:
        return zlib.decompressobj().decompress(data, 50_000_000)
    except zlib.error:
        return b""


# ---------------------------------------------------------------- the command


def make(out: Path, root: Path = ROOT) -> None:
    """Build the site without solutions into a folder, in place of what it held.

    Raises: ValueError where the folder holds something else than a site, or the build fails;
    LeakError where that holds a solution. Then the folder is left as it was.
    """
    if out.exists() and any(out.iterdir()) and not (out / "searchindex.js").exists():
        raise ValueError(f"--out should be a new folder or an older site, got {out}")
    with tempfile.TemporaryDirectory() as work:
        source, html = Path(work, "source"), Path(work, "_build", "html")
        source.mkdir()
        secret = prepare(root, source)
        build(source, Path(work))
        found = add_problem_sets(root, html / "homework") + leaks(html, secret)
        if found:
            raise LeakError("the site leaks: " + "; ".join(found))
        if out.exists():
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(html, out)


def add_problem_sets(root: Path, folder: Path) -> list[str]:
    """Write the student edition of each chapter; gives what they hold and should not."""
    folder.mkdir()
    found = []
    for path in filter(_has_problem_set, _chapters(root)):
        assignment = read_assignment(path)
        made = edition(assignment)
        text = nbformat.writes(made) + "\n"
        path = folder / f"{assignment.chapter}.ipynb"
        found += [f"{path.name}: {fault}" for fault in leaks_of(text.encode(), assignment, made)]
        path.write_text(text, "utf-8")
    return found


def build(source: Path, out: Path) -> None:
    """Build a book into out/_build/html, a warning being an error. Raises: ValueError."""
    done = jupyter_book(source, out, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise ValueError(f"the build failed:\n{(done.stdout + done.stderr)[-3000:]}")


@command
def main(arguments: list[str] | None = None) -> None:
    """The command; see the head of this module."""
    asked = parser("homework.site", __doc__)
    asked.add_argument(
        "--out",
        type=Path,
        default=OUT,
        metavar="FOLDER",
        help="the site's folder (default: _build/without-solutions)",
    )
    out = asked.parse_args(arguments).out.resolve()
    make(out)
    print(f"The book without solutions: {out / 'index.html'}")


if __name__ == "__main__":
    sys.exit(main())
