"""Write the student edition of a problem set, and try its tests.

    python -m homework.release --chapter 05 --out course [--seed TEXT] [--private FOLDER]
                               [--site URL] [--roster FILE.csv] [--preview 3]

(`make homework CHAPTER=05 OUT=course` is short for it.) It writes into the folder of the course:

    05.ipynb   the student edition: hand this out
    05.json    what was released, for the grader: keep it

With a seed, questions that ask for a value have numbers of each student's own, drawn from the seed
and the name or number that the student fills in at the top. --roster writes 05/KEY.ipynb for each
student of a roster, with name and questions filled in. --preview writes as many of them, or of
invented students, into 05-preview, with the right answers.

The edition is made cell by cell from what students may see. Where there is a sandbox, the solutions
are graded, and so is the empty edition.
"""

import sys
from pathlib import Path

import nbformat

from helpers.files import write_text
from homework.command import command, parser
from homework.intake.roster import read
from homework.release.course import Course, release
from homework.release.edition import edition_of
from homework.run.judging import tried


@command
def main(arguments: list[str] | None = None) -> None:
    """The command; see the head of this module."""
    asked = parser("homework.release", __doc__)
    asked.add_argument("--chapter", required=True, help="two digits, such as 05")
    asked.add_argument("--out", default="course", help="the folder of the course (default: course)")
    asked.add_argument("--seed", default="", help="any text; draws the numbers of this course")
    asked.add_argument("--private", default="", help="your folder of hidden tests and tasks")
    asked.add_argument("--site", default="", help="where feedback links to: the book's address")
    asked.add_argument("--roster", default="", help="write an edition for each of its students")
    asked.add_argument("--preview", type=int, default=0, help="write so many with right answers")
    options = asked.parse_args(arguments)
    if (options.roster or options.preview) and not options.seed:
        raise ValueError("numbers of each student's own need a seed: add --seed (or SEED=)")
    invented = [f"student-{n}" for n in range(1, options.preview + 1)]
    students = [s.key for s in read(Path(options.roster)).students] if options.roster else invented
    private = str(Path(options.private).resolve()) if options.private else ""
    course = Course(options.chapter, options.seed, private, site=options.site)
    said = tried(course.assignment())
    path, assignment = release(course, Path(options.out))
    if course.private_file is not None and not course.private_file.exists():
        print(f"note: there is no {assignment.chapter}.py in {private}; nothing of yours is in it")
    folder = Path(options.out) / options.chapter
    wanted = {folder: students if options.roster else []}
    wanted[Path(f"{folder}-preview")] = students[: options.preview]
    for number, (place, names) in enumerate(wanted.items()):
        for name in names:
            made = edition_of(assignment, name, solved=number == 1)
            write_text(place / f"{name}.ipynb", nbformat.writes(made) + "\n")
        if names:
            print(f"{place}: {len(names)} editions" + (", with answers" if number else ""))
    print(f"{path}: {len(assignment.tasks)} exercises, {assignment.points:g} points")
    if assignment.drawn:
        print("drawn: " + ", ".join(f"{name} = {value}" for name, value in assignment.drawn))
    print(said)


if __name__ == "__main__":
    sys.exit(main())
