"""Tables are read as spreadsheets leave them, and no cell becomes a formula."""

import pytest

from homework.intake.tables import harmless, read

NAMES = ("student", "task", "points", "remark")


@pytest.fixture
def table(tmp_path):
    def make(text, encoding="utf-8", known=NAMES, **options):
        path = tmp_path / "table.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return read(path, known, **options)

    return make


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_delimiters_and_encodings(table, delimiter, encoding):
    text = "Student|Task |points|Remark\r\nada|05.2|1|schön\r\n".replace("|", delimiter)
    found = table(text, encoding, otherwise="cp1252")
    assert list(found.named()) == [
        (2, {"student": "ada", "task": "05.2", "points": "1", "remark": "schön"})
    ]
    assert found.header == ("Student", "Task ", "points", "Remark")
    assert (found.delimiter, found.mark) == (delimiter, "\ufeff" * (encoding == "utf-8-sig"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"student,task\nada,1,5\n", r"table.csv, line 2: the row 'ada' has 3 cells, the header 2"),
        ("student\nschön\n".encode("cp1252"), "save it as “CSV UTF-8”"),
        (b"\xff\xfea", "is not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_told(table, data, said):
    with pytest.raises(ValueError, match=said):
        table(data)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-cmd", "'-cmd"),
        ("\t=1", "'\t'=1"),
        ("a;=1", "a;'=1"),
        ("＝1", "'＝1"),
        ("-1.5", "-1.5"),
        ("-", "-"),
        ("Ada", "Ada"),
    ],
)
def test_formulas_are_made_harmless(text, shown):
    assert harmless(text) == shown
