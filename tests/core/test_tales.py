"""What the tales promise: enough of them, real prose, and sentences whose pronoun needs sense."""

import re
import zlib
from collections import Counter

import pytest

from helpers import corpus

NAMES = ("Anna", "Tom", "Ben", "Mrs Plum", "Fern", "Bramble", "Old Grey", "Pip", "Hoot", "Sooty")
PLACES = ("Alderbrook", "mill", "Long Field", "Saltby", "stream", "wood", "hill", "market")


@pytest.fixture(scope="module")
def text() -> str:
    return corpus.load("tales")


@pytest.fixture(scope="module")
def tales(text) -> list[list[str]]:
    """Each tale as its title and its paragraphs."""
    return [tale.strip("\n").split("\n\n") for tale in text.split("\n\n\n")]


def test_there_is_enough_of_it(text, tales):
    assert len(text.encode()) >= 240_000
    assert len(tales) >= 300


def test_it_is_prose_and_not_a_filled_template(text, tales):
    raw = text.encode()
    assert len(zlib.compress(raw, 9)) / len(raw) >= 0.32
    paragraphs = Counter(paragraph for tale in tales for paragraph in tale[1:])
    assert paragraphs.most_common(1)[0][1] == 1
    sentences = Counter(s for p in paragraphs for s in re.split(r"(?<=[.!?]) ", p) if len(s) > 25)
    assert sentences.most_common(1)[0][1] == 1


def test_titles_are_unique_and_every_tale_has_paragraphs(tales):
    titles = [tale[0] for tale in tales]
    assert len(set(titles)) == len(titles)
    assert all(len(tale) >= 3 and all(tale) for tale in tales)
    assert not any(title.endswith(".") for title in titles)


def test_the_characters_are_few(text):
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz \n.,!?'\":;-")
    assert not re.search(r" \n|  ", text)


@pytest.mark.parametrize("word", NAMES + PLACES)
def test_characters_and_places_recur(tales, word):
    assert sum(any(word in part for part in tale) for tale in tales) >= 10


def test_many_pronouns_must_be_resolved_by_sense(text):
    reasons = re.findall(r"because (?:it|he|she|they) (?:was|were|is|are|had|could|did)\b", text)
    assert len(reasons) >= 100


def test_the_book_s_sentence_and_its_twin_are_there(text):
    assert text.split("\n\n")[1].startswith(
        "The fox did not cross the stream because it was too wide."
    )
    assert text.count("The fox did not cross the stream because it was too tired.") == 1
