"""The site without solutions: canaries in every part of a solution cell, and none in any file.

The book itself is built once, from a copy in which each solution has been given canaries. The files
are searched here in another way than the module searches them.
"""

import base64
import json
import re
import shutil
import zlib
from html import unescape
from urllib.parse import unquote

import nbformat
import pytest
import yaml
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
        site.make(out, planted)
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


def test_every_canary_is_found_where_it_was_planted(planted):
    for path in (planted / "notebooks" / chapter.name for chapter in TAUGHT):
        assert canaries(path) == {canary(place, path.name[:2]) for place in PLACES}


def test_no_file_holds_a_canary(built):
    files = [path for path in built.rglob("*") if path.is_file()]
    assert len(files) > 100
    assert {path.name: found for path in files if (found := canaries(path))} == {}
    assert not [path for path in files if "canary" in path.name]


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


def test_the_folder_holds_the_site_and_nothing_of_the_build(built):
    top = {path.name for path in built.iterdir()}
    assert top == {
        "index.html",
        "search.html",
        "genindex.html",
        "searchindex.js",
        "objects.inv",
        ".buildinfo",
        "book",
        "notebooks",
        "homework",
        "_sources",
        "_images",
        "_static",
    }
    assert not [path for path in built.rglob("*") if path.suffix in (".doctree", ".pickle")]


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_a_chapter_is_whole_but_for_its_solutions(built, notebook):
    theirs = nbformat.read(built / "_sources" / "notebooks" / notebook.name, as_version=4)
    ours = nbformat.read(notebook, as_version=4)
    left = [cell.id for cell in ours.cells if "solution" not in cell.metadata.get("tags", [])]
    assert [cell.id for cell in theirs.cells] == left
    assert set(theirs.metadata) <= {"kernelspec", "language_info"}
    code = {cell.id: cell for cell in ours.cells if cell.cell_type == "code"}
    found = [cell for cell in theirs.cells if cell.cell_type == "code"]
    assert f"git+{HOME}@" in found[0].source  # else it is as it was
    assert all(cell == code[cell.id] for cell in found[1:])


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_links_lead_to_the_student_edition(built, notebook):
    page = built / "notebooks" / f"{notebook.stem}.html"
    text = page.read_text("utf-8")
    links = [unescape(link) for link in re.findall(r'\shref="([^"]*)"', text)]
    notebooks = {link for link in links if ".ipynb" in link}
    download = f"../_sources/notebooks/{notebook.name}"
    problem_set = f"../homework/{notebook.stem[:2]}.ipynb"
    assert notebooks == {download, problem_set}
    assert links.count(problem_set) >= 2  # at the head, and at the exercises
    assert "colab.research" not in text
    assert "launch-buttons" not in text
    given = (page.parent / problem_set).resolve()
    made = edition(read_assignment(notebook))
    assert json.loads(given.read_text("utf-8")) == json.loads(nbformat.writes(made))


def test_links_of_all_pages_lead_somewhere(built):
    pages = [page for page in built.rglob("*.html") if "_static" not in page.parts]
    assert len(pages) > 20
    for page in pages:
        links = re.findall(r'\shref="([^"]*)"', page.read_text("utf-8"))
        local = {re.split("[?#]", unescape(link))[0] for link in links if ":" not in link}
        missing = [link for link in local if link and not (page.parent / unquote(link)).exists()]
        assert missing == [], page.name


def test_no_page_speaks_of_a_solution_that_is_not_there(built):
    allowed = re.compile(r"This\s+site\s+holds\s+no\s+solutions|Exact solutions to the nonlinear")
    for path in (built / "_sources").rglob("*"):
        if path.suffix == ".md" and path.stem not in ("for-teachers", "for-the-lecture"):
            said = path.read_text("utf-8")
        elif path.suffix == ".ipynb":
            cells = nbformat.read(path, as_version=4).cells
            said = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        else:
            continue
        said = allowed.sub("", said)
        for wrong in (r"\b[Ss]olutions?\b", r"\brocket\b", "PROBLEM-SET", r"\bRELEASE\b"):
            found = re.search(wrong, said)
            assert not found, f"{path.name}: {said[found.start() - 60 : found.end() + 60]}"


