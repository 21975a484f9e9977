"""The Sphinx extensions of book/_ext, piece by piece, and what they leave on the built pages."""

import ast
import builtins
import html
import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes

ROOT = Path(__file__).parents[2]


# --- the glossary -------------------------------------------------------------------------------


def test_terms_and_their_plurals_are_linked_and_nothing_else(html_root):
    link = re.compile(r'class="gloss [^>]*#term-([^"]+)"[^>]*>([^<]+)<')
    pages = "".join(page.read_text("utf-8") for page in html_root.glob("notebooks/*.html"))
    assert len(link.findall(pages)) > 200
    for term, words in link.findall(pages):
        said = re.sub(r"[^\w-]+", "-", html.unescape(words))
        assert re.fullmatch(f"{term}(e?s)?|{term[:-1]}ies", said, re.IGNORECASE), words


def test_word_with_an_everyday_meaning_needs_company():
    from content.glossary import allowed

    assert allowed("value", "Each token has a key and a value.")
    assert not allowed("value", "The right value is computed.")


# --- the short path -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def steps_of_short_path():
    from content import path

    page = (ROOT / "book" / "short-path.md").read_text("utf-8")
    [block] = re.findall(r"```\{path\}\n(.*?)\n```", page, re.DOTALL)
    return list(path.steps(block.splitlines()))


def code_of(sections):
    cells = itertools.chain.from_iterable(sections.values())
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def test_short_path_shows_every_piece_in_an_afternoon(steps_of_short_path):
    from content import path

    sections = [of_chapter for *_, of_chapter in steps_of_short_path]
    assert sum(map(path.minutes, sections)) <= 4.5 * 60
    piece = re.compile(r"^(?:class|def) (\w+)", re.MULTILINE)
    whole = piece.findall((ROOT / "helpers" / "minigpt.py").read_text("utf-8"))
    shown = piece.findall("\n".join(map(code_of, sections)))
    assert set(whole) <= set(shown)


def test_short_path_uses_no_name_that_only_a_left_out_cell_defines(steps_of_short_path):
    for chapter, _, sections in steps_of_short_path:
        known = set(dir(builtins))
        for statement in ast.parse(code_of(sections)).body:
            names = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
            known |= {n.id for n in names if isinstance(n.ctx, ast.Store)} | {
                getattr(n, "asname", None) or getattr(n, "arg", None) or n.name
                for n in ast.walk(statement)
                if isinstance(n, ast.alias | ast.arg | ast.FunctionDef | ast.ClassDef)
            }
            missing = {n.id for n in names} - known
            assert not missing, f"{chapter.docname}: {missing}"


# --- results ------------------------------------------------------------------------------------

MADE = {"script": "benchmarks/ratios.py", "date": "2026-01-31", "device": "CPU"}
MADE |= {"versions": {"torch": "2.13.0"}, "seeds": [0, 1]}


def runs(*ends):
    return [{"seed": seed, "loss": end, "path": [1.0, 2e-5]} for seed, end in enumerate(ends)]


def test_parts_of_results_are_pivoted_averaged_and_named():
    from content import results

    settings = [
        {"steps": 9, "lr": 4, "by": "1", "counted": [1], "runs": runs(1.0, 2.0)},
        {"steps": 9, "lr": 4, "by": "rope", "runs": runs(3.0, None)},
        {"steps": 9, "lr": 8, "by": "rope", "merges": None, "runs": runs(None, None)},
    ]
    stored = {"title": "Runs", "one": {**MADE, "settings": settings}, "two": MADE}
    assert list(results.parts_of(stored)) == ["one", "two"]
    says = {"shows": {"loss": ["loss"], "the end": ["path", -1]}, "labels": {"by": "way"}}
    markdown, rows, words = results.table_and_words(stored["one"], says)
    assert rows == 4
    assert markdown.splitlines() == [
        "| learning rate | merges |  | way: 1 | way: RoPE |",
        "| --- | --- | --- | --- | --- |",
        "| 4 |  | loss | 1.500\u00a0±\u00a00.707 | 3.000 (1 diverged) |",
        "| 4 |  | the end | 2.0e−05\u00a0±\u00a00.0e+00 | 2.0e−05\u00a0±\u00a00.0e+00 |",
        "| 8 | none | loss |  | diverged |",
        "| 8 | none | the end |  | 2.0e−05\u00a0±\u00a00.0e+00 |",
    ]
    assert words.endswith("over the seeds. Throughout: steps 9.")
    assert results.table_and_words(stored["two"], {}) == ("", 0, "")


def test_each_number_of_the_results_has_its_setting():
    """A run is shown even where it lacks the setting that spans the columns of others."""
    from content import results

    settings = [{"by": "a", "runs": runs(1.0)}, {"by": "b", "runs": runs(2.0)}, {"runs": runs(3.0)}]
    shown = results.table_and_words({**MADE, "settings": settings}, {"shows": {"x": ["loss"]}})[0]
    assert all(f"{n}.000" in shown for n in (1, 2, 3))


