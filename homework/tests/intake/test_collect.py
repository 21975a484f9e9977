"""One file a student, whatever the platform called it and whatever a student put there."""

import os
from contextlib import suppress

import pytest
from handins import hand_in_below, notebook, zipped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homework.intake import collect
from homework.intake.collect import collected
from homework.intake.repair import may_be_of_set
from homework.intake.roster import read


@pytest.fixture
def hand_in(tmp_path):
    return hand_in_below(tmp_path)


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

# ------------------------------------------------------- the names that platforms give


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize(
    ("files", "keys", "bytes_of"),
    [
        (
            {"lovelaceada_12345_67890_05.ipynb": A, "hoppergrace_12346_67891_05.ipynb": B},
            ["hoppergrace_12346", "lovelaceada_12345"],
            [B, A],
        ),
        (
            {"lovelaceada_LATE_12345_67890_05.ipynb": A, "x_late_7_8_05.ipynb": B},
            ["lovelaceada_12345", "x_7"],
            [A, B],
        ),
        (
            {"lovelaceada_12345_67891_05-1.ipynb": B, "lovelaceada_12345_67890_05.ipynb": A},
            ["lovelaceada_12345"],
            [B],
        ),
        (
            {"lovelaceada_12345_9_05-1.ipynb": B, "lovelaceada_12345_10_05.ipynb": A},
            ["lovelaceada_12345"],
            [A],
        ),
        (
            {"anon_a1B2c_678_05_x.ipynb": A, "LATE_anon_zzzzz_679_05.ipynb": B},
            ["anon_a1b2c", "anon_zzzzz"],
            [A, B],
        ),
        (
            {
                "Ada Lovelace_1234_assignsubmission_file_/05.ipynb": A,
                "Grace Hopper_1235_assignsubmission_file_/sub/05.ipynb": B,
            },
            ["ada-lovelace_1234", "grace-hopper_1235"],
            [A, B],
        ),
        ({"Ada Lovelace_1234_assignsubmission_file_05.ipynb": A}, ["ada-lovelace_1234"], [A]),
        (
            {
                "Ada_1_assignsubmission_onlinetext_/onlinetext.html": B,
                "Ada_1_assignsubmission_file_/05.ipynb": A,
            },
            ["ada_1"],
            [A],
        ),
        (
            {"ada/05/05.ipynb": A, "ada/05/timestamp.txt": b"2025", "grace/05/05.ipynb": B},
            ["ada", "grace"],
            [A, B],
        ),
        ({"_123_456_05.ipynb": A}, ["123"], [A]),  # Canvas has nothing of a name of emoji
        ({"Ada Lovelace/05.ipynb": A, "grace/mine/my.ipynb": B}, ["ada-lovelace", "grace"], [A, B]),
    ],
)
def test_names_are_known(hand_in, files, keys, bytes_of, kind):
    found = hand_in(files, kind=kind)
    assert [handed.student for handed in found] == keys
    assert [handed.read() for handed in found] == bytes_of
    assert all(not handed.error for handed in found)


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("name", ["ada.ipynb", "Ada Lovelace - 05.ipynb", "class.zip", "notes.pdf"])
def test_a_file_of_which_nothing_says_whose_it_is_is_named(hand_in, name, kind):
    files = {"bob/05.ipynb": A, "x_1_2_05.ipynb": B, "roster.csv": b"", "export.yml": b"", name: C}
    said = f"nothing says whose {name} is; give the zip .*, or a folder with a folder for each"
    with pytest.raises(ValueError, match=said):
        hand_in(files, kind=kind)


# ------------------------------------------------------- whose it is, by the roster


@pytest.mark.parametrize(
    "name",
    [
        "lovelaceada_12345_1_05.ipynb",
        "lovelaceadak_LATE_12345_1_05.ipynb",
        "lovelace, ada/05.ipynb",
        "LOVELACE,  ÁDA/05.ipynb",
        "ada/05/05.ipynb",
        "12345/05.ipynb",
    ],
)
def test_the_rosters_key_counts(hand_in, roster, name):
    (found,) = hand_in({name: A}, roster)
    assert (found.student, found.name, found.notes) == ("ada", "Lovelace, Ada", ())


@pytest.mark.parametrize(
    "name",
    [
        "weili_999_1_05.ipynb",
        "eve_12345_1_9001_05.ipynb",  # who chose to be called Eve_12345
        "Li Wei/05.ipynb",
        "Ada Lovelace_999_assignsubmission_file_05.ipynb",
        "con/05.ipynb",
    ],
)
def test_whom_the_roster_does_not_know_has_a_key_of_their_own(hand_in, roster, name):
    (found,) = hand_in({name: A}, roster)
    assert found.student not in {student.key for student in roster.students}
    assert collect.UNKNOWN in found.notes


@pytest.mark.parametrize("late", ["", "LATE_"])
def test_a_name_with_a_number_in_it_is_told_by_the_roster(hand_in, tmp_path, late):
    sheet = tmp_path / "roster.csv"
    sheet.write_text("Student,ID,SIS Login ID,Section\nAnn,205,ann,x\nEve_205,206,eve,x\n")
    files = {"ann_205_9_05.ipynb": A, f"eve_205_{late}206_8_05.ipynb": B}
    found = hand_in(files, read(sheet))
    assert [(one.student, one.late, one.read()) for one in found] == [
        ("ann", False, A),
        ("eve", bool(late), B),
    ]