# ------------------------------------------------------------- a near miss is seen


@pytest.fixture
def small(tmp_path):
    """A book of one page, whose solution is hidden on the page and stays in its source."""
    book = tmp_path / "small"
    book.mkdir()
    solution = nbformat.v4.new_code_cell("solution_1 = 2", id="solution-05-1")
    solution.metadata["tags"] = ["solution"]
    cells = [nbformat.v4.new_markdown_cell("# A page"), solution]
    notebook = nbformat.v4.new_notebook(cells=cells)
    plant(notebook, "05")
    for cell in notebook.cells[1:]:
        cell.metadata["tags"] += ["remove-cell"]
    nbformat.write(notebook, book / "page.ipynb")
    (book / "_toc.yml").write_text("format: jb-book\nroot: page\n", "utf-8")
    config = {"title": "Small", "execute": {"execute_notebooks": "off"}}
    (book / "_config.yml").write_text(yaml.safe_dump(config), "utf-8")
    return book


def test_a_cell_hidden_by_a_tag_is_found_in_the_download(small, tmp_path):
    site.build(small, tmp_path)
    html = tmp_path / "_build" / "html"
    download = "_sources/page.ipynb"
    secret = {canary(place, "05") for place in PLACES}
    assert canaries(html / "page.html") == set()
    assert canaries(html / download) == secret
    assert site.leaks(html, {"solution_1"}) == [f"{download} holds words of solutions: solution_1"]
    for word in secret:
        assert f"{download} holds words of solutions: {word}" in site.leaks(html, {word})


INVENTORY = b"# Sphinx inventory version 2\n# Project: x\n# Version: \n# packed with zlib\n"
WORD = canary("source")
HOLDING = {
    "page.html": f'<pre><span class="n">{WORD}</span> <span class="o">=</span></pre>'.encode(),
    "frames.html": b"<i>"
    + base64.b64encode(zlib.compress(f"[{WORD * 20}, {WORD}]".encode()))
    + b"</i>",
    "uri.html": b'<img src="data:image/svg+xml;base64,'
    + base64.b64encode(f"<svg><text>x {WORD}</text></svg>".encode())
    + b'">',
    "searchindex.js": f'Search.setIndex({{"terms": {{"{WORD}": [1, 2]}}}})'.encode(),
    "objects.inv": INVENTORY + zlib.compress(f"{WORD} std:label -1 page.html#a -\n".encode()),
    "_sources/page.ipynb": json.dumps({"source": f"one\n{WORD} = 1"}).encode(),
    "_images/a.svg": f"<svg><title>{WORD.upper()}</title></svg>".encode(),
    "homework/05.ipynb": json.dumps({"metadata": {WORD: 1}}).encode(),
}


@pytest.mark.parametrize("name", HOLDING)
def test_a_word_is_found_wherever_it_lies(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(HOLDING[name])
    (tmp_path / "other.html").write_text("<p>nothing</p>", "utf-8")
    assert site.leaks(tmp_path, {WORD, "absent"}) == [f"{name} holds words of solutions: {WORD}"]
    assert site.leaks(tmp_path, {"absent"}) == []


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("https://colab.research.google.com/github/A/b/blob/v1/notebooks/05_x.ipynb", True),
        ("https://github.com/A/b/blob/main/notebooks/05_x.ipynb#y", True),
        ("https://book.example/homework/05.ipynb", False),
        ("../homework/05.ipynb", False),
        ("../_sources/notebooks/05_x.ipynb", False),
    ],
)
def test_a_link_to_a_notebook_elsewhere_is_told(tmp_path, link, fault):
    (tmp_path / "page.html").write_text(f'<a href="{link}">x</a> <a href="a.html">y</a>', "utf-8")
    assert len(site.leaks(tmp_path, set())) == fault


# ------------------------------------------------------------- what stops the build


@pytest.fixture
def book(tmp_path):
    """A copy of the book's sources with one chapter, and an empty folder for the site's."""
    (tmp_path / "source").mkdir()
    (tmp_path / "book").mkdir()
    root = sources(tmp_path / "book")
    for path in root.glob("notebooks/*.ipynb"):
        if path.name != TAUGHT[4].name:
            path.unlink()
    return root, tmp_path / "source"


