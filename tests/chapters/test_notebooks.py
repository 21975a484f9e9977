"""The stored chapters: run, clean, complete; and each rule seen to catch a planted fault."""

import copy
import json
import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from support import NOTEBOOKS, ROOT, Chapter, execute, readings, release, repository
from support import chapter as read

from book import address
from chapters import rules
from chapters.rules import RULES
from helpers.chapters import BY_NUMBER

LEAST_COMPARED = 0.85


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def chapter(request):
    return read(request.param)


def broken(chapter: Chapter) -> dict[str, list[str]]:
    """The rules that a chapter breaks, each with the complaints."""
    complaints = {name: rule(chapter) for name, rule in RULES.items()}
    return {name: found for name, found in complaints.items() if found}


def test_chapter_keeps_the_rules(chapter):
    assert broken(chapter) == {}


def test_every_cell_is_run_and_nearly_all_output_compared(chapter):
    marked = {cell.id: rules._untested(cell) for cell in chapter.code}
    assert not [ident for ident, marks in marked.items() if rules.SKIPPED in marks]
    with_output = [cell.id for cell in chapter.code if cell.outputs]
    compared = [ident for ident in with_output if not marked[ident]]
    assert len(compared) >= LEAST_COMPARED * len(with_output)


def test_the_first_page_says_how_long_the_chapters_take():
    """From the least to the most minutes that the chapters' heads say."""
    head = r"First reading: about (\d+) minutes\. Laboratory: about (\d+) .*Exercises: about (\d+)"
    found = [re.search(head, path.read_text("utf-8")) for path in NOTEBOOKS]
    assert sum(one is not None for one in found) == len(NOTEBOOKS) - 1  # but for the overview
    minutes = zip(*(map(int, one.groups()) for one in found if one), strict=True)
    said = [f"{min(each)} to {max(each)}" for each in minutes]
    page = " ".join((ROOT / "book" / "index.md").read_text("utf-8").split())
    assert (
        f"We estimate {said[0]} minutes for a first reading, {said[1]} more with the laboratory, "
        f"and {said[2]} for the exercises."
    ) in page


def test_exercises_take_the_minutes_that_the_manifest_says(chapter):
    found = readings.parts(chapter.cells)
    if found["laboratory"]:
        minutes = {n: long for n, (_, _, long) in readings.exercises(found["exercises"]).items()}
        sections = BY_NUMBER[int(chapter.number)].sections
        assert minutes == {n: long for s in sections for n, long in s.exercises.items()}


def test_every_exception_names_a_chapter_and_says_why():
    stems = {path.stem for path in NOTEBOOKS}
    for entry in rules.exceptions():
        assert entry["notebook"] in stems, entry
        assert entry["tag"] == rules.IGNORED, "every cell is run"
        assert len(entry["reason"].split()) >= 5, entry


def test_stamps_name_all_chapters_and_no_other():
    stamps = ROOT / "book" / "outputs.json"
    known = json.loads(stamps.read_text("utf-8")) if stamps.exists() else {}
    assert sorted(known) == [path.stem for path in NOTEBOOKS]
    for path in NOTEBOOKS:
        stamp = known[path.stem]
        counted = execute.checked(read(path).notebook)
        assert counted == {name: stamp[name] for name in counted}, path.stem
        assert set(stamp) - set(counted) == {"computed", "device", "seconds", "versions"}


