"""One file a student, whatever the platform called it and whatever a student put there."""

import os

import pytest
from handins import hand_in_below, notebook, zipped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homework.intake import collect
from homework.intake.collect import collected
from homework.intake.roster import digest, read


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
        ({"ada/05/05.ipynb": A, "ada/05/timestamp.txt": b"2025", "grace/05/05.ipynb": B},
         ["ada", "grace"], [A, B]),
        ({"ada/05/05.ipynb": A}, ["ada"], [A]),
        ({"Ada Lovelace/05.ipynb": A, "grace/work/my.ipynb": B},
         ["ada-lovelace", "grace"], [A, B]),
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
    "lovelaceada_999_1_05.ipynb", "hoppergrace_12345_1_05.ipynb", "con/05.ipynb"])  # fmt: skip
def test_whom_the_roster_does_not_know_has_a_key_of_their_own(hand_in, roster, name):
    (found,) = hand_in({name: A}, roster)
    assert found.student not in {student.key for student in roster.students}
    assert collect.UNKNOWN in found.notes


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
    files = {"05.ipynb": notebook(""), "05 (1).ipynb": notebook("")}  # of two who did nothing
    assert len(hand_in(files, kind="zip")) == 2


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
    found = hand_in({"ada.zip": zipped({"hoppergrace_12346_9_05.ipynb": A, "b_1_2_x.ipynb": B}),
                     "grace.zip": zipped({"05.ipynb": C})})  # fmt: skip
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


@pytest.mark.parametrize("files", [
    {"x_1_10_05.ipynb": A, "x_1_20_05-1.ipynb": B}, {"x_1_10_05.ipynb": A, "x_1_20_a.pdf": B},
    {"Ada.ipynb": A, "ada.ipynb": B},
])  # fmt: skip
def test_notes_on_several_files_begin_alike(hand_in, files):
    noted = [note for handed in hand_in(files) for note in handed.notes]
    assert any(note.startswith(collect.SEVERAL) for note in noted)


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
    data = zipped({"Zo##_05.ipynb": A}).replace(b"Zo##", "Zoë".encode())
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
    deep = zipped({"05.ipynb": B})
    inner = zipped({"work/05.ipynb": A, "work/deep.zip": deep, "__MACOSX/work/._05.ipynb": b"x"})
    (found,) = hand_in({"x_1_10_hw.zip": inner}, kind=kind)
    assert (found.student, found.file) == ("x_1", "x_1_10_hw.zip/work/05.ipynb")
    assert found.read() == A
    assert found.notes == ("a zip within a zip left out: x_1_10_hw.zip/work/deep.zip",)


def test_a_zip_handed_in_earlier_gives_way(hand_in, tmp_path):
    hand_in({"x/hw.zip": zipped({"05.ipynb": A}), "x/05.ipynb": B, "y/05.ipynb": C})
    assert collected(tmp_path / "given")[0].read() == B


def test_what_programs_leave_behind_is_skipped(hand_in):
    found = hand_in({"ada/05.ipynb": A, "ada/.ipynb_checkpoints/05-checkpoint.ipynb": B,
                     "ada/.hidden.ipynb": B, "__MACOSX/ada/05.ipynb": B, ".DS_Store": b"",
                     "grades.csv": b"Student,ID\n", "b/05.ipynb": B})  # fmt: skip
    assert [(handed.student, handed.notes) for handed in found] == [("ada", ()), ("b", ())]


def test_of_several_assignments_one_counts(hand_in, tmp_path):
    hand_in({"ada/05/05.ipynb": A, "ada/06/06.ipynb": B, "bob/hw-06/06.ipynb": C,
             "eve/code/x.ipynb": C})  # fmt: skip
    found = collected(tmp_path / "given", assignment="05")
    assert [(handed.student, handed.read()) for handed in found] == [("ada", A), ("eve", C)]
    assert len(collected(tmp_path / "given")) == 3


@pytest.mark.parametrize("names", [
    ["submissions.zip"], ["submissions.zip", "submissions-2.zip"], ["hw05/ada.ipynb"],
    ["class/ada/05.ipynb", "class/eve/05.ipynb"], ["submitted/ada/05/05.ipynb", "release/x.ipynb"],
])  # fmt: skip
def test_what_holds_students_a_folder_deeper_is_refused(hand_in, names):
    files = {n: zipped({"x_1_1_05.ipynb": A}) if n.endswith(".zip") else A for n in names}
    for kind in ("folder", "zip"):
        with pytest.raises(ValueError, match=r"holds no students but .*: give that, or what is in"):
            hand_in(files | {"roster.csv": b"name\n"}, kind=kind)


def test_a_zip_for_each_student(hand_in):
    found = hand_in({"ada.zip": zipped({"05.ipynb": A}), "bob.zip": zipped({"05.ipynb": B})})
    assert [(handed.student, handed.read()) for handed in found] == [("ada", A), ("bob", B)]


# ------------------------------------------------------- several students under one name


ADA, GRACE, KURT = (notebook(name) for name in ("Ada Lovelace", "Grace Hopper", "Kurt Gödel"))
LATER, NOBODY = notebook("Lovelace, Ada", n=2), notebook("", n=3)


