"""Files that go by one name are several students' where their cells say so, else one student's."""

import pytest
from handins import hand_in_below, notebook, zipped

from homework import claims
from homework.collect import collected
from homework.roster import read

ADA, GRACE, KURT = (notebook(name) for name in ("Ada Lovelace", "Grace Hopper", "Kurt Gödel"))
LATER = notebook("Lovelace, Ada", n=2)
NOBODY = notebook("", n=3)
DIFFER = "more than one file goes by this name, and they name different students; see also "


@pytest.fixture
def hand_in(tmp_path):
    return hand_in_below(tmp_path)


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("name,email\nAda Lovelace,ada@x.org\nGrace Hopper,grace@x.org\n")
    return read(path)


def told(found):
    return {handed.student: handed.read() for handed in found}


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("names", [
    ["Problem set.ipynb", "Problem set (1).ipynb", "Problem set (2).ipynb"],
    ["all/Problem set.ipynb", "all/Problem set (1).ipynb", "all/Copy of Problem set.ipynb"],
    ["inbox/x/05.ipynb", "inbox/x/y/05.ipynb", "inbox/x/y/z/05.ipynb"],
    ["Monday/a/05.ipynb", "Monday/b/05.ipynb", "Tuesday/a/05.ipynb"],
    ["Monday/05.ipynb", "Monday/05 (1).ipynb", "Tuesday/05 (2).ipynb"],
])  # fmt: skip
def test_different_students_under_one_name(hand_in, kind, names):
    found = hand_in(dict(zip(names, (ADA, GRACE, KURT), strict=True)), kind=kind)
    assert {handed.read() for handed in found} == {ADA, GRACE, KURT}
    assert {"ada-lovelace", "grace-hopper"} <= {handed.student for handed in found}
    ada = next(handed for handed in found if handed.student == "ada-lovelace")
    assert ada.name == "Ada Lovelace"
    assert any(note.startswith(DIFFER) for note in ada.notes)


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("names", [
    ["Problem set.ipynb", "Problem set (1).ipynb"], ["ada.ipynb", "ada (1).ipynb"],
    ["x/05.ipynb", "x/y/05.ipynb"], ["submitted/ada/05/05.ipynb", "submitted/ada/05/new.ipynb"],
])  # fmt: skip
def test_one_student_twice_under_one_name(hand_in, kind, names):
    for earlier in (ADA, NOBODY):
        (found,) = hand_in(dict(zip(names, (earlier, LATER), strict=True)), kind=kind)
        assert "handed in twice; the later one counts" in found.notes[0]
        assert len(found.notes) == 1


def test_of_several_students_one_hands_in_twice(hand_in):
    files = {"Set a.ipynb": ADA, "Set a (1).ipynb": GRACE, "Set a (2).ipynb": LATER}
    found = hand_in(files)
    assert told(found) == {"lovelace-ada": LATER, "grace-hopper": GRACE}
    assert "handed in twice" in found[1].notes[0]


def test_the_roster_knows_one_in_two_spellings(hand_in, roster):
    files = {"Set a.ipynb": ADA, "Set a (1).ipynb": GRACE, "Set a (2).ipynb": notebook("ada@x.org")}
    assert told(hand_in(files, roster)) == {
        "ada_x.org": files["Set a (2).ipynb"], "grace_x.org": GRACE,
    }  # fmt: skip


def test_whom_a_files_name_means_keeps_it(hand_in, roster):
    files = {"ada.ipynb": ADA, "ada (1).ipynb": NOBODY, "ada (2).ipynb": GRACE}
    assert told(hand_in(files)) == {"ada": NOBODY, "grace-hopper": GRACE}
    assert told(hand_in(files, roster)) == {"ada_x.org": NOBODY, "grace_x.org": GRACE}


def test_a_name_that_may_mean_two_means_neither(hand_in):
    byron = notebook("Ada Byron")
    found = hand_in({"ada.ipynb": ADA, "ada (1).ipynb": byron})
    assert told(found) == {"ada-lovelace": ADA, "ada-byron": byron}


def test_what_names_nobody_stays_under_its_name(hand_in):
    found = hand_in({"Set a.ipynb": ADA, "Set a (1).ipynb": GRACE, "Set a (2).ipynb": NOBODY})
    assert told(found) == {"ada-lovelace": ADA, "grace-hopper": GRACE, "set-a": NOBODY}


@pytest.mark.parametrize("files", [
    {"x_1_10_05.ipynb": ADA, "x_1_20_05.ipynb": GRACE},
    {"Ada_1_assignsubmission_file_/05.ipynb": ADA, "Ada_1_assignsubmission_file_/b.ipynb": GRACE},
    {"submitted/e12/05/05.ipynb": ADA, "submitted/e12/05/b.ipynb": GRACE},
    {"grace/05.ipynb": ADA, "grace/b.ipynb": GRACE}, {"adalovelace/05.ipynb": ADA,
     "adalovelace/b.ipynb": GRACE},
    {"grace.zip": zipped({"05.ipynb": ADA, "b.ipynb": GRACE}), "x.txt": b""},
    {"e12/05.ipynb": ADA, "e12/b.ipynb": notebook("Ada L.")},
])  # fmt: skip
def test_anothers_file_beside_ones_own_is_no_other_student(hand_in, files):
    found = hand_in(files | {"zz/05.ipynb": KURT})
    assert len([handed for handed in found if handed.student not in ("x", "zz")]) == 1
    assert not any(DIFFER in note for handed in found for note in handed.notes)


def test_a_folder_that_the_roster_knows_is_one_students(hand_in, roster):
    (found,) = hand_in({"ada@x.org/05.ipynb": KURT, "ada@x.org/b.ipynb": GRACE}, roster)
    assert found.student == "ada_x.org"


def test_who_names_another_takes_nothing_from_them(hand_in, roster):
    files = {"grace.ipynb": notebook("Grace Hopper", n=5), "Set a.ipynb": ADA,
             "Set a (1).ipynb": GRACE}  # fmt: skip
    found = told(hand_in(files, roster))
    assert found["grace_x.org"] == files["grace.ipynb"]
    assert (found["ada_x.org"], len(found)) == (ADA, 3)


def test_a_zip_of_several_students(tmp_path):
    (tmp_path / "05.zip").write_bytes(zipped({"a/05.ipynb": ADA, "b/05.ipynb": GRACE}))
    (tmp_path / "kurt.ipynb").write_bytes(KURT)
    assert told(collected(tmp_path)) == {
        "ada-lovelace": ADA, "grace-hopper": GRACE, "kurt": KURT,
    }  # fmt: skip


def test_only_so_many_bytes_are_read_for_names(hand_in, monkeypatch):
    monkeypatch.setattr(claims, "MOST_BYTES", 10)
    found = hand_in({"Set a.ipynb": ADA, "Set a (1).ipynb": GRACE})
    assert len(found) == 1
    assert "handed in twice" in found[0].notes[0]


@pytest.mark.parametrize("data", [b"", b"[" * 10**5, b"{", zipped({"x": b""})])
def test_what_is_damaged_names_nobody(hand_in, data):
    found = hand_in({"Set a.ipynb": ADA, "Set a (1).ipynb": GRACE, "Set a (2).ipynb": data})
    assert told(found) == {"ada-lovelace": ADA, "grace-hopper": GRACE, "set-a": data}
