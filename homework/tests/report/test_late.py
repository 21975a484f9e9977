"""Deadlines: what a table takes off, from whom, and nothing where no time is known."""

import pytest

from homework.report.gradebook import Record
from homework.report.late import UNKNOWN, Late, lateness

TABLE = (
    "assignment,student,deadline,penalty,cap\n04,,2027-01-01 00:00,100,100\n"
    "5,ada,2027-10-12 23:59,,\n05,,2027-10-08 23:59,10,25\n05,eve,,0,\n"
)


def record(student="bob", time="", late=False):
    return Record(student, "", "", "", time=time, late=late)


@pytest.fixture
def late(tmp_path):
    def make(*records, table=TABLE):
        (tmp_path / "deadlines.csv").write_text(table)
        return lateness(tmp_path, "05", 20.0, records)

    return make


@pytest.mark.parametrize(
    ("time", "days", "points"),
    [
        ("2027-10-08T23:59", 0, 0),
        ("2027-10-01T10:00", 0, 0),
        ("2027-10-09T00:00", 1, 2),
        ("2027-10-09T23:59", 1, 2),
        ("2027-10-10T00:00", 2, 4),
        ("2027-12-24T00:00", 77, 5),
    ],
)
def test_each_day_begun_costs_up_to_the_cap(late, time, days, points):
    found = late(record(time=time))["bob"]
    assert (found.days, found.points) == (days, points)
    assert bool(found.message) == (days > 0)


def test_times_of_other_zones_are_the_same_moment(late):
    table = "assignment,deadline,penalty\n05,2027-10-08 23:59+02:00,10\n"
    assert late(record(time="2027-10-08T21:59:00+00:00"), table=table)["bob"] == Late()
    found = late(record(time="2027-10-08T22:00:00+00:00"), table=table)["bob"]
    assert (found.days, found.points) == (1, 2)
    assert "1 day late" in found.message
    assert "10 % of 20 points taken off" in found.message


def test_a_day_without_an_hour_is_all_of_it(late):
    table = "assignment;deadline;penalty;cap\n05;2027-10-08;12,5 %;\n"
    assert late(record(time="2027-10-08T23:59"), table=table)["bob"].points == 0
    assert late(record(time="2027-10-09T00:01"), table=table)["bob"].points == 2.5


def test_a_students_own_deadline_and_penalty(late):
    time = "2027-10-13T12:00"
    found = late(*(record(name, time) for name in ("ada", "bob", "eve")))
    assert [found[name].points for name in ("ada", "bob", "eve")] == [2, 5, 0]


def test_where_no_time_is_known_nothing_is_taken_off_and_it_is_told(late):
    assert late(record())["bob"] == Late(0.0, None)
    assert late(record(late=True))["bob"] == Late(0.0, None, UNKNOWN)


def test_without_a_deadline_nothing_is_said(late, tmp_path):
    assert late(record(), table="assignment,deadline,penalty\n06,2027-10-08,1\n") == {}
    (tmp_path / "deadlines.csv").unlink()
    assert lateness(tmp_path, "05", 20.0, [record()]) == {}


def test_a_line_of_a_student_who_is_not_there_is_told(late, capsys):
    late(record("eve"))
    assert "deadlines.csv: ada has handed in nothing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("05,,soon,10,", r"line 2: deadline must be such as 2027-10-08 23:59, got \'soon\'"),
        ("05,,,10,", "line 2: deadline must be"),
        ("05,,2027-10-08,,", "penalty must be per cent"),
        ("05,,2027-10-08,-1,", "penalty must be"),
        ("05,,2027-10-08,nan,", "penalty must be"),
        ("05,,2027-10-08,10,101", "cap must be per cent, from 0 to 100, got '101'"),
        ("05,,2027-10-08,1,\n05,,2027-10-09,1,", "line 3: 05 has two deadlines"),
        ("05,a,2027-10-08,1,\n05,a,2027-10-09,1,", "line 3: a has two deadlines"),
    ],
)
def test_a_line_that_cannot_be_read_is_told(late, row, said):
    with pytest.raises(ValueError, match=said):
        late(record(), table=f"assignment,student,deadline,penalty,cap\n{row}\n")


def test_a_table_without_its_columns_is_told(late):
    with pytest.raises(ValueError, match="has no column deadline, penalty; its first line is"):
        late(record(), table="assignment,due\n05,2027-10-08\n")
