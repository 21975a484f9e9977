"""The Sphinx extensions of book/_ext, piece by piece, and what they leave on the built pages."""

import json
import re
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes

from helpers.chapters import BY_NUMBER, CHAPTERS, TAUGHT

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Predict.", "predict"),
        ("Spot the error.", "spot-the-error"),
        ("Exercise 3. Which bug is it?", "exercise"),
        ("Deeper.", "deeper"),
        ("Somebody.", None),
        ("Predictably.", None),
    ],
)
def test_callout_is_known_by_its_first_words(words, kind):
    from theme.callouts import kind_of

    bold = nodes.strong("", words)
    quote = nodes.block_quote("", nodes.paragraph("", "", nodes.Text(""), bold, nodes.Text("…")))
    assert kind_of(quote) == kind


def test_plain_quotation_is_no_callout():
    from theme.callouts import kind_of

    quote = nodes.block_quote("", nodes.paragraph("", "", nodes.Text("Predict. Not bold.")))
    assert kind_of(quote) is None
    assert kind_of(nodes.block_quote("")) is None


@pytest.mark.parametrize("alt", [None, "", "  ", "plot.svg", "3f2a" * 8 + ".png", "data:image/png"])
def test_poor_alt_text_is_refused(alt):
    from theme.images import complaint

    assert complaint(alt)


def test_good_alt_text_passes():
    from theme.images import complaint

    assert complaint("Three bars; the second is the longest.") is None


@pytest.mark.parametrize(
    ("head", "size"),
    [
        ('<svg width="72pt" height="36pt" viewBox="0 0 72 36">', (96, 48)),
        ('<?xml version="1.0"?>\n<svg height="20" width="30px">', (30, 20)),
        ('<svg viewBox="0 0 640 360">', (640, 360)),
        ("<svg>", None),
        ("no picture", None),
    ],
)
def test_size_of_svg(tmp_path, head, size):
    from passes.images import size_of

    file = tmp_path / "picture.svg"
    file.write_text(head, "utf-8")
    assert size_of(file) == size


@pytest.mark.parametrize(
    ("term", "found", "not_found"),
    [
        ("query", ["query", "queries", "Query"], ["queried"]),
        ("key", ["key", "keys"], ["keies"]),
        ("softmax", ["softmax", "softmaxes"], ["softmaxed"]),
        ("cross-entropy", ["cross-entropy", "cross entropy"], ["entropy"]),
        ("bigram", ["bigrams"], ["bigram-like", "trigram"]),
    ],
)
def test_glossary_finds_plurals_and_nothing_else(term, found, not_found):
    from content.glossary import pattern_of

    pattern = re.compile(rf"(?<![\w-]){pattern_of(term)}(?![\w-])", re.IGNORECASE)
    assert all(pattern.search(text) for text in found)
    assert not any(pattern.search(text) for text in not_found)


def test_word_with_an_everyday_meaning_needs_company():
    from content.glossary import allowed

    assert allowed("value", "Each token has a key and a value.")
    assert not allowed("value", "The right value is computed.")


def test_a_cell_that_a_page_does_not_show_is_named():
    from content.cards import figure_of
    from content.chapters import cell_of

    stem = "05_attention_by_hand"
    file = ROOT / "notebooks" / f"{stem}.ipynb"
    at = next(
        n
        for n, cell in enumerate(json.loads(file.read_text("utf-8"))["cells"])
        if cell["id"] == "code-026"
    )
    env = SimpleNamespace(docname=f"notebooks/{stem}", doc2path=lambda name: file)
    shown = nodes.container("", cell_index=at)
    page = nodes.section("", nodes.container(), shown)
    assert cell_of(SimpleNamespace(env=env), page, "code-026") is shown
    for ident in ("nowhere", "code-005"):
        with pytest.raises(ValueError, match=f"{stem}.*'{ident}', it shows 0"):
            cell_of(SimpleNamespace(env=env), page, ident)
    assert figure_of(BY_NUMBER[5], "code-026")[0].startswith("<svg")
    with pytest.raises(ValueError, match=f"{stem}.*'nowhere', it has 0"):
        figure_of(BY_NUMBER[5], "nowhere")


def test_stamp_says_when_where_and_with_what():
    from content.stamp import sentence

    stamp = {
        "computed": "2026-01-31",
        "versions": {"torch": "2.13.0"},
        "device": "CPU",
        "seconds": 12.4,
        "cells": 9,
    }
    assert sentence(stamp) == (
        "The outputs on this page were computed on 2026-01-31 with torch 2.13.0 on CPU; "
        "9 cells took 12 s."
    )


