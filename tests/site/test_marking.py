"""A teacher marks free responses in a browser, from a file, and saves what the grader reads."""

import nbformat
import pytest

from homework.release.assignment import Assignment, Task
from homework.report.gradebook import Gradebook, Mark, Record
from homework.report.marking import marking_page

EVIL = """<script>window.ran = 1</script><img src=x onerror="window.ran = 2">
[click](javascript:window.ran=3) ![r](https://evil.example/a.png) <b onclick="window.ran=4">b</b>

<iframe src="https://evil.example"></iframe>
$\\href{javascript:window.ran=5}{x}$
"""
COMMENT = '=1+1, "quoted"\nand – a second line'


def cells(number):
    cell = nbformat.v4.new_markdown_cell
    return cell(f"> **Exercise {number}.** What is it?"), cell("…")


RUBRIC = (("a mixture", 1.0), ("an example", 0.5))
TASKS = tuple(Task(f"05.{n}", "", cells(n), (), rubric=RUBRIC) for n in (51, 9))
OF = Assignment("05", "Attention", (), TASKS)
RECORDS = [
    Record("ada", "", "", "k", responses={"05.51": "So.", "05.9": EVIL}),
    Record("bob", "", "", "k", responses={"05.51": "No.\n\n    code"}),
]


@pytest.fixture
def desk(tmp_path, page, watched):
    """A gradebook with a mark by hand, its page open from a file, and what goes wrong there."""
    book = Gradebook(tmp_path)
    (tmp_path / "marks.csv").write_text("student,task,points,remark\nbob,05.51,0.5,[2] Hm.\n")
    marks = book.update_marks(RECORDS, OF)
    path = tmp_path / "to-mark.html"
    path.write_text(marking_page(RECORDS, OF, marks), "utf-8")
    problems = watched(page, path.as_uri())
    page.goto(path.as_uri())
    return book, path, page, problems


def shown(page):
    [section] = [one for one in page.locator(".response").all() if one.is_visible()]
    return section


def saved(book, page) -> dict[tuple[str, str], Mark]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save marks.csv").click()
    assert download.value.suggested_filename == "marks.csv"
    download.value.save_as(book.folder / "marks.csv")
    return book.marks()


def to(page, text):
    """Go on to the answer that holds a text."""
    page.keyboard.press("u")
    for _ in RECORDS:
        if text not in shown(page).inner_text():
            page.keyboard.press("u")
    return shown(page)


def test_marks_are_given_kept_and_saved_as_the_grader_reads_them(desk):
    book, _, page, problems = desk
    progress = page.locator("#count")
    assert progress.inner_text() == "1 of 3 marked"
    before = (book.folder / "marks.csv").read_bytes()
    saved(book, page)
    assert (book.folder / "marks.csv").read_bytes() == before
    one = to(page, "So.")
    one.get_by_label("a mixture").check()
    page.keyboard.press("2")
    assert one.get_by_label("Points").input_value() == "1.5"
    one.get_by_label("an example").uncheck()
    page.keyboard.press("c")
    page.keyboard.insert_text(COMMENT)
    page.keyboard.press("Escape")
    assert one.get_by_label("a mixture").is_checked()  # no key was taken from the comment
    assert progress.inner_text() == "2 of 3 marked"
    page.reload()
    assert progress.inner_text() == "2 of 3 marked"
    page.keyboard.press("0")  # of what is not marked yet, which is shown
    marks = saved(book, page)
    assert {key: (mark.points, mark.remark) for key, mark in marks.items()} == {
        ("ada", "05.51"): (1.0, f"[1] {COMMENT}"),
        ("ada", "05.9"): (0.0, "[0]"),
        ("bob", "05.51"): (0.5, "[2] Hm."),
    }
    text = (book.folder / "marks.csv").read_bytes()
    assert book.update_marks(RECORDS, OF) == marks
    assert (book.folder / "marks.csv").read_bytes() == text  # as the grader writes it itself
    assert problems == []


def test_a_newer_marks_csv_outranks_kept_marks(desk):
    book, path, page, _ = desk
    to(page, "So.")
    page.keyboard.press("1")
    marks = book.marks() | {("ada", "05.51"): Mark("ada", "05.51", 0.5, 1.5, remark="by hand")}
    path.write_text(marking_page(RECORDS, OF, marks), "utf-8")
    page.reload()
    assert saved(book, page)["ada", "05.51"].remark == "by hand"


def test_points_that_do_not_exist_are_not_saved(desk):
    _, _, page, _ = desk
    one = to(page, "So.")
    one.get_by_label("Points").fill("7")
    assert page.locator("#count").inner_text() == "1 of 3 marked"
    page.get_by_role("button", name="Save marks.csv").click()
    assert "from 0 to 1.5" in page.get_by_role("status").inner_text()


def test_nothing_of_an_answer_runs_or_loads(desk):
    *_, page, problems = desk
    one = to(page, "evil.example")
    assert "<script>" in one.inner_text()
    assert one.locator("a, img, iframe, script, [onclick]").count() == 0
    one.get_by_text("click", exact=False).first.click()
    assert page.evaluate("window.ran") is None
    assert problems == []
    # Were anything let through, the policy of the page would still stop it.
    page.evaluate("""() => Promise.all(["https://evil.example/a", "x"].map((address) => {
        const script = document.createElement("script"), image = new Image();
        script.textContent = "window.ran = 6";
        image.setAttribute("onerror", "window.ran = 7");
        const failed = new Promise((done) => image.addEventListener("error", done));
        image.src = address;
        document.body.append(script, image);
        return failed;
    })).then(() => null)""")
    assert page.evaluate("window.ran") is None


def test_the_page_is_read_by_all(desk):
    from axe_playwright_python.sync_playwright import Axe

    _, _, page, _ = desk
    for scheme, width in (("light", 1280), ("dark", 320)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    page.get_by_label("Use these keys").uncheck()
    page.keyboard.press("n")
    assert page.locator("#count").inner_text() == "1 of 3 marked"
