"""The site without solutions: canaries in every part of a solution cell, and none in any file.

The book itself is built once, from a copy in which each solution has been given canaries.
"""

import base64
import json
import re
import shutil
import zlib
from html import unescape

import nbformat
import pytest
from support import ROOT, TAUGHT

from homework import site
from homework.release.assignment import read_assignment
from homework.release.edition import edition

PLACES = ("source", "stream", "plain", "html", "packed", "picture", "metadata", "id", "attachment")
PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(64)  # the beginning of a picture, no more
HOME = "https://github.com/ann/book"


def canary(place: str, chapter: str = "") -> str:
    """A word that no index cuts short and no highlighting splits."""
    return f"canary{PLACES.index(place)}kx{chapter}q7"


def plant(notebook: nbformat.NotebookNode, chapter: str) -> None:
    """Give every part of a chapter's solutions a canary, and put one into a note beside them."""
    say = {place: canary(place, chapter) for place in PLACES}
    frames = base64.b64encode(zlib.compress(f'["{say["packed"]} {"<p></p>" * 9}"]'.encode()))
    data = {
        "text/plain": say["plain"],
        "text/html": f'<p class="{say["html"]}">{say["html"]}</p>'
        f'<script type="application/json">{frames.decode()}</script>',
        "image/png": base64.b64encode(PIXEL + f"\n{say['picture']}\n".encode()).decode(),
    }
    for cell in [c for c in notebook.cells if "solution" in c.metadata.get("tags", [])]:
        cell.source = f"{say['source']} = 1\n{cell.source}"
        cell.id = f"solution-{say['id']}-{cell.id[-4:]}"
        cell.metadata["note"] = say["metadata"]
        cell.metadata["mystnb"] = {"figure": {"name": say["metadata"], "caption": say["metadata"]}}
        cell.outputs.append(nbformat.v4.new_output("stream", text=f"one\n{say['stream']}\n"))
        cell.outputs.append(nbformat.v4.new_output("display_data", data))
    image = {"image/png": base64.b64encode(say["attachment"].encode() + bytes(30)).decode()}
    note = nbformat.v4.new_markdown_cell(f"![](attachment:{say['attachment']}.png)")
    note.metadata["tags"], note["attachments"] = ["solution"], {f"{say['attachment']}.png": image}
    notebook.cells.insert(2, note)
    notebook.metadata["widgets"] = {"state": say["metadata"]}


def sources(folder):
    """A copy of the book's sources."""
    for name in site.SOURCES:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")  # others write there meanwhile
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The book's sources, every solution with canaries."""
    root = sources(tmp_path_factory.mktemp("book"))
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        plant(notebook, path.name[:2])
        nbformat.write(notebook, path)
    return root


@pytest.fixture(scope="module")
def built(planted, tmp_path_factory):
    """The site without solutions that is made from these."""
    out = tmp_path_factory.mktemp("site") / "html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOK_ADDRESS", HOME)  # as in a fork's workflow
        assert site.main(planted, out) == 0
    return out


def unpacked(data: bytes) -> list[bytes]:
    """A file, and what is packed in it: base64 of anything, and zlib at any place of either."""
    runs = re.findall(rb"[A-Za-z0-9+/]{24,}={0,2}", data)
    layers = [data, *(base64.b64decode(run[: len(run) // 4 * 4]) for run in runs)]
    for layer in list(layers):
        for start in [at.start() for at in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", layer)]:
            try:
                layers.append(zlib.decompressobj().decompress(layer[start:]))
            except zlib.error:
                continue
    return layers


def canaries(path) -> set[str]:
    found = [re.findall(rb"canary\dkx\d*q7", layer) for layer in unpacked(path.read_bytes())]
    return {word.decode() for words in found for word in words}


@pytest.mark.nightly
def test_no_file_holds_a_canary(built):
    files = [path for path in built.rglob("*") if path.is_file()]
    assert len(files) > 100
    assert {path.name: found for path in files if (found := canaries(path))} == {}
    assert not [path for path in files if "canary" in path.name]


@pytest.mark.nightly
def test_no_file_holds_what_all_solutions_have(built):
    """Where the true solutions went, the marks of their one form went, too."""
    for path in built.rglob("*"):
        if path.suffix in (".html", ".ipynb", ".js", ".md", ".inv"):
            text = path.read_text("utf-8", "ignore")
            for mark in (
                "END SOLUTION",
                "the book's solution",
                "book&#39;s solution",
                "tag_solution",
            ):
                assert mark not in text, f"{path.name}: {mark}"
            assert not re.search(r"\bsolution_\d", text), path.name


@pytest.mark.nightly
@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_a_chapter_is_whole_but_for_its_solutions(built, notebook):
    theirs = nbformat.read(built / "_sources" / "notebooks" / notebook.name, as_version=4)
    ours = nbformat.read(notebook, as_version=4)
    left = [cell.id for cell in ours.cells if "solution" not in cell.metadata.get("tags", [])]
    assert [cell.id for cell in theirs.cells] == left


@pytest.mark.nightly
@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_links_lead_to_the_student_edition(built, notebook):
    page = built / "notebooks" / f"{notebook.stem}.html"
    text = page.read_text("utf-8")
    links = [unescape(link) for link in re.findall(r'\shref="([^"]*)"', text)]
    problem_set = f"../homework/{notebook.stem[:2]}.ipynb"
    notebooks = {link for link in links if ".ipynb" in link}
    assert notebooks == {f"../_sources/notebooks/{notebook.name}", problem_set}
    assert "colab.research" not in text
    assert "launch-buttons" not in text
    given = (page.parent / problem_set).resolve()
    made = edition(read_assignment(notebook))
    assert json.loads(given.read_text("utf-8")) == json.loads(nbformat.writes(made))


def test_a_solution_without_its_tag_stops_the_build(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "book").mkdir()
    root = sources(tmp_path / "book")
    path = root / "notebooks" / TAUGHT[4].name
    notebook = nbformat.read(path, as_version=4)
    next(c for c in notebook.cells if "solution" in c.metadata.get("tags", [])).metadata.tags = []
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=r"05_attention.*solution-05-1 .*without the tag"):
        site.prepare(root, tmp_path / "source")
