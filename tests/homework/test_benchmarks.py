"""The measurements of the grader: a batch made by varying submissions, and nbgrader beside it.

What runs for minutes is not run here; its parts are, with small fakes, and what is stored is held
to the scripts.
"""

import io
import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from submissions import HALF, SUBMISSIONS, answered, course
from support import ROOT, script

from helpers import exercises
from homework.intake.repair import repaired
from homework.release.edition import edition

RESULTS = ROOT / "helpers" / "data" / "results"
batch = script(ROOT / "benchmarks" / "homework_batch.py")
hogs = script(ROOT / "benchmarks" / "homework_hogs.py")
beside = script(ROOT / "benchmarks" / "homework_nbgrader.py")
BY_NAME = {one.name: one for one in SUBMISSIONS}
FULL = {"05.1": 2.0, "05.2": 2.0, "05.3": 2.0, "05.5": 2.0, "05.7": 3.0}


def stored(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


# ------------------------------------------------------------- the batch


def test_a_batch_has_other_files_of_other_students_and_is_the_same_each_time():
    made = batch.batch(batch.COUNT)
    assert len({one.student for one in made}) == len({one.raw for one in made}) == batch.COUNT
    assert made[:7] == batch.batch(7)
    totals = [sum(one.points.values()) for one in made]
    assert min(totals[1::2]) < max(totals[1::2]) == sum(BY_NAME["half"].points.values())
    assert min(totals[::2]) < max(totals[::2]) == sum(BY_NAME["perfect"].points.values())


@pytest.mark.parametrize("count", [0, batch.COUNT + 1])
def test_a_batch_must_have_a_size(count):
    with pytest.raises(ValueError, match=f"count must be from 1 to 200, got {count}"):
        batch.batch(count)


def test_what_is_filled_in_is_what_has_points():
    released = nbformat.from_dict(edition(course("05")))
    for one in batch.batch(12):
        found = repaired(one.raw, released)
        wrong = {"05.5"}  # of HALF, filled in and without points
        filled = {task for task in found.answers if task != "05.8"} - wrong
        assert filled == {task for task, points in one.points.items() if points} - wrong


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of answers for small scores only
@pytest.mark.parametrize("answers", [answered({}), HALF], ids=["perfect", "half"])
def test_another_spelling_is_the_same_program(answers):
    assignment, names = course("05"), {}
    wanted = BY_NAME["perfect" if "05.8" in answers else "half"].points
    for cell in assignment.setup:
        exec(cell.source, names)
    spellings = set()
    for task in assignment.tasks:
        for cell in task.cells[:-1]:
            if cell.cell_type == "code":
                exec(cell.source, names)
        for seed in range(8 if task.name in answers and not task.free else 0):
            source = batch.spelt(answers[task.name], random.Random(seed))
            spellings.add(source)
            exec(source, names)
            states = [exercises.judged(t.judge, names[task.answer]).state for t in task.tests]
            points = sum(t.points for t, s in zip(task.tests, states, strict=True) if s == "Right")
            assert points == wanted[task.name], source
    assert len(spellings) > 4 * len(set(answers) - {"05.8"})


def test_only_names_that_a_function_binds_are_changed():
    source = "def f(x):\n    y = np.sum(x)\n    return [z + y for z in keys]"
    spellings = {batch.spelt(source, random.Random(seed)) for seed in range(40)}
    renamed = [text for text in spellings if "x_own" in text]
    assert renamed
    for text in renamed:
        assert "y_own = np.sum(x_own)" in text
        assert "for z_own in keys]" in text


def test_a_hog_has_right_answers_but_one_and_a_grade_that_differs_is_told():
    released = nbformat.from_dict(edition(course("05")))
    made = hogs.hogs()
    for one in made:
        found = repaired(one.raw, released)
        assert [source.strip() for source in found.answers["05.5"]] == [hogs.HOGS[one.student]]
        assert [task for task, points in one.points.items() if not points] == ["05.5"]
    result = {"task": "05.1", "test": "check", "points": 2, "state": "Right"}
    record = {"error": "", "results": [result]}
    other = {"error": "", "results": [result | {"points": 0}]}
    assert hogs.grades(record) == hogs.grades(dict(record)) != hogs.grades(other)


def test_what_is_stored_of_hogs_is_what_the_script_makes():
    found = stored("homework_hogs")
    (_, alone, right, _), (_, beside, also_right, _) = found["rows"]
    assert alone == beside == right == also_right == hogs.COUNT - len(hogs.HOGS)
    assert found["differ"] == []
    made = hogs.table(found["rows"], [], [])
    assert found["claim"].startswith(made["claim"].partition("none. ")[0] + "none. ")


# ------------------------------------------------------------- memory


class Process:
    """As psutil has it: a name, bytes in memory, and what it started."""

    def __init__(self, name, memory, *children):
        self.name, self.children = lambda: name, lambda: children
        self.memory_info = lambda: SimpleNamespace(rss=memory)


def test_memory_of_students_is_not_the_graders():
    sandbox = Process("bwrap", 3000, Process("python", 4000))
    judge = Process("python", 20, sandbox)
    assert batch.resident(Process("python", 100, judge, Process("python", 5))) == 125


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux has /proc")
def test_a_process_is_watched_until_it_ends(monkeypatch, tmp_path):
    monkeypatch.setattr(batch, "EVERY", 0.01)
    (tmp_path / ".ada.json.1.new").write_text("half written")
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    seen = batch.watched(process, tmp_path)
    first = next(seen)
    (tmp_path / "ada.json").write_text("{}")
    second = next(seen)
    while second.memory <= batch.MIB and second.seconds < 10:  # it has just been started
        second = next(seen)
    process.communicate(b"\n")
    *_, last = seen
    assert (first.graded, second.graded, last.graded) == (0, 1, 1)
    assert second.memory > batch.MIB
    assert 0 < first.seconds < second.seconds < last.seconds
    assert last.memory == 0


def looks(count: int) -> list:
    """A look for each submission, a second apart, and 100 MiB and half of their number."""
    found = [batch.Look(float(n), n, int((100 + n / 2) * batch.MIB)) for n in range(count + 1)]
    return [*found, batch.Look(count + 2.0, count, 0)]


def test_a_row_tells_of_the_submissions_since_the_row_above():
    first, *_, last, pages = found = batch.rows(looks(60), 60)
    assert [row[0] for row in found] == [25, 50, 60, "pages and tables"]
    assert first == [25, 25.0, 106, 112]  # from 0 to 24
    assert last == [60, 60.0, 127, 130]  # from 50 to 59
    assert pages == ["pages and tables", 62.0, 130, 130]


def test_a_step_in_which_nobody_looked_has_no_memory():
    seen = [batch.Look(1.0, 0, batch.MIB), batch.Look(2.0, 50, batch.MIB), batch.Look(3.0, 50, 0)]
    assert batch.rows(seen, 50)[1] == [50, 2.0, None, None]


def test_the_claim_has_the_numbers_of_the_rows():
    claim = batch.table(batch.rows(looks(200), 200), 199)["claim"]
    for words in ("200 submissions", "202 s in all, 1.01 s each", "199 of 200", "200 MiB."):
        assert words in claim, claim


def test_a_grade_is_right_where_all_tasks_are(tmp_path):
    one = batch.Made("ada", b"", {"05.1": 3, "05.2": 0})
    results = [{"task": "05.1", "points": 2}, {"task": "05.1", "points": 1},
               {"task": "05.2", "points": 0}]  # fmt: skip
    for error, points, right in (("", 0, True), ("", 1, False), ("a PDF", 0, False)):
        record = {"error": error, "results": [*results[:2], results[2] | {"points": points}]}
        (tmp_path / "ada.json").write_text(json.dumps(record))
        assert batch.is_right(one, tmp_path) is right


def test_stored_batch_is_that_of_the_script():
    found = stored("homework_batch")
    assert found["script"] == "benchmarks/homework_batch.py"
    ends = [*range(batch.STEP, batch.COUNT + 1, batch.STEP), "pages and tables"]
    assert [row[0] for row in found["rows"]] == ends
    assert found.items() >= batch.table(found["rows"], batch.COUNT).items()


# ------------------------------------------------------------- nbgrader: what it is asked


def test_points_for_tests_that_students_see():
    assignment = course("05")
    assert beside.visible(assignment) == FULL
    assert beside.deserved(BY_NAME["perfect"], assignment) == FULL
    half = FULL | {"05.5": 0, "05.7": 0}
    assert beside.deserved(BY_NAME["half"], assignment) == half  # 2 of 3: the hidden test is lost
    won = FULL | {"05.2": 0}  # 1 of 3: it is won
    assert beside.deserved(BY_NAME["one-softmax"], assignment) == won
    assert beside.deserved(BY_NAME["pdf"], assignment) is None
    for one in SUBMISSIONS:
        beside.deserved(one, course(one.chapter))


def test_points_that_leave_open_which_tests_were_passed_are_refused():
    with pytest.raises(ValueError, match=r"half: 2\.5 points of 05\.1"):
        beside.deserved(replace(BY_NAME["half"], points={"05.1": 2.5}), course("05"))


def test_what_is_nbgraders_task_is_a_notebook_of_the_right_name():
    asked = {name for name, one in BY_NAME.items() if beside.notebook_of(one) is not None}
    assert asked >= {"perfect", "perfect-norms", "perfect-heads", "fork-bomb", "pdf", "cut-off"}
    others = {"zip-slip", "link-to-passwd", "pipe", "twice", "hundred-megabytes", "word"}
    assert not asked & others
    assert len(asked) >= 60
    assert b"@P" not in beside.notebook_of(BY_NAME["network"])


# ------------------------------------------------------------- nbgrader: what it gives


def test_cells_and_scores_become_points_by_task():
    scores = [["check-05-1", 2.0], ["check-05-2", None], ["check-05-4", 0.0], ["exercise-05-8", 0]]
    found = beside.marks("a warning\n" + json.dumps(scores) + "\n", course("05"))
    assert found == beside.Outcome(dict.fromkeys(FULL, 0.0) | {"05.1": 2.0})


@pytest.mark.parametrize("log", ["", "Traceback", "7", "[[1]]", '[["check-05-1", [2]]]'])
def test_a_gradebook_that_makes_no_sense_gives_nothing(log):
    assert beside.marks(log, course("05")) == beside.Outcome(None, "failed: no gradebook")


@pytest.mark.parametrize(
    ("status", "wanted"),
    [(0, beside.Outcome(FULL)), (1, beside.Outcome(None, "failed: status 1")),
     (None, beside.Outcome(None, "timed out"))],
)  # fmt: skip
def test_each_notebook_has_a_course_of_its_own(tmp_path, monkeypatch, status, wanted):
    nbgrader, ran = beside.Nbgrader(tmp_path, tmp_path), []
    scores = [[f"check-{task.replace('.', '-')}", points] for task, points in FULL.items()]

    def run(course: Path, program: list[str]) -> tuple[int | None, str]:
        ran.append(program)
        (course / "gradebook.db").write_bytes(b"?")
        handed = course / "submitted" / "ada" / "05" / "05.ipynb"
        assert "autograde" not in program or handed.read_bytes() == b"{}"
        return status if "autograde" in program else 0, json.dumps(scores)

    monkeypatch.setattr(nbgrader, "_run", run)
    nbgrader.prepare("05", course("05"))
    assert nbgrader.grade(b"{}", "05", course("05")) == wanted
    assert len(ran) == (3 if status == 0 else 2)  # after a failure nobody asks for marks
    assert [path.name for path in tmp_path.iterdir()] == ["05"]
    assert not (tmp_path / "05" / "submitted").exists()


@pytest.mark.parametrize(
    ("status", "log", "words"),
    [
        (None, "", "timed out"),
        (137, "ValueError: of before", "failed: killed"),
        (2, "usage", "failed: status 2"),
        (1, "the kernel became unresponsive and we could not", "failed: kernel unresponsive"),
        (1, "    ValueError: x\n    nbclient.exceptions.DeadKernelError: Kernel died\nand so on",
         "failed: DeadKernelError"),
    ],
)  # fmt: skip
def test_why_there_are_no_points(status, log, words):
    assert beside.reason(status, log) == words


def test_points_of_the_gradebook_without_hidden_tests(tmp_path):
    path, assignment = tmp_path / "ada.json", course("05")
    results = [{"task": "05.1", "points": 2, "hidden": False},
               {"task": "05.1", "points": 1, "hidden": True},
               {"task": "05.4", "points": 2, "hidden": True}]  # fmt: skip
    path.write_text(json.dumps({"error": "", "results": results}))
    assert beside.our_outcome(path, assignment).points == dict.fromkeys(FULL, 0.0) | {"05.1": 2}
    path.write_text(json.dumps({"error": "a PDF", "results": []}))
    assert beside.our_outcome(path, assignment).points is None


@pytest.mark.usefixtures("bubblewrap")
def test_the_sandbox_has_the_environment_to_read_and_the_course_to_write(tmp_path):
    environment = tmp_path / "environment"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("home = /opt/python/bin\nversion = 3.11.7\n")
    argv = beside.command(environment, tmp_path, ["-m", "nbgrader", "--version"])
    sealed = argv.index("--remount-ro")
    command = " ".join(argv[:sealed])
    assert f"--ro-bind {environment} {environment}" in command
    assert "--ro-bind /opt/python /opt/python" in command
    assert f"--bind {tmp_path} /course" in command
    assert "--unshare-net" in argv
    assert any(word.startswith("--nproc=") for word in argv)
    assert "--no-new-privs" in argv
    assert argv[-4:] == [f"{environment}/bin/python", "-m", "nbgrader", "--version"]


def test_of_what_nbgrader_says_the_end_is_kept():
    kept = bytearray()
    beside._keep_the_end(io.BytesIO(b"x" * 3 * beside.LONGEST + b"the end"), kept)
    assert len(kept) == beside.LONGEST
    assert kept.endswith(b"xthe end")


def test_nothing_is_done_without_an_environment(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(beside, "store_table", None)
    beside.main([])
    assert "--nbgrader" in capsys.readouterr().out
    with pytest.raises(ValueError, match="must be a virtual environment"):
        beside.Nbgrader(tmp_path / "none", tmp_path).version()


# ------------------------------------------------------------- the table


def test_no_points_are_right_for_what_is_no_notebook():
    failed, nothing = beside.Outcome(None, "failed: X"), beside.Outcome({"05.1": 0.0})
    assert beside.is_right(None, failed)
    assert beside.is_right(None, nothing)
    assert not beside.is_right(None, beside.Outcome({"05.1": 1.0}))
    assert beside.is_right({"05.1": 0.0}, nothing)
    assert not beside.is_right({"05.1": 0.0}, failed)  # a grade is deserved, be it nothing


def test_a_table_has_both_and_counts_what_each_was_asked():
    cases = [BY_NAME[name] for name in ("perfect", "half", "zip-slip")]
    sets = {"05": course("05")}
    own = {one.name: beside.Outcome(beside.deserved(one, sets["05"])) for one in cases}
    other = {"perfect": beside.Outcome(None, "timed out"), "half": own["half"]}
    found = beside.table(cases, sets, own, other)
    assert [row[0] for row in found["rows"]] == ["perfect", "half", "zip-slip"]
    assert found["rows"][0][2:] == ["2 2 2 2 3", "2 2 2 2 3", "✗ timed out"]
    assert [row[4] for row in found["rows"][1:]] == ["2 2 2 0 0", "not its task"]
    assert "Of 3 submissions" in found["claim"]
    assert "gives 3 what they deserve. 2 of them" in found["claim"]
    assert "autograde gets 1 right and this book's grader 2." in found["claim"]


@pytest.mark.skipif(
    not (RESULTS / "homework_nbgrader.json").exists(),
    reason="not measured yet since explanations are marked by a person",
)
def test_stored_table_is_that_of_the_script_and_of_these_submissions():
    found = stored("homework_nbgrader")
    assert found["script"] == "benchmarks/homework_nbgrader.py"
    assert found["versions"]["nbgrader"]
    assert found["columns"] == beside.COLUMNS
    assert found["claim"] == beside.claim(found["rows"])
    deserved = [
        [one.name, beside.as_text(beside.deserved(one, course(one.chapter)))] for one in SUBMISSIONS
    ]
    assert [[row[0], row[2]] for row in found["rows"]] == deserved
