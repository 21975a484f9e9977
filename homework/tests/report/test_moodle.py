"""Moodle finds each student's page of feedback in the zip, as its own importer reads names."""

import zipfile

import pytest

from homework.intake.roster import read
from homework.report.moodle import takes_feedback, write_feedback

HEAD = "Identifier,Full name,Email address,Status,Grade,Maximum Grade\n"
PAGE = "<!DOCTYPE html><p>Schön: 3 of 4</p>"


@pytest.fixture
def worksheet(tmp_path):
    def make(*names):
        rows = [
            f'Participant {1234 + at},"{name}",s{at}@x.org,,,4\n' for at, name in enumerate(names)
        ]
        (tmp_path / "sheet.csv").write_text(HEAD + "".join(rows), "utf-8")
        return read(tmp_path / "sheet.csv")

    return make


def imported(path: str, participants: set[str]) -> tuple[str, str] | None:
    """The participant and the file's own name, as is_valid_filename_for_import finds them."""
    *_, file = path.split("/")
    if file.startswith((".", "~")):
        return None
    parts = ["", "import", *path.split("/")]
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or info[1] not in participants:
            continue
        if info[2:4] == ["assignfeedback", "file"]:
            return info[1], "/".join([*info[4:5], *parts])
    return None


NAMES = [
    "Ada Lovelace",
    "Ada_99_Lovelace",
    "__1235_assignfeedback_file_x",
    "O'Brien, Zoë",
    "",
    "../../etc/passwd",
    ".hidden",
    "~tilde",
    "a/b\\c:d",
    "李雷",
    "x" * 300,
    "Li\nWei",
    "_",
    "Li Wei",
    "Li Wei",
]


def test_each_page_reaches_its_own_student(worksheet, tmp_path):
    roster = worksheet(*NAMES)
    ids = {student.id for student in roster.students}
    assert len(ids) == len(NAMES)
    pages = {student.key: f"{PAGE}{student.id}" for student in roster.students}
    assert write_feedback(tmp_path / "f.zip", roster, pages) == ()
    with zipfile.ZipFile(tmp_path / "f.zip") as made:
        assert len(made.namelist()) == len(NAMES)
        for name in made.namelist():
            number, own = imported(name, ids)
            assert own == "feedback.html"
            assert made.read(name).decode() == f"{PAGE}{number}"
            assert "/" not in name
            assert len(name.encode()) < 255
        assert "Participant_1235_assignfeedback_file_feedback.html" in made.namelist()


def test_blind_marking(tmp_path):
    (tmp_path / "sheet.csv").write_text("Identifier,Status,Grade\nParticipant 7,x,\n")
    write_feedback(tmp_path / "f.zip", read(tmp_path / "sheet.csv"), {"7": PAGE})
    with zipfile.ZipFile(tmp_path / "f.zip") as made:
        assert [imported(name, {"7"}) for name in made.namelist()] == [("7", "feedback.html")]


def test_who_is_not_in_the_worksheet_has_no_page_in_the_zip(worksheet, tmp_path):
    roster = worksheet("Ada Lovelace", "Eve")
    ada, _ = roster.students
    left = write_feedback(tmp_path / "f.zip", roster, {"nobody": PAGE, ada.key: PAGE, "a": PAGE})
    assert left == ("a", "nobody")
    with zipfile.ZipFile(tmp_path / "f.zip") as made:
        assert [imported(name, {ada.id}) for name in made.namelist()] == [(ada.id, "feedback.html")]


def test_the_same_pages_give_the_same_bytes(worksheet, tmp_path):
    roster = worksheet("Ada Lovelace", "Eve")
    pages = {student.key: PAGE for student in roster.students}
    write_feedback(tmp_path / "a.zip", roster, pages)
    write_feedback(tmp_path / "b.zip", roster, dict(reversed(pages.items())))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as made:
        assert {info.date_time for info in made.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_another_roster_has_no_numbers_that_moodle_knows(tmp_path):
    (tmp_path / "roster.csv").write_text("Student,ID,SIS Login ID,Section\nAda,101,ada,x\n")
    roster = read(tmp_path / "roster.csv")
    assert not takes_feedback(roster)
    assert not takes_feedback(None)
    with pytest.raises(ValueError, match="needs its grading worksheet"):
        write_feedback(tmp_path / "f.zip", roster, {})