def got(found):
    return {handed.student: handed.read() for handed in found}


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("names", [
    ["Problem set.ipynb", "Problem set (1).ipynb", "Problem set (2).ipynb"],
    ["My answers.ipynb", "My answers (1).ipynb", "Copy of My answers.ipynb"],
])  # fmt: skip
def test_different_students_under_one_name(hand_in, kind, names):
    found = hand_in(dict(zip(names, (ADA, GRACE, KURT), strict=True)), kind=kind)
    assert {handed.read() for handed in found} == {ADA, GRACE, KURT}
    assert {"ada-lovelace", "grace-hopper"} <= {handed.student for handed in found}
    assert [handed.name for handed in found if handed.student == "ada-lovelace"] == ["Ada Lovelace"]


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("names", [
    ["ada.ipynb", "ada (1).ipynb"], ["x/05.ipynb", "x/y/05.ipynb"],
    ["ada/05/05.ipynb", "ada/05/new.ipynb"],
])  # fmt: skip
def test_one_student_twice_under_one_name(hand_in, kind, names):
    for earlier in (ADA, NOBODY):
        files = dict(zip(names, (earlier, LATER), strict=True)) | {"zz/05.ipynb": KURT}
        found = [h for h in hand_in(files, kind=kind) if h.student != "zz"]
        assert "handed in twice; the later one counts" in found[0].notes[0]
        assert (len(found), len(found[0].notes)) == (1, 1)


def test_of_several_students_one_hands_in_twice_and_one_names_nobody(hand_in, roster):
    files = {"Set a.ipynb": ADA, "Set a (1).ipynb": GRACE, "Set a (2).ipynb": LATER}
    found = hand_in(files)
    assert got(found) == {"ada-lovelace": LATER, "grace-hopper": GRACE} or \
        got(found) == {"lovelace-ada": LATER, "grace-hopper": GRACE}  # fmt: skip
    assert got(hand_in(files, roster)) == {"ada": LATER, "grace": GRACE}
    for data in (NOBODY, b"", b"[" * 10**5, b"{", zipped({"x": b""})):
        files["Set a (2).ipynb"] = data
        assert got(hand_in(files)) == {"ada-lovelace": ADA, "grace-hopper": GRACE, "set-a": data}


def test_who_is_named_nowhere_keeps_the_files_name(hand_in, roster):
    files = {"ada.ipynb": ADA, "ada (1).ipynb": NOBODY, "ada (2).ipynb": GRACE}
    assert got(hand_in(files)) == {"ada-lovelace": ADA, "ada": NOBODY, "grace-hopper": GRACE}
    found = hand_in(files, roster)
    assert sorted(got(found)) == ["ada", "ada-lovelace-" + digest("ada.ipynb"), "grace"]
    assert all("more than one file may be of ada" in " ".join(h.notes) for h in found[:2])


@pytest.mark.parametrize("files", [
    {"x_1_10_05.ipynb": ADA, "x_1_20_05.ipynb": GRACE},
    {"Ada_1_assignsubmission_file_/05.ipynb": ADA, "Ada_1_assignsubmission_file_/b.ipynb": GRACE},
    {"e12/05/05.ipynb": ADA, "e12/05/b.ipynb": GRACE},
    {"grace/05.ipynb": ADA, "grace/b.ipynb": GRACE},
    {"grace.zip": zipped({"05.ipynb": ADA, "b.ipynb": GRACE}), "x.txt": b""},
])  # fmt: skip
def test_anothers_file_beside_ones_own_is_no_other_student(hand_in, files):
    found = hand_in(files | {"zz/05.ipynb": KURT})
    assert len([handed for handed in found if handed.student not in ("x", "zz")]) == 1
    assert not any("different students" in note for handed in found for note in handed.notes)


def test_who_names_another_takes_nothing_from_them(hand_in, roster):
    files = {"grace.ipynb": notebook("Grace Hopper", n=5), "Set a.ipynb": ADA,
             "Set a (1).ipynb": GRACE}  # fmt: skip
    found = got(hand_in(files, roster))
    assert found["grace"] == files["grace.ipynb"]
    assert (found["ada"], len(found)) == (ADA, 3)


# ------------------------------------------------------- for whatever names


PART = st.text(st.sampled_from("aA0_- .()é5/\\\u202e\ud800"), max_size=12)
TAIL = st.sampled_from(["", ".ipynb", "_1_2_05.ipynb", "_7_assignsubmission_file_/x.ipynb", ".zip"])


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.builds(str.__add__, PART, TAIL), st.sampled_from([A, B, b""]),
       max_size=6))  # fmt: skip
def test_whatever_the_names_nobody_is_lost_or_merged(tmp_path, files):
    files = {n.encode("utf-8", "replace").decode() or "x": data for n, data in files.items()}
    (tmp_path / "given.zip").write_bytes(zipped(files | {"bob/05.ipynb": C}))
    found = collected(tmp_path / "given.zip")
    keys = [handed.student for handed in found]
    assert keys == sorted(set(keys))
    assert all(key and set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-") for key in keys)
    assert [h.student for h in collected(tmp_path / "given.zip")] == keys


SPOILT = zipped({"ada/05.ipynb": A, "é.ipynb": B, "deep.zip": zipped({"x": C})})


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