def test_blind_marking_from_zip_to_worksheet(hand_in, tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("Identifier,Status,Grade\nParticipant 7,x,\nParticipant 8,x - 3 hours late,\n")
    students = read(sheet)
    (found,) = hand_in({"Participant_8_assignsubmission_file_/05.ipynb": A}, students, "zip")
    assert (found.name, found.late) == ("", True)
    assert students.write(sheet, "05", {found.student: 3}, 4) == ()
    assert [row[2] for row in read(sheet).table.rows] == ["", "3"]


@pytest.mark.parametrize("names", [("Ada", "ada"), ("ada", "Lovelace, Ada")])
def test_two_folders_of_one_student_are_named(hand_in, roster, names):
    with pytest.raises(ValueError, match=r"/05\.ipynb both seem to be of ada: give each student"):
        hand_in({f"{name}/05.ipynb": A for name in names}, roster)


def test_a_strangers_folder_does_not_get_a_key_of_the_roster(hand_in, tmp_path):
    sheet = tmp_path / "roster.csv"
    sheet.write_text("Student,ID,SIS Login ID,Section\nA,7,8,x\nB,8,9,x\n")
    (found,) = hand_in({"8/05.ipynb": A}, read(sheet))  # of one the number, of another the login
    assert (found.student, found.notes) == ("8-2", (collect.UNKNOWN,))


def test_two_of_one_name_on_the_platform_stay_two(hand_in):
    found = hand_in({f"Li Wei_{n}_assignsubmission_file_/05.ipynb": A for n in (1, 2)})
    assert [handed.student for handed in found] == ["li-wei_1", "li-wei_2"]


def test_a_file_in_a_students_folder_speaks_for_no_other(hand_in):
    found = hand_in({"ada/gracehopper_12346_9_05.ipynb": A, "grace/05.ipynb": B})
    assert [(handed.student, handed.read()) for handed in found] == [("ada", A), ("grace", B)]


# ------------------------------------------------------- which of several counts


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_the_later_of_two_counts_and_is_noted(hand_in, kind):
    files = {"x_1_20_05-1.ipynb": B, "x_1_10_05.ipynb": A}
    (found,) = hand_in(files, kind=kind)
    assert found.read() == B
    assert found.notes == ("2 notebooks; x_1_20_05-1.ipynb counts, not x_1_10_05.ipynb",)


def test_time_then_number_tell_which_is_later(hand_in, tmp_path, roster):
    files = {"ada/05 (2).ipynb": A, "ada/05.ipynb": B, "ada/05 (1).ipynb": C}
    (found,) = hand_in(files, roster)
    assert found.read() == C  # written last
    for path in (tmp_path / "given/ada").iterdir():
        os.utime(path, (0, 0))
    (found,) = collected(tmp_path / "given", roster)
    assert found.read() == A
    assert "3 notebooks" in found.notes[0]


def test_a_notebook_counts_before_anything_else(hand_in):
    (found,) = hand_in({"x_1_10_05.ipynb": A, "x_1_20_report.pdf": b"%PDF"})
    assert found.read() == A
    assert found.notes == ()


def test_latest_notebook_of_this_problem_set_counts(hand_in, tmp_path):
    mine, other = notebook(x="stub-05-1"), notebook(x="check-04-2 my_weights")
    hand_in(
        {
            "ada/04.ipynb": other,
            "bob/05.ipynb": mine,
            "bob/06.ipynb": A,
            "bob/07.ipynb": other,
            "cleo/a.ipynb": notebook(x="my_weights"),
            "cleo/b.ipynb": B,
            "dan/05.ipynb": mine,
            "dan/new.ipynb": notebook(x="exercises.check('05.1')"),
            "eve/a.ipynb": A,
            "eve/b.ipynb": B,
        }
    )
    found = collected(
        tmp_path / "given", is_wanted=lambda raw: may_be_of_set(raw, "05", ["my_weights", ""])
    )
    assert [handed.file for handed in found] == [
        "ada/04.ipynb",
        "bob/05.ipynb",
        "cleo/a.ipynb",
        "dan/new.ipynb",
        "eve/b.ipynb",
    ]
    assert found[1].notes == ("3 notebooks; bob/05.ipynb counts, not bob/07.ipynb, bob/06.ipynb",)


@pytest.mark.parametrize(
    "files",
    [
        ["eve_101_9001_54321_99999_05.ipynb", "adalovelace_101_90001_05.ipynb"],
        [
            "Eve_77_assignsubmission_file__78_assignsubmission_file_/05.ipynb",
            "Ada Lovelace_77_assignsubmission_file_/05.ipynb",
        ],
    ],
)
@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_two_names_with_one_number_stop_the_command(hand_in, files, kind):
    with pytest.raises(ValueError, match="bear one student's number and two names"):
        hand_in(dict.fromkeys(files, A), kind=kind)


def test_who_handed_in_an_empty_folder_is_there(hand_in, tmp_path):
    (tmp_path / "given/ada/05").mkdir(parents=True)
    ada, bob, eve = hand_in({"bob/.05.ipynb.icloud": b"bplist00", "eve/05.ipynb": A})
    for handed in (ada, bob):
        with pytest.raises(ValueError, match="an empty folder"):
            handed.read()
    assert eve.read() == A


def test_a_text_typed_on_the_platform_counts_last(hand_in):
    (found,) = hand_in(
        {
            "Z_3_assignsubmission_file_/report.pdf": b"%PDF",
            "Z_3_assignsubmission_onlinetext_/onlinetext.html": b"",
        }
    )
    assert found.read() == b"%PDF"


def test_zip_names_in_undeclared_utf8(tmp_path):
    data = zipped({"Zo##/05.ipynb": A}).replace(b"Zo##", "Zoë".encode())
    (tmp_path / "given.zip").write_bytes(data)
    (found,) = collected(tmp_path / "given.zip")
    assert (found.student, found.name) == ("zoe", "Zoë")


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_a_zip_in_a_hand_in_is_looked_into_once(hand_in, kind):
    deep = zipped({"05.ipynb": B})
    inner = zipped({"mine/05.ipynb": A, "mine/deep.zip": deep, "__MACOSX/mine/._05.ipynb": b"x"})
    (found,) = hand_in({"x_1_10_hw.zip": inner}, kind=kind)
    assert (found.student, found.file) == ("x_1", "x_1_10_hw.zip/mine/05.ipynb")
    assert found.read() == A
    assert found.notes == (
        "x_1_10_hw.zip/mine/deep.zip does not count: a zip within a zip left out",
    )


def test_what_programs_leave_behind_is_skipped(hand_in):
    found = hand_in(
        {
            "ada/05.ipynb": A,
            "ada/.ipynb_checkpoints/05-checkpoint.ipynb": B,
            "ada/.hidden.ipynb": B,
            "__MACOSX/ada/05.ipynb": B,
            ".DS_Store": b"",
            "grades.csv": b"Student,ID\n",
            "b/05.ipynb": B,
        }
    )
    assert [(handed.student, handed.notes) for handed in found] == [("ada", ()), ("b", ())]


def test_of_several_assignments_one_counts(hand_in, tmp_path):
    stamp = b"2027-10-08 21:59:00 UTC"
    hand_in(
        {
            "ada/05/05.ipynb": A,
            "ada/06/06.ipynb": B,
            "bob/06/06.ipynb": C,
            "bob/06/timestamp.txt": stamp,
            "eve/code/x.ipynb": C,
        }
    )
    found = collected(tmp_path / "given", assignment="05")
    assert [(handed.student, handed.read()) for handed in found] == [("ada", A), ("eve", C)]
    assert len(collected(tmp_path / "given")) == 3


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize(
    "names",
    [
        ["x/05.ipynb", "x/y/06.ipynb"],
        ["x/05/05.ipynb", "x/05/b.ipynb"],
        ["x_1_2_05.ipynb", "x_1_3_05.ipynb"],
        ["Ada_1_assignsubmission_file_05.ipynb", "Ada_1_assignsubmission_file_b.ipynb"],
        ["Ada_1_assignsubmission_file_/05.ipynb", "Ada_1_assignsubmission_file_/b.ipynb"],
    ],
)
def test_several_files_of_one_student_are_one_hand_in(hand_in, names, kind):
    found = hand_in(dict(zip(names, (A, B), strict=True)) | {"zz/05.ipynb": C}, kind=kind)
    assert len(found) == 2
    assert "2 notebooks; " in found[0].notes[0]


# ------------------------------------------------------- when it was handed in


def test_order_by_moodles_download(hand_in):
    (one,) = hand_in({"Bo Li_7_assignsubmission_file_/05.ipynb": B}, kind="zip")
    assert one.order[0] == "download"


# ------------------------------------------------------- for whatever names


PART = st.text(st.sampled_from("aA0_- .()é5/\\\u202e\ud800"), max_size=12)
TAIL = st.sampled_from(["/x", "/.ipynb", "_1_2_05.ipynb", "_7_assignsubmission_file_/x.ipynb"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.builds(str.__add__, PART, TAIL), st.sampled_from([A, B, b""]), max_size=6)
)
def test_whatever_the_names_nobody_is_lost_or_merged(tmp_path, files):
    files = {n.encode("utf-8", "replace").decode(): data for n, data in files.items()}
    (tmp_path / "given.zip").write_bytes(zipped(files | {"bob/05.ipynb": C}))
    keys = ["bob"]
    with suppress(ValueError):
        keys = [handed.student for handed in collected(tmp_path / "given.zip")]
    assert "bob" in keys
    assert keys == sorted(set(keys))
    assert all(key and set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-") for key in keys)


def test_students_own_file_name_cannot_impersonate(tmp_path):
    name = "joneseve_13_346_x_12_assignsubmission_file_05.ipynb"
    (tmp_path / name).write_text("{}")
    (one,) = collected(tmp_path)
    assert one.student == "joneseve_13"
