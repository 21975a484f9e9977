"""A problem set as it is released to a course: its record, its fingerprint, its two files."""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat

from helpers.chapters import BY_NUMBER
from helpers.exercises import verdict
from helpers.files import write_text
from homework.release.additions import with_private
from homework.release.assignment import (
    QUESTION,
    Assignment,
    Task,
    cells_of,
    chapter_file,
    read_assignment,
)
from homework.release.edition import edition


@dataclass(frozen=True)
class Course:
    """How an assignment was released: what the grader has to know to make it again."""

    chapter: str
    seed: str = ""
    private: str = ""
    edition: str = ""
    site: str = ""
    tests: str = ""  # the fingerprint of those that were tried on the solutions
    own: str = ""  # the private file, where there was one

    def assignment(self) -> Assignment:
        """The problem set, with the private part.

        Raises: ValueError as `with_private` does, and where the private file is gone.
        """
        if self.own and not Path(self.own).exists():
            raise ValueError(
                f"{self.own} is missing: the problem set was released with it, and is not graded "
                "out of fewer points; put it back, or release the problem set again"
            )
        notebook = chapter_file(self.chapter)
        found = read_assignment(notebook)
        tasks = tuple(_of_course(task, self.code) for task in found.tasks)
        found = replace(found, tasks=tasks, site=self.site, course=self.code)
        if not self.private:
            return found
        cells = cells_of(notebook)
        first = next(at for at, cell in enumerate(cells) if QUESTION.search(cell.source))
        return with_private(found, Path(self.private), self.seed, cells[1:first])

    @property
    def code(self) -> str:
        """What stands for the seed in the edition and draws students' numbers; "" without one."""
        return hashlib.sha256(self.seed.encode()).hexdigest()[:12] if self.seed else ""

    @property
    def private_file(self) -> Path | None:
        """The teacher's own part, which need not be there; None without a private folder."""
        return Path(self.private) / f"{self.chapter}.py" if self.private else None


def _of_course(task: Task, code: str) -> Task:
    """The task, whose check knows the course where its numbers are a student's own."""
    if not (task.own and code):
        return task
    return replace(task, check=f'{task.check.rstrip().removesuffix(")")}, course="{code}")')


def fingerprint(course: Course, assignment: Assignment) -> str:
    """Changes with the questions, the chapter's judges, the private file, what it draws, and what
    the judges import.
    """
    exercises = Path(verdict.__file__).parent
    files = sorted([*exercises.glob("*.py"), *exercises.parent.glob("*.py")])
    files += [*sorted(BY_NUMBER[int(assignment.chapter)].folder.glob("*.py"))]
    files += filter(None, [course.private_file])
    parts = [course.seed, edition(assignment).metadata["homework"]["edition"], *assignment.secrets]
    parts += [path.read_text("utf-8") for path in files if path.exists()]
    tests = [(task, test) for task in assignment.tasks for test in task.tests]
    parts += [f"{task.name}/{test.name}/{test.points}" for task, test in tests]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def release(course: Course, out: Path) -> tuple[Path, Assignment]:
    """Write the edition and the course's record into a folder; the tests were tried before.

    Raises: ValueError.
    """
    assignment = course.assignment()
    made = edition(assignment)
    text = nbformat.writes(made) + "\n"
    own = str(file) if (file := course.private_file) and file.exists() else ""
    record = replace(
        course,
        edition=made.metadata["homework"]["edition"],
        own=own,
        tests=fingerprint(course, assignment),
    )
    write_text(out / f"{assignment.chapter}.json", json.dumps(vars(record), indent=1) + "\n")
    write_text(out / f"{assignment.chapter}.ipynb", text)
    return out / f"{assignment.chapter}.ipynb", assignment


def released(folder: Path, chapter: str) -> Course:
    """How the assignment was released. Raises: ValueError where there is no record of it."""
    path = folder / f"{chapter}.json"
    if not path.exists():
        chapter_file(chapter)  # says so where there is no such chapter
        raise ValueError(
            f"there is no {path}, which says how the problem set was released: name the folder "
            f"of the course by --course, or release it (make homework CHAPTER={chapter} "
            f"OUT={folder}; without PRIVATE= it has the book's own tests)"
        )
    try:
        course = Course(**json.loads(path.read_text("utf-8")))
        if not all(isinstance(value, str) for value in vars(course).values()):
            raise ValueError("all that it holds should be text")
        if course.chapter != chapter:
            raise ValueError(f"it says that it is of {course.chapter}")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is no record of a release: {error}") from error
    return course