def change(path, do):
    notebook = nbformat.read(path, as_version=4)
    do(next(cell for cell in notebook.cells if "solution" in cell.metadata.get("tags", [])))
    nbformat.write(notebook, path)


def test_a_solution_without_its_tag_stops_the_build(book):
    path = book[0] / "notebooks" / TAUGHT[4].name
    change(path, lambda cell: cell.metadata.tags.remove("solution"))
    with pytest.raises(ValueError, match=r"05_attention.*solution-05-1 .*not the tag"):
        site.prepare(*book)


def test_a_solution_that_could_not_be_known_again_stops_the_build(book):
    def hide(cell):
        cell.source, cell.outputs, cell.id = "import numpy", [], "code-001x"

    change(book[0] / "notebooks" / TAUGHT[4].name, hide)
    with pytest.raises(ValueError, match="no word of its own"):
        site.prepare(*book)


@pytest.mark.parametrize(
    ("name", "was", "now"),
    [
        ("book/how-to.md", "and a folded solution", "and a solution, folded"),
        ("book/how-to.md", "Run the cells one by one", "Run cell by cell"),
        ("notebooks/05_attention_by_hand.ipynb", "The solution is folded;", "It is folded;"),
    ],
)
def test_a_text_that_was_changed_stops_the_build(book, name, was, now):
    path = book[0] / name
    text = path.read_text("utf-8")
    assert text.count(was) == 1
    path.write_text(text.replace(was, now), "utf-8")
    with pytest.raises(ValueError, match=rf"{path.stem}.*says 0 times.*site\.yml"):
        site.prepare(*book)


def test_a_pattern_without_a_file_is_told(book, monkeypatch, tmp_path):
    changes = tmp_path / "site.yml"
    changes.write_text("- {files: notebooks/13_*.ipynb, text: a, instead: b}\n", "utf-8")
    monkeypatch.setattr(site, "CHANGES", changes)
    with pytest.raises(ValueError, match=r"13_\*"):
        site.prepare(*book)


def test_the_address_of_the_site_is_used_where_it_is_known(book):
    root, source = book
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    config["html"]["baseurl"] = "https://book.example/"
    (root / "_config.yml").write_text(yaml.safe_dump(config), "utf-8")
    site.prepare(root, source)
    text = (source / "notebooks" / TAUGHT[4].name).read_text("utf-8")
    assert text.count('href=\\"https://book.example/homework/05.ipynb\\"') == 2


def test_a_folder_that_is_no_site_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("x", "utf-8")
    assert site.main(["--out", str(tmp_path)]) == 2
    assert "--out should be" in capsys.readouterr().err
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize("fails", ["build", "proof"])
def test_an_older_site_stays_where_the_new_one_fails(tmp_path, monkeypatch, capsys, fails):
    out = tmp_path / "site"
    out.mkdir()
    (out / "searchindex.js").write_text("old", "utf-8")

    def build(source, work):
        if fails == "build":
            raise ValueError("the build failed:\nx.md: WARNING: y")
        (work / "_build" / "html").mkdir(parents=True)
        (work / "_build" / "html" / "page.html").write_text("<b>solution_1</b>", "utf-8")

    monkeypatch.setattr(site, "prepare", lambda root, source: {"solution_1"})
    monkeypatch.setattr(site, "build", build)
    assert site.main(["--out", str(out)]) == 2
    printed = capsys.readouterr().err
    assert ("WARNING: y" if fails == "build" else "page.html holds words") in printed
    assert [path.name for path in out.iterdir()] == ["searchindex.js"]


def test_a_warning_fails_the_build(small, tmp_path):
    page = nbformat.read(small / "page.ipynb", as_version=4)
    page.cells[0].source += "\n\n[nowhere](#nowhere)"
    nbformat.write(page, small / "page.ipynb")
    with pytest.raises(ValueError, match=r"the build failed(.|\n)*nowhere"):
        site.build(small, tmp_path)