def test_stamp_says_how_much_is_checked():
    from content.stamp import checks, sentence

    stamp = {"computed": "2026-01-31", "cells": 9, "outputs": 5, "compared": 4, "assertions": 3}
    assert sentence(stamp).endswith(f"2026-01-31. {checks(stamp)}")
    assert checks(stamp) == (
        "On every commit all 9 run again, the outputs of 4 of the 5 that have one are compared "
        "with these, and 3 assertions must hold."
    )
    assert checks({"cells": 9}) == ""


def test_status_sums_up_the_stamps():
    from content import status

    counts = {"cells": 9, "outputs": 5, "compared": 4, "assertions": 3, "seconds": 2}
    made = {"device": "CPU", "versions": {"torch": "2.13.0"}, **counts}
    one, two = TAUGHT[0].stem, TAUGHT[1].stem
    stamps = {one: {"computed": "2026-01-02", **made}, two: {"computed": "2026-01-01", **made}}
    rows = status.by_chapter(stamps).splitlines()
    assert rows[2].endswith("| 2026-01-02 | CPU | 9 | 5 | 4 | 3 | 2 |")
    assert rows[-1] == "| **All** | 2026-01-01 to 2026-01-02 | CPU | 18 | 10 | 8 | 6 | 4 |"
    assert status.software(stamps) == "All were computed with torch 2.13.0."
    stamps[two]["versions"] = {"torch": "2.14.0"}
    assert status.software(stamps) == "- Chapters 1: torch 2.13.0.\n- Chapters 2: torch 2.14.0."
    entry = {"notebook": two, "cell": "c", "reason": "trains"}
    assert status.exceptions([entry]) == "- Chapter 2, cell `c`: trains."


def test_status_page_shows_every_stamp(html_root):
    text = re.sub(r"<[^>]+>", " ", (html_root / "book" / "status.html").read_text("utf-8"))
    stamps = json.loads((ROOT / "book" / "outputs.json").read_text("utf-8"))
    for stem, stamp in stamps.items():
        counts = [stamp[name] for name in ("cells", "outputs", "compared", "assertions")]
        row = r"\s+".join([stamp["computed"], stamp["device"], *map(str, counts)])
        assert re.search(row, text), stem


def test_every_chapter_has_its_stamp(html_root):
    from content.stamp import sentence

    for stem, stamp in json.loads((ROOT / "book" / "outputs.json").read_text("utf-8")).items():
        text = (html_root / "notebooks" / f"{stem}.html").read_text("utf-8")
        assert f'<p class="stamp">{sentence(stamp)}</p>' in text, stem


def test_only_pages_with_a_new_stamp_are_written_again():
    from content.stamp import changed_pages

    env = SimpleNamespace(found_docs={"book/index", "notebooks/a", "notebooks/b"})
    app = SimpleNamespace(book_stamps={"a": {"computed": "1"}, "b": {"computed": "1"}})
    assert changed_pages(app, env) == ["notebooks/a", "notebooks/b"]
    app.book_stamps = {"a": {"computed": "2"}, "b": {"computed": "1"}}
    assert changed_pages(app, env) == ["notebooks/a"]


# --- results ------------------------------------------------------------------------------------

MADE = {
    "script": "benchmarks/ratios.py",
    "date": "2026-01-31",
    "device": "CPU",
    "versions": {"torch": "2.13.0"},
    "seeds": [0, 1],
}


def runs(*ends):
    return [{"seed": seed, "loss": end, "path": [1.0]} for seed, end in enumerate(ends)]


def test_plain_table_of_results():
    from content import results

    table = {**MADE, "claim": "It is faster.", "columns": ["a", "b"], "rows": [["x|y", 1.23456]]}
    assert results.parts_of(table) == {"": table}
    for claim in ("It is faster.", "It is faster"):
        description = results.what_it_is(Path("a.json"), {**table, "claim": claim}, Path())
        assert description == "It is faster."
    assert results.title_of("gpt_ablations") == "GPT ablations"
    assert results.title_of("11_small_gpt") == "Chapter 11: A small GPT, trained"
    markdown, rows, _ = results.table_and_words(table)
    assert (markdown, rows) == ("| a | b |\n| --- | --- |\n| x\\|y | 1.23 |", 1)
    assert results.provenance(table) == (
        "Computed by `benchmarks/ratios.py` on 2026-01-31; CPU; torch 2.13.0; seeds 0, 1."
    )