def test_stored_results_have_provenance_and_are_on_the_page(html_root):
    from content import results

    page = (html_root / "book" / "results.html").read_text("utf-8")
    assert "Not measured yet" not in page
    text = html.unescape(re.sub("<[^>]*>", "", page))
    for file in sorted((ROOT / "helpers" / "data" / "results").glob("*.json")):
        stored = json.loads(file.read_text("utf-8"))
        assert results.parts_of(stored), file.name
        for name, part in results.parts_of(stored).items():
            assert set(part) >= {"script", "date", "device", "versions", "seeds"}, file.name
            assert (ROOT / part["script"].split()[0]).is_file(), file.name
            says = results.WORDS.get(file.stem, {}).get(name, {})
            assert results.table_and_words(part, says)[0], file.name
            assert not name or f"{says['title']}." in text, (file.name, name)
            keys = {key for setting in part.get("settings", ()) for key in setting}
            assert keys - {"runs"} <= set(results.WORDS["labels"]), (file.name, name)
        assert f'id="{nodes.make_id(file.stem)}"' in page, file.name


# --- the built pages ----------------------------------------------------------------------------


def test_misconceptions_are_cards_and_a_folded_table(html_root):
    text = (html_root / "book" / "corrections.html").read_text("utf-8")
    assert text.count('class="correction') > 3
    assert re.search(r"<summary>The table, \d+ rows</summary>.*<table.*</details>", text, re.S)


# --- styles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        (".page h1{x:1}.gone{x:1}", ".page h1{x:1}"),
        (".gone,.page>p,a[href='.gone,']{x:1}", ".page>p,a[href='.gone,']{x:1}"),
        (".page.gone{x:1}h1:not(.gone,.lost){x:1}", "h1:not(.gone,.lost){x:1}"),
        ("@media print{.gone{x:1}.page{x:1}}", "@media print{.page{x:1}}"),
        (".bs-tip::before{content:'.gone'}", ".bs-tip::before{content:'.gone'}"),
        ("/*! MIT *//* no */@font-face{x:1}", "/*! MIT */@font-face{x:1}"),
    ],
)
def test_a_rule_of_others_is_kept_for_classes_that_are_there(rules, kept):
    import tinycss2
    from postprocess.static import purged

    found = purged(tinycss2.parse_stylesheet(rules), {"page", "bs-"})
    assert found.replace('"', "'") == kept


# --- the address ----------------------------------------------------------------------------------


ANN, BERG = "https://github.com/ann/fork", "https://codeberg.org/ann/fork"


@pytest.mark.parametrize(
    ("known", "written", "rocket", "clone", "says"),
    [
        (ANN, True, True, ANN, ""),
        (ANN, False, False, ANN, f"`make address URL={ANN}`"),
        (BERG, True, False, BERG, "Colab opens only what is on GitHub"),
        (None, True, False, "ADDRESS-OF-THE-BOOK", "make address URL=https://github.com/you/"),
    ],
)
def test_pages_take_the_address_at_the_build(monkeypatch, known, written, rocket, clone, says):
    """And have no button for Colab where a stored chapter could not install the helpers."""
    import theme
    from sphinx_book_theme.header_buttons import update_context_with_repository_info

    monkeypatch.setattr(theme.address, "address", lambda root: known)
    place = known if written and known else "https://github.com/ann/book"
    monkeypatch.setattr(theme.address, "stored", lambda root: (place, "v0.1.0"))
    options = {"launch_buttons": {"colab_url": "…"}}
    config = SimpleNamespace(html_theme_options=options, html_context={})
    app = SimpleNamespace(config=config, srcdir=str(ROOT))
    theme.set_address(app, config)
    update_context_with_repository_info(app)  # the stock theme refuses a host that it does not know
    assert ("launch_buttons" in config.html_theme_options) == rocket
    page = ["UNPUBLISHED-NOTE\ncd REPOSITORY-NAME\ngit clone REPOSITORY-URL"]
    theme.fill_in_address(app, "book/how-to", page)
    folder = known.rpartition("/")[2] if known else "transformers-worked-out"
    assert page[0].endswith(f"\ncd {folder}\ngit clone {clone}")
    note = page[0].partition("\n")[0]
    assert (says in note) if says else note == ""
    name = "notebooks/05_attention_by_hand"
    stored = (ROOT / f"{name}.ipynb").read_text("utf-8")
    chapter = [stored]
    theme.fill_in_address(app, name, chapter)
    opened = "[Open in Colab](https://colab.research.google.com/github/ann/fork/blob/v"
    assert (opened in chapter[0]) == rocket == ("Open in Colab" in chapter[0])
    assert (f"git+{known}@" in chapter[0]) == bool(known)