def test_no_emoji():
    kinds = {".md", ".py", ".js", ".css", ".html", ".txt"}
    texts = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "_config.yml")]
    for folder in ("book", "helpers", "homework"):
        texts += [path for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    found = {path: rules.EMOJI.search(path.read_text("utf-8")) for path in texts}
    assert {str(path): match.group() for path, match in found.items() if match} == {}


# --- each rule, held to a fault ---------------------------------------------------------------


def exercise_cells(n: int) -> list:
    grading = {"schema_version": 3, "task": False}
    stub = {**grading, "grade": False, "grade_id": f"e{n}", "locked": False, "solution": True}
    check = {**grading, "grade": True, "grade_id": f"c{n}", "locked": True, "solution": False}
    judged = f'check("05.{n}", answer)'
    return [
        new_markdown_cell(
            f"## Exercises\n\n**Exercise {n}.** (first reading · ● · 5 min) What?\n\n"
            "<details><summary>Hint</summary>…</details>"
        ),
        new_code_cell("answer = ...", metadata={"tags": ["exercise"], "nbgrader": stub}),
        new_code_cell(judged, metadata={"tags": ["check"], "nbgrader": {**check, "points": 2}}),
        new_code_cell(
            f"### BEGIN SOLUTION\nmine = {n}\n### END SOLUTION\n{judged.replace('answer', 'mine')}",
            metadata={"tags": ["solution", "hide-cell"]},
        ),
    ]


def small_chapter() -> Chapter:
    """The least notebook that keeps every rule."""
    stem = "05_small"
    first = address.HINT + address.first_cell(repository(), release())
    badge = address.colab(repository(), release(), stem)
    words = {
        "image": {"alt": "Two bars, the left one higher"},
        "figure": {"caption": "The left weight is the larger.", "name": "fig-bars"},
    }
    picture = new_output("display_data", {"image/svg+xml": "<svg/>", "text/plain": "<Figure>"})
    explorer = new_output("display_data", {"text/html": '<figure class="explore"></figure>'})
    cells = [
        new_code_cell(first, metadata={"tags": ["remove-cell"]}),
        new_markdown_cell(
            f"# Small\n\n[badge]({badge})\n\n"
            "First reading: about 5 minutes. Laboratory: about 5 more. Exercises: about 30."
        ),
        new_code_cell('guess = predict("How large?", number=True)'),
        new_code_cell("guess.reveal(0.217)"),
        new_code_cell("bars()", outputs=[picture], metadata={"mystnb": words}),
        new_code_cell("explore(bars)", outputs=[explorer]),
        new_markdown_cell("> **Spot the error.** A claim.\n\nIt is 0.217, see section 3.4."),
        new_markdown_cell("## Laboratory\n\n> **Spot the error.** Another."),
        *[cell for n in range(1, 7) for cell in exercise_cells(n)],
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03d}"
    notebook = execute.clean(new_notebook(cells=cells))
    nbformat.validate(notebook)
    return Chapter(stem, notebook, 1000)


def test_small_chapter_keeps_the_rules():
    assert broken(small_chapter()) == {}


def swap(at, old, new):
    def plant(cells):
        assert old in cells[at].source
        cells[at].source = cells[at].source.replace(old, new)

    return plant


def tag(at, *tags):
    return lambda cells: cells[at].metadata.update(tags=list(tags))


def say(at, kind="stream", **what):
    return lambda cells: cells[at].outputs.append(new_output(kind, **what))


def put(at, key, value):
    def plant(cells):
        cells[at].metadata["nbgrader"][key] = value

    return plant


FAULTS = [
    ("run_in_order", lambda cells: cells[2].update(execution_count=9)),
    ("no_errors", say(2, "error", ename="NameError", evalue="x", traceback=[])),
    ("nothing_of_this_machine", say(2, text="saved to /home/ann/book/x.txt")),
    ("nothing_of_this_machine", say(2, text=f"read {ROOT}/helpers")),
    ("nothing_of_this_machine", say(2, name="stderr", text="UserWarning: careful")),
    ("nothing_of_this_machine", say(2, text="<object at 0x7f1d2c>")),
    ("no_volatile_metadata", lambda cells: cells[2].metadata.update(execution={"at": "noon"})),
    ("no_widgets", say(2, "display_data", data={"application/vnd.jupyter.widget-view+json": {}})),
    ("ids_are_unique", lambda cells: cells[2].update(id="cell-003")),
    ("nothing_is_silenced", swap(4, "bars()", "bars();")),
    ("exceptions_are_registered", tag(2, "nbval-ignore-output")),
    ("exceptions_are_registered", tag(2, "nbval-skip")),
    ("exceptions_are_registered", swap(2, "guess =", "# NBVAL_IGNORE_OUTPUT\nguess =")),
    ("first_cell_is_for_colab", swap(0, "import helpers", "import numpy")),
    ("first_cell_is_for_colab", lambda cells: cells.insert(0, new_markdown_cell("Words."))),
    (
        "badge_opens_this_chapter",
        swap(1, "# Small", "# https://colab.research.google.com/github/a"),
    ),
    ("figures_have_words", lambda cells: cells[4].metadata.pop("mystnb")),
    ("figures_have_words", lambda cells: cells[4].metadata["mystnb"].pop("figure")),
    (
        "figures_have_words",
        lambda cells: cells[4].metadata["mystnb"]["image"].update(alt="a_picture_of_some_bars.svg"),
    ),
    (
        "figure_names_are_unique",
        lambda cells: cells[5].metadata.update(copy.deepcopy(dict(cells[4].metadata))),
    ),
    ("markdown_is_plain", swap(7, "Another.", "See {ref}`that`.")),
    ("markdown_is_plain", swap(7, "Another.", "\n\n```{note}\nThis.\n```")),
    ("no_emoji", swap(7, "Another", "\N{ROCKET}")),
    ("no_emoji", say(2, text="\N{WHITE HEAVY CHECK MARK} done")),
    ("predictions_are_revealed", swap(3, "guess.reveal", "print")),
    ("predictions_are_revealed", swap(3, "guess.", "other.")),
    ("predictions_are_revealed", swap(2, "guess = ", "")),
    ("predictions_are_revealed", lambda cells: cells.insert(2, copy.deepcopy(cells[2]))),
    ("predictions_are_revealed", lambda cells: cells.insert(3, copy.deepcopy(cells[3]))),
    ("there_is_an_explorer", swap(5, "explore(", "plot(")),
    ("explorers_are_seen", lambda cells: cells[5].update(outputs=[])),
    ("errors_to_spot", swap(6, "Spot the error", "Note")),
    ("readings_can_be_held", swap(6, "A claim.", "word " * 2800)),
    ("readings_can_be_held", swap(7, "Another.", "word " * 2500)),
    ("readings_can_be_held", swap(7, "Another.", "What?\n\n" + "### A question\n\n" * 9)),
    ("readings_can_be_held", swap(4, "bars()", "bars()\n" * 16)),
    ("head_says_the_minutes", swap(1, "about 5 more", "about 10 more")),
    ("head_says_the_minutes", swap(6, "A claim.", "word " * 1500)),
    ("exercises_say_what_they_need", swap(8, "first reading · ●", "first reading")),
    ("exercises_are_enough", tag(-2, "chec")),
    ("exercises_are_enough", swap(-2, "05.6", "05.7")),
    ("exercises_have_one_form", tag(-3, "stub")),
    ("exercises_have_one_form", tag(-1, "answer")),
    ("exercises_have_one_form", swap(-4, "<details>", "")),
    ("exercises_have_one_form", swap(-4, "Exercise 6", "Exercise 7")),
    ("exercises_have_one_form", swap(-1, "### END SOLUTION\n", "")),
    ("exercises_have_one_form", swap(-1, "05.6", "05.5")),
    ("solutions_keep_the_reader_s_answer", swap(-1, "mine", "answer")),
    ("exercise_cells_are_tagged", tag(-3, "stub")),
    ("exercise_cells_are_tagged", tag(-2)),
    (
        "exercise_cells_are_tagged",
        lambda cells: cells.append(new_code_cell("def f(x):\n    raise NotImplementedError")),
    ),
    ("nbgrader_is_consistent", lambda cells: cells[-2].metadata.pop("nbgrader")),
    ("nbgrader_is_consistent", put(-2, "points", None)),
    ("nbgrader_is_consistent", put(-2, "locked", False)),
    ("nbgrader_is_consistent", put(-3, "grade_id", "e1")),
    ("nbgrader_is_consistent", put(-3, "points", 1)),
    ("words_are_a_native_writer_s", swap(6, "A claim.", "So it is\ntold.")),
    ("words_are_a_native_writer_s", swap(6, "A claim.", "It adds -1, as in [Chapter 3](a).")),
    ("words_are_a_native_writer_s", swap(2, "How large?", "How large, so it is told?")),
    ("words_are_a_native_writer_s", say(3, "display_data", data={"text/markdown": "Note that."})),
    ("no_number_is_typed", swap(6, "0.217", "0.218")),
    ("no_number_is_typed", swap(3, "guess.reveal(0.217)", "guess.reveal(x)  # 0.217")),
]


@pytest.mark.parametrize(("rule", "plant"), FAULTS)
def test_rule_catches(rule, plant):
    chapter = small_chapter()
    plant(chapter.cells)
    assert RULES[rule](chapter)


def test_an_overview_is_held_to_its_own_length(monkeypatch):
    whole = small_chapter()
    head = ["First reading: about 5 minutes."]
    cells = [new_markdown_cell(*head), *[c for c in whole.cells if c.cell_type == "code"][1:5]]
    monkeypatch.setattr(rules, "OVERVIEWS", {whole.stem})

    def complaints(*cells):
        return broken(Chapter(whole.stem, execute.clean(new_notebook(cells=list(cells))), 1000))

    mine = {"overview_is_short", "head_says_the_minutes", "exercises_are_enough"}
    assert not mine & set(complaints(*cells))
    assert "head_says_the_minutes" in complaints(new_markdown_cell("About an hour."), *cells[1:])
    for more in ("word " * 1300, "## Laboratory", "## Exercises"):
        assert "overview_is_short" in complaints(*cells, new_markdown_cell(more))
    assert "overview_is_short" in complaints(*cells, new_code_cell("x = 1\n" * 16))


def test_every_rule_is_seen_to_catch_something():
    assert {rule for rule, _ in FAULTS} >= set(RULES) - {"small", "overview_is_short"}
    assert RULES["small"](Chapter("05_small", small_chapter().notebook, 2_000_000))


# --- running and storing ----------------------------------------------------------------------


def test_where_a_run_stopped_is_not_read_from_the_run_before():
    notebook = execute._unrun(small_chapter().notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)
    code[1].execution_count = 2
    assert f"(id {code[1].id})" in execute._where(notebook)


@pytest.mark.parametrize(("host", "count"), [("model", 0), ("", 0), ("node-7", 1), ("pc12", 1)])
def test_a_machine_whose_name_is_a_word_may_store_it(monkeypatch, host, count):
    monkeypatch.setattr(execute.socket, "gethostname", lambda: host)
    assert len(execute._tells(f"the {host} says")) == count


# --- nbval itself -----------------------------------------------------------------------------

SVG = (
    '<?xml version="1.0"?>\n<svg viewBox="0 0 9 9">\n <!-- {n} -->\n <path d="M {n} 0 \nL 1 1"/>'
    '<g id="p{n}"><use xlink:href="#m{n}" x="{n}"/></g>\n <text>w 0.70</text>\n</svg>\n'
)
EXPLORER = (
    '<figure><img alt="turn" src="data:image/svg+xml;base64,AA{n}="><p>cos 0.54</p>'
    '<script type="text/plain" class="explore-frames">eJ{n}</script></figure>'
)


def shows(data: dict) -> str:
    return f"from IPython.display import display\ndisplay({data!r}, raw=True)"


def both(mime: str, text: str) -> dict:
    return {mime: text, "text/plain": "plain 0.54"}


# what is shown, what in it is changed in the stored output, whether that must be seen
COMPARED = {
    "stream": ("print('0.217')", "0.217", "0.218", True),
    "value": ("0.5 + 0.25", "0.75", "0.76", True),
    "last digits": ("7 / 6", "6666667", "6666665", False),
    "plain": (shows(both("text/html", "<p>a</p>")), "0.54", "0.55", True),
    "html": (shows(both("text/html", "<p>0.25</p>")), "0.25", "0.26", True),
    "markdown": (shows(both("text/markdown", "It is 0.25.")), "0.25", "0.26", True),
    "latex": (shows(both("text/latex", "$0.25$")), "0.25", "0.26", True),
    "written in a figure": (
        shows(both("image/svg+xml", SVG.format(n=1))),
        "0.70",
        "0.71",
        True,
    ),
    "a line less in a figure": (
        shows(both("image/svg+xml", SVG.format(n=1))),
        "<path",
        "<circle",
        True,
    ),
    "an explorer's sentence": (
        shows(both("text/html", EXPLORER.format(n=1))),
        "cos 0.54",
        "cos 0.55",
        True,
    ),
    "lost": ("print('0.217')", None, None, True),
    "drawn in a figure": (
        shows(both("image/svg+xml", SVG.format(n=1))),
        SVG.format(n=1),
        SVG.format(n=23),
        False,
    ),
    "stored small": (
        shows(both("image/svg+xml", SVG.format(n=1.2345))),
        SVG.format(n=1.2345),
        execute.small_svg(SVG.format(n=1.2345)),
        False,
    ),
    "frames": (
        shows(both("text/html", EXPLORER.format(n=1))),
        EXPLORER.format(n=1),
        EXPLORER.format(n="Bcd"),
        False,
    ),
    "address": ("print('an object at 0x1234')", "0x1234", "0xabcd", False),
}


def stored(source: str, old: str | None, new: str | None):
    """The cell with the output it has, and in that output one change."""
    found = re.fullmatch(r"from IPython.*\ndisplay\((.*), raw=True\)", source, re.DOTALL)
    if found:
        output = new_output("display_data", eval(found[1]))
    elif source.startswith("print"):
        output = new_output("stream", text=eval(source[5:]) + "\n")
    else:
        output = new_output("execute_result", {"text/plain": str(eval(source))}, execution_count=1)
    if old is None:
        return new_code_cell(source, execution_count=1)
    texts = output.get("data", output)
    changed = [key for key in texts if key != "output_type" and old in str(texts[key])]
    assert changed, "the change must hit something"
    for key in changed:
        texts[key] = texts[key].replace(old, new)
    return new_code_cell(source, outputs=[output], execution_count=1)


def test_nbval_sees_a_changed_digit_and_only_that(tmp_path):
    cells = [stored(source, old, new) for source, old, new, _ in COMPARED.values()]
    kernel = execute.KERNEL
    nbformat.write(new_notebook(cells=cells, metadata=kernel), tmp_path / "trial.ipynb")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "--nbval-current-env",
        "trial.ipynb",
        "-q",
        "-rA",
        "--nbval-sanitize-with",
        str(ROOT / "tests" / "nbval_sanitize.cfg"),
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--color=no",
        "--rootdir",
        str(tmp_path),
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "BOOK_STATIC": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    failed = {int(n) for n in re.findall(r"^FAILED .*Cell (\d+)", done.stdout, re.MULTILINE)}
    passed = {int(n) for n in re.findall(r"^PASSED .*Cell (\d+)", done.stdout, re.MULTILINE)}
    assert failed | passed == set(range(len(COMPARED))), done.stdout + done.stderr
    seen = {name: at in failed for at, name in enumerate(COMPARED)}
    assert seen == {name: must for name, (*_, must) in COMPARED.items()}