def test_parts_of_results_are_pivoted_and_averaged():
    from content import results

    settings = [
        {"steps": 9, "D": 4, "by": "1", "runs": runs(1.0, 2.0)},
        {"steps": 9, "D": 4, "by": "D", "runs": runs(3.0, None)},
        {"steps": 9, "D": 8, "by": "D", "rate": 0.5, "runs": runs(None, None)},
    ]
    stored = {"title": "Runs", "one": {**MADE, "settings": settings}, "two": MADE}
    assert list(results.parts_of(stored)) == ["one", "two"]
    markdown, rows, words = results.table_and_words(stored["one"])
    assert rows == 2
    assert markdown.splitlines() == [
        "| D | rate | by 1 | by D |",
        "| --- | --- | --- | --- |",
        "| 4 |  | 1.500\u00a0±\u00a00.707 | 3.000 (1 diverged) |",
        "| 8 | 0.5 |  | diverged |",
    ]
    assert "`loss`" in words
    assert "steps 9" in words
    assert results.table_and_words(stored["two"]) == ("", 0, "")


def test_stored_results_say_where_they_come_from_and_are_on_the_page(html_root):
    from content import results

    page = (html_root / "book" / "results.html").read_text("utf-8")
    assert "Not measured yet" not in page
    for file in sorted((ROOT / "helpers" / "data" / "results").glob("*.json")):
        stored = json.loads(file.read_text("utf-8"))
        assert results.parts_of(stored), file.name
        for part in results.parts_of(stored).values():
            assert set(part) >= {"script", "date", "device", "versions", "seeds"}, file.name
            assert (ROOT / part["script"].split()[0]).is_file(), file.name
            assert results.table_and_words(part)[0], file.name
        assert f'id="{nodes.make_id(file.stem)}"' in page, file.name


def test_results_say_what_they_are(tmp_path):
    from content import results

    for chapter in CHAPTERS:
        source = chapter.folder / "lab.py"
        file, part = Path(f"{chapter.stem}.json"), {"a": {**MADE, "settings": []}}
        assert results.sources_of(file, part, ROOT) == [source]
        assert bool(results.what_it_is(file, part, ROOT)) == source.is_file()
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / MADE["script"]).write_text('"""Ratios of\ntwo.\n\nMore."""', "utf-8")
    assert results.what_it_is(Path("ratios.json"), MADE, tmp_path) == "Ratios of two."


# --- the built pages ----------------------------------------------------------------------------


def test_corrections_page_hides_where_claims_were_met(html_root):
    text = (html_root / "book" / "corrections.html").read_text("utf-8")
    assert 'class="correction' in text
    assert not re.search(r"\blines? \d+|document\s*0", text, re.IGNORECASE)


# --- the address ----------------------------------------------------------------------------------


ANN = "https://github.com/ann/fork"


@pytest.mark.parametrize(
    ("known", "written", "rocket", "clone", "says"),
    [
        (ANN, True, True, ANN, ""),
        (ANN, False, False, ANN, f"`make address URL={ANN}`"),
        (
            "https://codeberg.org/ann/fork",
            True,
            False,
            "https://codeberg.org/ann/fork",
            "Colab opens only what is on GitHub",
        ),
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
    options["launch_buttons"] = {"colab_url": ""}  # Jupyter Book's, on a site without solutions
    chapter = [stored]
    theme.fill_in_address(app, name, chapter)
    assert "Open in Colab" not in chapter[0]


# --- cards ----------------------------------------------------------------------------------------


def test_addresses_are_whole_once_the_book_has_a_home():
    from content import cards

    page = "notebooks/05_attention_by_hand"

    def tags(base: str, drawn: dict) -> dict[str, str]:
        config = SimpleNamespace(html_baseurl=base, root_doc="book/index", project="Book")
        builder = SimpleNamespace(get_target_uri=lambda name: f"{name}.html")
        app = SimpleNamespace(config=config, builder=builder, book_cards=drawn)
        return cards.tags(app, page, "A", "Words.")

    assert tags("", {})["og:title"] == "Attention worked by hand"
    assert not {"og:url", "og:image"} & set(tags("", {}))
    for base in ("https://book.example/text", "https://book.example/text/"):
        known = tags(base, {"05_attention_by_hand": ("", "", "", "Words for it.")})
        assert known["og:url"] == f"https://book.example/text/{page}.html"
        assert known["og:image"] == "https://book.example/text/_static/og/05_attention_by_hand.png"
        assert known["og:image:alt"] == "Words for it."
        assert "og:image" not in tags(base, {})  # there was no browser


def test_each_chapter_has_a_card_with_its_figure(browser):
    from content import cards

    found = cards.cards("Book")
    assert set(found) == {chapter.stem for chapter in CHAPTERS} | {"book"}
    assert all("<svg" in svg and alt for _, _, svg, alt in found.values())
    title, line, svg, _ = found["05_attention_by_hand"]
    drawn = [cards.draw(browser, "Book", title, line, one) for one in (svg, "<svg></svg>")]
    assert struct.unpack(">II", drawn[0][16:24]) == (cards.WIDTH, cards.HEIGHT)
    assert len(drawn[0]) > 2 * len(drawn[1]), "the figure is not on it"
