"""Write the student edition of a problem set, and prove that nothing leaked.

    python -m homework.release --chapter 05 --out course [--seed TEXT] [--private FOLDER]
                               [--site URL]

(`make homework CHAPTER=05 OUT=course` is short for it.) It writes into the folder of the course:

    05.ipynb   the student edition: hand this out
    05.json    what was released, for the grader: keep it

The edition is made cell by cell from what students may see; then the file itself is searched for
what they may not. Where there is a sandbox, the solutions are graded, and so is the empty edition.
"""

import sys
from pathlib import Path

from homework.command import command, parser
from homework.release.course import Course, release
from homework.run.judging import tried


@command
def main(arguments: list[str] | None = None) -> None:
    """The command; see the head of this module."""
    asked = parser("homework.release", __doc__)
    asked.add_argument("--chapter", required=True, help="two digits, such as 05")
    asked.add_argument("--out", required=True, help="the folder of the course")
    asked.add_argument("--seed", default="", help="any text; draws the numbers of this course")
    asked.add_argument("--private", default="", help="your folder of hidden tests and tasks")
    asked.add_argument("--site", default="", help="where feedback links to: the book's address")
    told = asked.parse_args(arguments)
    if not told.out:
        raise ValueError("--out (OUT=) is missing: the folder of the course")
    private = str(Path(told.private).resolve()) if told.private else ""
    course = Course(told.chapter, told.seed, private, site=told.site)
    said = tried(course.assignment())
    path, of = release(course, Path(told.out))
    if course.private_file is not None and not course.private_file.exists():
        print(f"note: there is no {of.chapter}.py in {private}; nothing of yours is in it")
    print(f"{path}: {len(of.tasks)} exercises, {of.points:g} points")
    if of.drawn:
        unused = {True: "", False: " (in no text and no test)"}
        print("drawn: " + ", ".join(f"{name} = {value}{unused[used]}"
                                    for name, value, used in of.drawn))  # fmt: skip
    if of.drawn and not told.seed:
        print("note: there is no SEED; every course without one has these numbers")
    if "/OWNER/" in of.install.source:
        print("note: the book's address in the first cell is a place-holder until it has a home")
    print(f"nothing leaked; {said}")


if __name__ == "__main__":
    sys.exit(main())
