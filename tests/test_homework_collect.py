"""One file a student, whatever the platform called it and whatever a student put there."""

import io
import json
import os
import pickle
import stat
import tracemalloc
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homework import collect
from homework.collect import claimed, collected
from homework.roster import read


def notebook(student: str | None = None, id: str = "hw-student", **more) -> bytes:
    """A notebook in which a student wrote a name; `more` makes it another one."""
    source = [f"student = {json.dumps(student)}  # your name"] if student is not None else []
    cells = [{"cell_type": "code", "id": id, "metadata": {}, "source": source, "outputs": []}]
    return json.dumps({"cells": cells, "metadata": more, "nbformat": 4}).encode()


def archive(files, **options) -> bytes:
    """A zip of names and bytes; a name may be a ZipInfo."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, **options) as made:
        for name, data in files.items() if isinstance(files, dict) else files:
            made.writestr(name, data)
    return out.getvalue()


@pytest.fixture
def hand_in(tmp_path):
    """What is collected of files given by name, from a folder or a zip of it."""

    def of(files, roster=None, kind="folder"):
        source = tmp_path / "given"
        if kind == "zip":
            source = tmp_path / "given.zip"
            source.write_bytes(archive(files))
            return collected(source, roster)
        for at, (name, data) in enumerate(files.items()):
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (1_700_000_000 + at, 1_700_000_000 + at))
        return collected(source, roster)

    return of


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text(
        "Student,ID,SIS Login ID,Section\n"
        '"Lovelace, Ada",12345,ada,x\n"Hopper, Grace",12346,grace,x\n"Wei, Li",12347,li1,x\n'
        '"Wei, Li",12348,li2,x\n'
    )
    return read(path)


A, B, C = notebook(n=1), notebook(n=2), notebook(n=3)
NO_NAMES = {"Copy of 05.ipynb": A, "05 (1).ipynb": B, "Copy of Copy of 05 (3).ipynb": C}

# ------------------------------------------------------- the names that platforms give


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize(
    ("files", "keys", "bytes_of"),
    [
        ({"lovelaceada_12345_67890_05.ipynb": A, "hoppergrace_12346_67891_05.ipynb": B},
         ["hoppergrace_12346", "lovelaceada_12345"], [B, A]),
        ({"lovelaceada_LATE_12345_67890_05.ipynb": A, "x_late_7_8_05.ipynb": B},
         ["lovelaceada_12345", "x_7"], [A, B]),
        ({"lovelaceada_12345_67891_05-1.ipynb": B, "lovelaceada_12345_67890_05.ipynb": A},
         ["lovelaceada_12345"], [B]),
        ({"lovelaceada_12345_9_05-1.ipynb": B, "lovelaceada_12345_10_05.ipynb": A},
         ["lovelaceada_12345"], [A]),
        ({"anon_a1B2c_678_05_x.ipynb": A, "LATE_anon_zzzzz_679_05.ipynb": B},
         ["anon_a1b2c", "anon_zzzzz"], [A, B]),
        ({"a_1_2_3_4_05.ipynb": A, "b_1_2_05.ipynb": B}, ["a_1"], [B]),
        ({"Ada Lovelace_1234_assignsubmission_file_/05.ipynb": A,
          "Grace Hopper_1235_assignsubmission_file_/sub/05.ipynb": B},
         ["ada-lovelace_1234", "grace-hopper_1235"], [A, B]),
        ({"Ada Lovelace_1234_assignsubmission_file_05.ipynb": A}, ["ada-lovelace_1234"], [A]),
        ({"Participant_1234_assignsubmission_file_/05.ipynb": A,
          "Participant_1235_assignsubmission_file_05.ipynb": B},
         ["participant_1234", "participant_1235"], [A, B]),
        ({"Ada_1_assignsubmission_onlinetext_/onlinetext.html": B,
          "Ada_1_assignsubmission_file_/05.ipynb": A}, ["ada_1"], [A]),
        ({"submitted/ada/05/05.ipynb": A, "submitted/ada/05/timestamp.txt": b"2025",
          "submitted/grace/05/05.ipynb": B, "release/05/05.ipynb": C}, ["ada", "grace"], [A, B]),
        ({"ada/05/05.ipynb": A, "grace/05/05.ipynb": B}, ["ada", "grace"], [A, B]),
        ({"ada/05/05.ipynb": A}, ["ada"], [A]),
        ({"Ada Lovelace/05.ipynb": A, "grace/work/my.ipynb": B},
         ["ada-lovelace", "grace"], [A, B]),
        ({"class/ada/05.ipynb": A, "class/grace/05.ipynb": B}, ["ada", "grace"], [A, B]),
        ({"hw05/ada.ipynb": A}, ["ada"], [A]),
        ({"hw05/x_1_2_05.ipynb": A, "hw05/y_2_3_05.ipynb": B}, ["x_1", "y_2"], [A, B]),
        ({"ada.ipynb": A, "grace_05.ipynb": B, "05_kurt.ipynb": C},
         ["ada", "grace", "kurt"], [A, B, C]),
        ({"ada_05_attention_by_hand.ipynb": A, "12345678_hw05.ipynb": B},
         ["12345678", "ada"], [B, A]),
        ({"Ada Lovelace - 05.ipynb": A, "Grace Hopper - Copy of 05 (2).ipynb": B},
         ["ada-lovelace", "grace-hopper"], [A, B]),
        ({"Copy of Copy of Ada Lovelace - 05.ipynb": A}, ["ada-lovelace"], [A]),
        ({"Anne-Marie_O'Brien.ipynb": A, "Zoë_05.ipynb": B},
         ["anne-marie_o-brien", "zoe"], [A, B]),
    ],
)  # fmt: skip
def test_names_are_known(hand_in, files, keys, bytes_of, kind):
    found = hand_in(files, kind=kind)
    assert [handed.student for handed in found] == keys
    assert [handed.read() for handed in found] == bytes_of
    assert all(not handed.error for handed in found)


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_where_a_name_says_nothing_the_notebook_does(hand_in, kind):
    files = {name: notebook(who) for name, who in zip(NO_NAMES, ("Ada", "007", ""), strict=True)}
    found = hand_in(files, kind=kind)
    assert [handed.student for handed in found][:2] == ["007", "ada"]
    assert found[1].name == "Ada"
    assert "the notebook's first cells do" in found[1].notes[0]
    assert found[2].student.startswith("copy-of-copy-of-05-3-")
    assert found[2].notes == ("neither the file's name nor the notebook says whose it is",)


def test_a_chapters_own_name_is_nobodys(hand_in):
    found = hand_in({"05_attention_by_hand (1).ipynb": notebook("Ada")})
    assert [handed.student for handed in found] == ["ada"]


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (['student = "Ada"'], "Ada"),
        (["student = 'Ada  Lovelace' # me"], "Ada Lovelace"),
        (["# who\nstudent='O\\'Brien'\n%matplotlib"], "O'Brien"),
        (["student = 00123"], "00123"),
        (['student = """Ada"""'], "Ada"),
        (['student = r"a\\d"'], "a\\d"),
        (['student = ""', "x = 1", 'student = "Eve"'], "Eve"),
        (["student = open('/etc/passwd').read()"], ""),
        (['student = "\\x"'], ""),
        (['the_student = "Ada"'], ""),
        (["((((" * 1000 + 'student = "Ada"'], ""),
    ],
)
def test_the_student_cell_is_read_not_run(cells, text):
    made = [{"cell_type": "code", "source": source} for source in cells]
    assert claimed(json.dumps({"cells": made}).encode()) == text


def test_the_student_cell_counts_before_others():
    other = {"cell_type": "code", "source": 'student = "Eve"'}
    for mark in ({"id": "hw-student"}, {"metadata": {"homework": {"kind": "student"}}}):
        cells = [other, {"cell_type": "code", "source": ["student = ", '"Ada"'], **mark}]
        assert claimed(json.dumps({"cells": cells}).encode()) == "Ada"


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[]", b"3", b"null", b"[" * 100_000, b'{"cells": 3}', b'{"cells": [3, null]}',
     b'{"cells": [{"cell_type": "code", "source": 3}]}', b'{"worksheets": null}',
     b'{"cells": [{"metadata": [], "id": {}, "source": [1, null]}]}'],
)  # fmt: skip
def test_what_is_no_notebook_says_nothing(data):
    assert claimed(data) == ""


def test_a_very_large_notebook_is_not_taken_apart(monkeypatch):
    monkeypatch.setattr(collect, "MOST_NOTEBOOK", 100)
    assert len(notebook("Ada")) > 100
    assert claimed(notebook("Ada")) == ""


# ------------------------------------------------------- whose it is, by the roster


@pytest.mark.parametrize(
    "name",
    ["lovelaceada_12345_1_05.ipynb", "whoever_12345_1_05.ipynb", "ada.ipynb",
     "Ada Lovelace - 05.ipynb", "lovelace, ada.ipynb",
     "ÁDA_LOVELACE_05.ipynb", "ada/05/05.ipynb", "12345/05.ipynb"],
)  # fmt: skip
def test_the_rosters_key_counts(hand_in, roster, name):
    (found,) = hand_in({name: A}, roster)
    assert (found.student, found.name, found.notes) == ("ada", "Lovelace, Ada", ())


@pytest.mark.parametrize("name", ["weili_999_1_05.ipynb", "Li Wei - 05.ipynb", "kurt.ipynb",
    "lovelaceada_999_1_05.ipynb", "hoppergrace_12345_1_05.ipynb", "con/05.ipynb",
    "A-Grace_77_assignsubmission_file_05.ipynb"])  # fmt: skip
def test_whom_the_roster_does_not_know_has_a_key_of_their_own(hand_in, roster, name):
    (found,) = hand_in({name: A}, roster)
    assert found.student not in {student.key for student in roster.students}
    assert collect.UNKNOWN in found.notes


@pytest.mark.parametrize("before", ["", "Team A-", "Default group-", "A-B-"])
def test_moodle_may_put_a_group_before_a_name(hand_in, tmp_path, before):
    (tmp_path / "m.csv").write_text("First name,Last name,Email address\nAnne-Marie,Li,a@x.org\n")
    files = {f"{before}Anne-Marie Li_77_assignsubmission_file_/05.ipynb": A}
    (found,) = hand_in(files, read(tmp_path / "m.csv"))
    assert (found.student, found.name) == ("a_x.org", "Li, Anne-Marie")


def test_blind_marking_from_zip_to_worksheet(hand_in, tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("Identifier,Status,Grade\nParticipant 7,x,\nParticipant 8,x,\n")
    students = read(sheet)
    (found,) = hand_in({"Participant_8_assignsubmission_file_/05.ipynb": A}, students, "zip")
    assert found.name == ""
    assert students.write(sheet, "05", {found.student: 3}, 4) == ()
    assert [row[2] for row in read(sheet).rows] == ["", "3"]


def test_a_name_that_the_roster_does_not_know_gives_way_to_the_notebook(hand_in, roster):
    (found,) = hand_in({"attempt by me.ipynb": notebook("Ada Lovelace")}, roster)
    assert found.student == "ada"
    (found,) = hand_in({"attempt by me.ipynb": notebook("nobody")}, roster)
    assert found.student == "attempt-by-me"


def test_another_ones_name_in_a_notebook_replaces_nobodys_file(hand_in, roster):
    found = hand_in(
        {"lovelaceada_12345_1_05.ipynb": A, "Copy of 05.ipynb": notebook("12345"),
         "ada.ipynb": B},
        roster,
    )  # fmt: skip
    assert {handed.student: handed.read() for handed in found}["ada"] == A
    assert len({handed.student for handed in found}) == 3
    assert all("more than one file may be of ada" in " ".join(handed.notes) for handed in found)


def test_what_two_say_alike_is_nobodys(hand_in, roster):
    files = {"05 (1).ipynb": notebook("Ada", n=1), "05 (2).ipynb": notebook("ada", n=2)}
    for known in (None, roster):
        found = hand_in(files, known)
        assert len({handed.student for handed in found}) == 2
        assert "ada" not in {handed.student for handed in found}
        assert all("see also 05 (" in " ".join(handed.notes) for handed in found)


def test_one_file_under_two_names_that_say_nothing(hand_in, roster):
    files = {"05.ipynb": notebook("Ada"), "05 (1).ipynb": notebook("Ada")}
    for known in (None, roster):
        assert [(h.student, len(h.notes)) for h in hand_in(files, known)] == [("ada", 1)]
    files = {"05.ipynb": notebook(""), "05 (1).ipynb": notebook("")}  # of two who did nothing
    assert len(hand_in(files)) == 2


def test_names_that_fold_to_one_key_stay_two(hand_in):
    found = hand_in({"Ada.ipynb": A, "ada.ipynb": B, "áda_05.ipynb": C})
    assert sorted(handed.read() for handed in found) == sorted([A, B, C])
    assert len({handed.student for handed in found}) == 3
    assert all("more than one file may be of ada" in handed.notes[0] for handed in found)


def test_two_of_one_name_on_the_platform_stay_two(hand_in):
    found = hand_in({f"Li Wei_{n}_assignsubmission_file_/05.ipynb": A for n in (1, 2)})
    assert [handed.student for handed in found] == ["li-wei_1", "li-wei_2"]


def test_a_file_in_a_students_folder_speaks_for_no_other(hand_in):
    found = hand_in({"ada/gracehopper_12346_9_05.ipynb": A, "grace/05.ipynb": B})
    assert [(handed.student, handed.read()) for handed in found] == [("ada", A), ("grace", B)]


def test_a_students_zip_speaks_for_no_other(hand_in):
    found = hand_in({"ada.zip": archive({"hoppergrace_12346_9_05.ipynb": A, "b_1_2_x.ipynb": B}),
                     "grace.zip": archive({"05.ipynb": C})})  # fmt: skip
    assert [handed.student for handed in found] == ["ada", "grace"]


# ------------------------------------------------------- which of several counts


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_the_later_of_two_counts_and_is_noted(hand_in, kind):
    files = {"x_1_20_05-1.ipynb": B, "x_1_10_05.ipynb": A}
    (found,) = hand_in(files, kind=kind)
    assert found.read() == B
    assert found.notes == (
        "handed in twice; the later one counts (x_1_20_05-1.ipynb), not x_1_10_05.ipynb",
    )


def test_time_then_number_tell_which_is_later(hand_in, tmp_path):
    (found,) = hand_in({"ada (2).ipynb": A, "ada.ipynb": B, "ada (1).ipynb": C})
    assert found.read() == C  # written last
    for path in (tmp_path / "given").iterdir():
        os.utime(path, (0, 0))
    (found,) = collected(tmp_path / "given")
    assert found.read() == A
    assert "handed in 3 times" in found.notes[0]


def test_one_file_twice_needs_no_note(hand_in):
    (found,) = hand_in({"ada (1).ipynb": A, "ada.ipynb": A, "ada_05.ipynb": A})
    assert found.notes == ()


def test_a_notebook_counts_before_anything_else(hand_in):
    (found,) = hand_in({"x_1_10_05.ipynb": A, "x_1_20_report.pdf": b"%PDF"})
    assert found.read() == A
    assert found.notes == ("a later file does not count: x_1_20_report.pdf (it is no notebook)",)
    (found,) = hand_in({"y/notes.txt": b"", "y/05.ipynb": A, "x_1_10_05.ipynb": b""})[1:]
    assert found.notes == ()


def test_a_text_typed_on_the_platform_counts_last(hand_in):
    (found,) = hand_in({"Z_3_assignsubmission_file_/report.pdf": b"%PDF",
                        "Z_3_assignsubmission_onlinetext_/onlinetext.html": b""})  # fmt: skip
    assert found.read() == b"%PDF"


def test_a_students_folder_that_lies_alone_is_theirs(hand_in, roster):
    (found,) = hand_in({"ada/code/05.ipynb": A, "ada/data/notes.txt": b""}, roster)
    assert (found.student, found.read()) == ("ada", A)


def test_names_in_zips_of_programs_that_do_not_say_how_they_write(tmp_path):
    data = archive({"Zo##_05.ipynb": A}).replace(b"Zo##", "Zoë".encode())
    (tmp_path / "given.zip").write_bytes(data)
    (found,) = collected(tmp_path / "given.zip")
    assert (found.student, found.name) == ("zoe", "Zoë")


def test_who_handed_in_no_notebook_is_there(hand_in):
    found = hand_in({"x_1_10_report.pdf": b"%PDF", "y_2_text.html": b"<p>",
                     "Z_3_assignsubmission_onlinetext_/onlinetext.html": b""})  # fmt: skip
    assert [(handed.student, handed.read()) for handed in found] == [
        ("x_1", b"%PDF"), ("y_2", b"<p>"), ("z_3", b""),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_a_zip_in_a_hand_in_is_looked_into_once(hand_in, kind):
    deep = archive({"05.ipynb": B})
    inner = archive({"work/05.ipynb": A, "work/deep.zip": deep, "__MACOSX/work/._05.ipynb": b"x"})
    (found,) = hand_in({"x_1_10_hw.zip": inner}, kind=kind)
    assert (found.student, found.file) == ("x_1", "x_1_10_hw.zip/work/05.ipynb")
    assert found.read() == A
    assert found.notes == ("a zip within a zip left out: x_1_10_hw.zip/work/deep.zip",)


def test_a_zip_handed_in_earlier_gives_way(hand_in, tmp_path):
    hand_in({"x/hw.zip": archive({"05.ipynb": A}), "x/05.ipynb": B, "y/05.ipynb": C})
    assert collected(tmp_path / "given")[0].read() == B


def test_what_programs_leave_behind_is_skipped(hand_in):
    found = hand_in({"ada/05.ipynb": A, "ada/.ipynb_checkpoints/05-checkpoint.ipynb": B,
                     "ada/.hidden.ipynb": B, "__MACOSX/ada/05.ipynb": B, ".DS_Store": b"",
                     "grades.csv": b"Student,ID\n", "b/05.ipynb": B})  # fmt: skip
    assert [(handed.student, handed.notes) for handed in found] == [("ada", ()), ("b", ())]


def test_of_several_assignments_one_counts(hand_in, tmp_path):
    hand_in({"submitted/ada/05/05.ipynb": A, "submitted/ada/06/06.ipynb": B,
             "submitted/bob/hw-06/06.ipynb": C, "submitted/eve/code/x.ipynb": C})  # fmt: skip
    found = collected(tmp_path / "given", assignment="05")
    assert [(handed.student, handed.read()) for handed in found] == [("ada", A), ("eve", C)]
    assert len(collected(tmp_path / "given")) == 3


def test_files_in_one_folder_whose_names_say_nothing(hand_in, tmp_path):
    files = {f"Responses/{name}": data for name, data in NO_NAMES.items()}
    assert {handed.read() for handed in hand_in(files)} == {A, B, C}
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone/drive-download-20251101.zip").write_bytes(archive(NO_NAMES))
    assert {handed.read() for handed in collected(tmp_path / "alone")} == {A, B, C}


@pytest.mark.parametrize("names", [["submissions.zip"], ["submissions.zip", "submissions-2.zip"]])
def test_a_folder_of_the_platforms_zips(hand_in, names):
    parts = [archive({f"x_{n}_1_05.ipynb": A, f"y_{n}0_2_05.ipynb": B}) for n in range(len(names))]
    found = hand_in(dict(zip(names, parts, strict=True)) | {"roster.csv": b"name\n"})
    assert len(found) == 2 * len(names)
    assert {handed.read() for handed in found} == {A, B}


def test_a_zip_for_each_student(hand_in):
    found = hand_in({"ada.zip": archive({"05.ipynb": A}), "bob.zip": archive({"05.ipynb": B})})
    assert [(handed.student, handed.read()) for handed in found] == [("ada", A), ("bob", B)]


# ------------------------------------------------------- what is hostile


def test_links_are_not_followed(hand_in, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "05.ipynb").write_bytes(b"secret")
    hand_in({"ada/05.ipynb": A, "eve/notes.txt": b""})
    (tmp_path / "given/ada/06.ipynb").symlink_to(secret / "05.ipynb")
    (tmp_path / "given/eve/work").symlink_to(secret)
    (tmp_path / "given/mallory").symlink_to(secret)
    ada, eve, mallory = collected(tmp_path / "given")
    assert (ada.read(), ada.notes) == (A, ("symbolic link left out: ada/06.ipynb",))
    assert eve.notes == ("symbolic link left out: eve/work",)
    assert (mallory.error, mallory.notes) == ("symbolic link left out", ())
    with pytest.raises(ValueError, match="symbolic link"):
        mallory.read()


@pytest.mark.parametrize("late", ["file", "folder"])
def test_a_link_made_after_collecting_is_not_followed(hand_in, tmp_path, late):
    (found,) = hand_in({"ada/05/05.ipynb": A})
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/05.ipynb").write_bytes(b"secret")
    here = tmp_path / "given/ada/05"
    (here / "05.ipynb").unlink()
    if late == "file":
        (here / "05.ipynb").symlink_to(tmp_path / "secret/05.ipynb")
    else:
        here.rmdir()
        here.symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match="cannot be read"):
        found.read()


def test_pipes_are_not_opened(hand_in, tmp_path):
    hand_in({"ada/05.ipynb": A, "b/05.ipynb": B})
    os.mkfifo(tmp_path / "given/ada/06.ipynb")
    os.mkfifo(tmp_path / "given/eve.ipynb")
    ada, _, eve = collected(tmp_path / "given")
    assert ada.notes == ("a pipe, socket or device left out: ada/06.ipynb",)
    assert eve.error == "a pipe, socket or device left out"


def test_a_pipe_put_there_later_does_not_block(hand_in, tmp_path):
    (found,) = hand_in({"ada/05.ipynb": A})
    (tmp_path / "given/ada/05.ipynb").unlink()
    os.mkfifo(tmp_path / "given/ada/05.ipynb")
    with pytest.raises(ValueError, match="no plain file"):
        found.read()


def test_what_may_not_be_read_is_said(hand_in, tmp_path, monkeypatch):
    hand_in({"ada/05.ipynb": A, "b/05.ipynb": B, "c/d/05.ipynb": C})
    real = os.open

    def opened(path, flags, *rest, **more):
        if path in ("ada", "d"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", opened)
    ada, b, c = collected(tmp_path / "given")
    assert "may not be read (Permission denied)" in ada.error
    assert "may not be read (Permission denied)" in c.error
    assert b.read() == B


@pytest.mark.parametrize(
    "name", ["../../../etc/cron.d/x", "/etc/passwd", "C:\\Windows\\x", "..\\..\\x", "a/../../x"]
)
def test_names_that_lead_out_lead_nowhere(tmp_path, name, monkeypatch):
    given = tmp_path / "deep/er/given.zip"
    given.parent.mkdir(parents=True)
    given.write_bytes(archive({name: A, "ada/05.ipynb": B}))
    before = sorted(tmp_path.rglob("*"))
    found = collected(given)
    assert {handed.read() for handed in found} == {A, B}
    assert all(".." not in handed.file and handed.file[0] not in "/\\" for handed in found)
    assert sorted(tmp_path.rglob("*")) == before


def member(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def test_links_and_devices_in_zips_are_left_out(tmp_path):
    link = member("ada/06.ipynb", stat.S_IFLNK | 0o777)
    device = member("ada/zero.ipynb", stat.S_IFCHR | 0o666)
    files = [(link, "/etc/passwd"), (device, ""), ("ada/05.ipynb", A), ("b/05.ipynb", B)]
    (tmp_path / "given.zip").write_bytes(archive(files))
    ada, _ = collected(tmp_path / "given.zip")
    assert ada.read() == A
    assert ada.notes == ("symbolic link left out: ada/06.ipynb",
                         "a pipe, socket or device left out: ada/zero.ipynb")  # fmt: skip


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_members_of_one_name_the_later_counts(tmp_path):
    (tmp_path / "given.zip").write_bytes(archive([("x_1_2_05.ipynb", A), ("x_1_2_05.ipynb", B)]))
    (found,) = collected(tmp_path / "given.zip")
    assert found.read() == B
    assert "handed in twice" in found.notes[0]


def test_files_larger_than_allowed_are_not_read(hand_in, monkeypatch):
    monkeypatch.setattr(collect, "MOST_BYTES", 1000)
    large = archive({"05.ipynb": bytes(1001)})
    files = {"a_1_1_05.ipynb": bytes(1001), "b_2_1_hw.zip": large, "c_3_1_05.ipynb": bytes(1000)}
    for kind in ("folder", "zip"):
        a, b, c = hand_in(files, kind=kind)
        assert "larger than" in a.error
        assert "larger than" in b.error
        assert len(c.read()) == 1000


def test_a_zip_that_lies_about_a_size_gives_no_more_than_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "MOST_BYTES", 10_000)
    data = archive({"x_1_2_05.ipynb": bytes(500_000)})
    size = (500_000).to_bytes(4, "little")
    assert data.count(size) == 2
    (tmp_path / "given.zip").write_bytes(data.replace(size, (5000).to_bytes(4, "little")))
    (found,) = collected(tmp_path / "given.zip")
    assert "damaged" in found.error


def test_memory_stays_flat(tmp_path):
    bomb = archive({"05.ipynb": bytes(100 * 2**20)})  # 100 KiB of zip
    files = {f"s{n}_{n}_1_05.ipynb": notebook(n=n, pad="x" * 200_000) for n in range(1, 101)}
    (tmp_path / "given.zip").write_bytes(archive(files | {"eve_999_1_hw.zip": bomb}))
    tracemalloc.start()
    found = collected(tmp_path / "given.zip")
    for handed in found:
        assert handed.error or len(handed.read()) > 200_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 101
    assert most < 8 * 2**20


def test_many_files_are_not_all_looked_at(hand_in, monkeypatch):
    monkeypatch.setattr(collect, "MOST_FILES", 5)
    many = {f"{n:02d}.txt": b"" for n in range(9)}
    files = {"ada/05.ipynb": A, **{f"ada/junk/{name}": b"" for name in many},
             "eve/hw.zip": archive(many)}  # fmt: skip
    for kind in ("folder", "zip"):
        ada, eve = hand_in(files, kind=kind)
        assert ada.read() == A
        for handed in (ada, eve):
            assert "more than 5 files, some of them left out" in " ".join(handed.notes)


def test_deep_folders_are_not_all_looked_at(hand_in):
    for kind in ("folder", "zip"):
        ada, eve = hand_in({"ada/05.ipynb": A, "eve/" + "d/" * 60 + "05.ipynb": B}, kind=kind)
        assert ada.read() == A
        assert "8 folders deep left out" in eve.error


def test_a_list_of_members_that_is_too_long_is_not_read(hand_in, monkeypatch, tmp_path):
    long = archive({f"{n}.txt": b"" for n in range(50)})
    monkeypatch.setattr(collect, "MOST_DIRECTORY", 2000)
    a, b = hand_in({"a/hw.zip": long, "b/05.ipynb": A})
    assert "list of members is too long" in a.error
    assert b.read() == A
    (tmp_path / "long.zip").write_bytes(long)
    with pytest.raises(ValueError, match="list of members is too long"):
        collected(tmp_path / "long.zip")


def damaged(data: bytes) -> bytes:
    at = data.index(b"PK\1\2") - 20
    return data[:at] + bytes(b ^ 0xFF for b in data[at : at + 10]) + data[at + 10 :]


def encrypted(data: bytes) -> bytes:
    """With the flag of encryption set in both headers of the first member."""
    local, central = data.index(b"PK\3\4") + 6, data.index(b"PK\1\2") + 8
    changed = bytearray(data)
    changed[local] |= 1
    changed[central] |= 1
    return bytes(changed)


def packed_oddly(data: bytes) -> bytes:
    at = data.index(b"PK\1\2") + 10
    return data[:at] + b"\x09" + data[at + 1 :]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damaged, "damaged"),
        (encrypted, "encrypted"),
        (packed_oddly, "packed in an uncommon way"),
        (lambda data: data[:-30], "no whole zip"),
        (lambda data: b"", "no whole zip"),
        (lambda data: b"PK\5\6" + bytes(18), "empty zip"),
    ],
)
def test_zips_that_cannot_be_read_are_said(hand_in, spoil, said):
    text = json.dumps([n**5 for n in range(500)]).encode()
    spoilt = spoil(archive({"05.ipynb": text}))
    files = {"a_1_1_hw.zip": spoilt, "b_2_1_05.ipynb": B,
             "c_3_2_hw.zip": spoilt, "c_3_1_05.ipynb": C}  # fmt: skip
    a, b, c = hand_in(files)
    assert said in a.error
    assert (b.read(), b.notes) == (B, ())
    assert c.read() == C
    assert said in " ".join(c.notes)
    with pytest.raises(ValueError, match=said):
        a.read()


def test_members_that_cannot_be_read_are_said(tmp_path):
    text = json.dumps([n**5 for n in range(500)]).encode()
    for spoil, said in ((damaged, "damaged"), (encrypted, "encrypted")):
        (tmp_path / "given.zip").write_bytes(spoil(archive({"a_1_1_05.ipynb": text})))
        (found,) = collected(tmp_path / "given.zip")
        assert found.error.startswith(f"the file is {said}")


def test_names_that_are_no_text_or_long(hand_in, tmp_path):
    hand_in({"ada/05.ipynb": A, "b/" + "x" * 240 + ".ipynb": B})
    os.makedirs(os.fsencode(tmp_path / "given") + b"/\xff\xfe")
    with open(os.fsencode(tmp_path / "given") + b"/\xff\xfe/05\n\xff.ipynb", "wb") as file:
        file.write(C)
    found = collected(tmp_path / "given")
    assert {handed.read() for handed in found} == {A, B, C}
    for handed in found:
        assert handed.student.isascii()
        assert f"{handed.file} {handed.name}".encode()  # no half characters
        assert "\n" not in handed.file
        assert len(handed.file) <= 2 * collect.LONGEST_SHOWN


def test_names_in_zips_that_are_no_text_or_long(tmp_path):
    long, turned = "x" * 40_000 + ".ipynb", "\u202egnp.ada_05.ipynb"
    given = tmp_path / "given.zip"
    given.write_bytes(archive({long: A, turned: B, "a/" * 30_000 + "x": C, "Zoe.ipynb": C}))
    given.write_bytes(given.read_bytes().replace(b"Zoe", b"Zo\xff"))
    found = collected(given)
    assert {A, B} <= {handed.read() for handed in found if not handed.error}
    assert all("\u202e" not in handed.file + handed.name for handed in found)


@pytest.mark.parametrize("kind", ["none", "notebook", "cut", "pipe"])
def test_a_source_that_is_none(tmp_path, kind):
    source = tmp_path / "given.zip"
    if kind == "pipe":
        os.mkfifo(source)
    elif kind != "none":
        source.write_bytes(A if kind == "notebook" else archive({"05.ipynb": A})[:-30])
    with pytest.raises(ValueError, match="give a folder of hand-ins, or the zip"):
        collected(source)


def test_nothing_handed_in(tmp_path):
    (tmp_path / "given/empty").mkdir(parents=True)
    assert collected(tmp_path / "given") == []
    (tmp_path / "given.zip").write_bytes(archive({}))
    assert collected(tmp_path / "given.zip") == []


def test_a_handed_in_file_can_be_sent_to_another_process(hand_in):
    (found,) = hand_in({"ada_1_2_hw.zip": archive({"05.ipynb": A})}, kind="zip")
    assert pickle.loads(pickle.dumps(found)).read() == A


# ------------------------------------------------------- for whatever names


PART = st.text(st.sampled_from("aA0_- .()é5/\\\u202e\ud800"), max_size=12)
TAIL = st.sampled_from(["", ".ipynb", "_1_2_05.ipynb", "_7_assignsubmission_file_/x.ipynb", ".zip"])


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.builds(str.__add__, PART, TAIL), st.sampled_from([A, B, b""]),
       max_size=6))  # fmt: skip
def test_whatever_the_names_nobody_is_lost_or_merged(tmp_path, files):
    files = {n.encode("utf-8", "replace").decode() or "x": data for n, data in files.items()}
    (tmp_path / "given.zip").write_bytes(archive(files))
    found = collected(tmp_path / "given.zip")
    keys = [handed.student for handed in found]
    assert keys == sorted(set(keys))
    assert all(key and set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-") for key in keys)
    assert [h.student for h in collected(tmp_path / "given.zip")] == keys


SPOILT = archive({"ada/05.ipynb": A, "é.ipynb": B, "deep.zip": archive({"x": C})})


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.integers(0, len(SPOILT) - 1), st.integers(0, 255), max_size=5),
       st.integers(0, len(SPOILT)))  # fmt: skip
def test_whatever_is_in_a_zip_the_others_are_there(tmp_path, changed, cut):
    data = bytearray(SPOILT)
    for at, byte in changed.items():
        data[at] = byte
    for name, content in (("eve/hw.zip", data[: cut or None]), ("bob/05.ipynb", B)):
        (tmp_path / "given" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "given" / name).write_bytes(content)
    bob, eve = collected(tmp_path / "given")
    assert (bob.student, bob.read()) == ("bob", B)
    assert eve.student == "eve"
    assert eve.error or eve.read() in (A, B)


def test_the_students_own_part_of_a_name_makes_nobody_else_of_them(tmp_path):
    name = "joneseve_13_346_x_12_assignsubmission_file_05.ipynb"
    (tmp_path / name).write_text("{}")
    (one,) = collected(tmp_path)
    assert one.student == "joneseve_13"
