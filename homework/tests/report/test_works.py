"""What a student wrote is kept with its pictures, however a program stores these."""

import base64
import json

import pytest

from homework.release.course import Course
from homework.release.edition import edition
from homework.report import works
from homework.report.gradebook import Record
from homework.report.works import Work, keep, read, work

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 30
TEXT = base64.b64encode(PNG).decode()
FREE = "05.6"


@pytest.fixture(scope="module")
def released():
    return edition(Course("05").assignment())


def handed(released, answer: str, attachments=None, **code: str) -> bytes:
    """The edition with an answer to the free response and to other tasks ("05_1")."""
    notebook = json.loads(json.dumps(released))
    for cell in notebook["cells"]:
        about = cell["metadata"]["homework"]
        if about["kind"] == "stub" and about["task"] == FREE:
            cell["source"] = answer
            if attachments is not None:
                cell["attachments"] = attachments
        elif about["kind"] == "stub" and (task := about["task"].replace(".", "_")) in code:
            cell["source"] = code[task]
    return json.dumps(notebook).encode()


@pytest.mark.parametrize(
    ("answer", "attachments"),
    [
        ("See ![p](attachment:a.png).", {"a.png": {"image/png": TEXT}}),
        ("See ![p](attachment:a%20b.png).", {"a b.png": {"image/png": [TEXT[:9], TEXT[9:]]}}),
        ('See <img src="attachment:a.png" width="40">.', {"a.png": {"image/png": TEXT + "\n"}}),
        (f"See ![p](data:image/png;base64,{TEXT}).", None),
        (f"See <img width=40 src='data:image/png;base64,{TEXT}'/>.", None),
    ],
)
def test_a_picture_is_found_wherever_it_is_stored(released, answer, attachments):
    found = read(handed(released, answer, attachments), released)
    [(name, data)] = found.pictures.items()
    assert data == f"data:image/png;base64,{TEXT}"
    assert found.answers[FREE][0] in (
        f"See ![p](attachment:{name}).",
        f"See ![picture](attachment:{name}).",
    )


def test_two_cells_may_have_pictures_of_one_name(released):
    raw = json.loads(handed(released, "![](attachment:a.png)", {"a.png": {"image/png": TEXT}}))
    other = base64.b64encode(PNG + b"1").decode()
    at = next(at for at, cell in enumerate(raw["cells"]) if "attachments" in cell)
    raw["cells"].insert(
        at + 1,
        {
            "cell_type": "markdown",
            "metadata": {},
            "id": "mine",
            "source": "![](attachment:a.png)",
            "attachments": {"a.png": {"image/png": other}},
        },
    )
    found = read(json.dumps(raw).encode(), released)
    assert len(found.pictures) == 2
    assert all(name in found.answers[FREE][0] for name in found.pictures)


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("image/svg+xml", TEXT, "of-another-kind"),
        ("text/html", TEXT, "of-another-kind"),
        ("image/png", "a b=c", "damaged"),
        ("image/png", None, "damaged"),
    ],
)
def test_what_is_no_picture_is_told(released, kind, data, said):
    found = read(handed(released, "![p](attachment:a)", {"a": {kind: data}}), released)
    assert found.pictures == {}
    assert found.answers[FREE] == (f"![p]({said})",)


def test_too_many_pictures_are_told(released, monkeypatch):
    monkeypatch.setattr(works, "MOST_PICTURES", 10)
    found = read(handed(released, "![p](attachment:a)", {"a": {"image/png": TEXT}}), released)
    assert (found.pictures, found.answers[FREE]) == ({}, ("![p](0.0-MiB)",))


def test_it_is_kept_for_the_file_that_was_graded(released, tmp_path):
    raw = handed(released, "Because.", {"a": []}, **{"05_1": "def my_weights(q, k):\n    return 1"})
    record = Record("ada", "Ada", "ada.ipynb", "key")
    assert keep(tmp_path, record, raw, released) == record
    kept = work(tmp_path, record)
    assert kept.answers[FREE] == ("Because.",)
    assert kept.answers["05.1"] == ("def my_weights(q, k):\n    return 1",)
    assert work(tmp_path, Record("ada", "Ada", "ada.ipynb", "other")) == Work()
    assert work(tmp_path, Record("bob", "Bob", "bob.ipynb", "key")) == Work()
    keep(tmp_path, record, b"not json", released)
    assert work(tmp_path, record) == Work()
    keep(tmp_path, record, raw, released)
    keep(tmp_path, Record("ada", "Ada", "ada.pdf", "key", error="a PDF"), raw, released)
    assert work(tmp_path, record) == Work()


def test_another_picture_is_another_answer(released, tmp_path):
    """Or its mark would stand: the text is the same."""
    answer, responses = "![p](attachment:a.png)", []
    for data in (PNG, PNG + b"1"):
        picture = {"a.png": {"image/png": base64.b64encode(data).decode()}}
        raw = handed(released, answer, picture)
        record = Record("ada", "Ada", "ada.ipynb", "key", responses={FREE: answer})
        responses.append(keep(tmp_path, record, raw, released).responses[FREE])
    assert responses[0] != responses[1]
    assert [text.partition(":")[0] for text in responses] == ["![p](attachment"] * 2
