"""The page of topics: every section, correction and wrong guess is on it, and leads there."""

import html
import json
import re
import sys

import chapters
import pytest
import yaml
from chapters import NOTEBOOKS, ROOT

sys.path.append(str(ROOT / "book" / "_ext"))
import book_topics

from helpers.corrections import CORRECTIONS

DATA = yaml.safe_load((ROOT / "book" / "topics.yml").read_text("utf-8"))
CHAPTERS = {int(path.stem[:2]): chapters.chapter(path) for path in NOTEBOOKS}


def headings(number: int) -> list[str]:
    found = re.findall(r"^## (.*)$", CHAPTERS[number].prose, re.MULTILINE)
    return [heading.strip() for heading in found if heading.strip() not in book_topics.NO_TOPICS]


def complaints(data: dict) -> list[str]:
    """What is missing from the data, or stands in it wrongly."""
    found = []
    for number in CHAPTERS:
        listed = list(data.get(number, {}))
        found += [f"{number}: no such section: {h}" for h in listed if h not in headings(number)]
        found += [f"{number}: no topics: {h}" for h in headings(number)
                  if not data.get(number, {}).get(h, {}).get("topics")]  # fmt: skip
        if not found and listed != headings(number):
            found.append(f"{number}: sections are not in their order")
    entries = [entry for sections in data.values() for entry in sections.values()]
    slugs = [slug for entry in entries for slug in entry.get("corrections", ())]
    known = [correction.slug for correction in CORRECTIONS]
    found += [f"no such correction: {slug}" for slug in slugs if slug not in known]
    found += [
        f"{slug} stands {slugs.count(slug)} times" for slug in known if slugs.count(slug) != 1
    ]
    for entry in entries:
        topics = entry["topics"]
        found += [f"twice: {topic}" for topic in set(topics) if topics.count(topic) > 1]
    return found


def test_every_section_has_topics_and_every_correction_its_section():
    assert complaints(DATA) == []


def without(heading: str) -> dict:
    return {n: {h: e for h, e in sections.items() if h != heading} for n, sections in DATA.items()}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (without("Is attention linear?"), "5: no topics: Is attention linear?"),
        (without("Is attention linear?"), "c05-attention-is-not-linear stands 0 times"),
        ({**DATA, 5: {**DATA[5], "What now?": {"topics": ["x"]}}}, "5: no such section: What now?"),
        ({**DATA, 5: dict(reversed(DATA[5].items()))}, "5: sections are not in their order"),
        ({**DATA, 5: {**DATA[5], "Is attention linear?": {
            "topics": ["a", "a"], "corrections": ["c05-none"]}}}, "twice: a"),
    ],
)  # fmt: skip
def test_a_fault_is_noticed(data, said):
    assert said in complaints(data)


def test_topics_stand_from_a_to_z():
    topics = list(book_topics.by_topic(DATA))
    assert topics == sorted(topics, key=book_topics.sorting_key)
    assert book_topics.sorting_key("√D, arguments") == "root d arguments"
    assert book_topics.sorting_key("`nn.Embedding`: shape") == "nnembedding shape"
    assert book_topics.sorting_key("ε inside")[0] == "e"
    assert len(set(map(str.casefold, topics))) == len(topics)


def test_the_page_has_all_of_them(html_root):
    page = (html_root / "book" / "topics.html").read_text("utf-8")
    plain = " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).replace("’", "'").split())
    for topic in book_topics.by_topic(DATA):
        assert " ".join(topic.replace("`", "").split()) in plain, topic
    for correction in CORRECTIONS:
        assert f'href="corrections.html#{correction.slug}"' in page
    for number, sections in DATA.items():
        stem = CHAPTERS[number].stem
        built = (html_root / "notebooks" / f"{stem}.html").read_text("utf-8")
        for heading in sections:
            said = re.escape(html.escape(heading, quote=False))
            ids = re.findall(rf'href="\.\./notebooks/{stem}\.html#([^"]+)"[^>]*>(?:<[^>]+>)*{said}',
                             page)  # fmt: skip
            assert ids, (number, heading)
            for ident in set(ids):
                assert re.search(rf'<section id="{re.escape(ident)}">\s*<h2>[^<]*', built), ident


def test_wrong_guesses_are_read_from_the_chapters():
    """As many as the stored results have replies, counted in another way."""
    for number, chapter in CHAPTERS.items():
        told = 0
        for cell in chapter.code:
            for output in cell.get("outputs", ()):
                page = "".join(output.get("data", {}).get("text/html", ""))
                for words in re.findall(r'data-told="([^"]*)"', page):
                    told += len(json.loads(words.replace("&quot;", '"').replace("&#x27;", "'")
                                           .replace("&lt;", "<").replace("&gt;", ">")
                                           .replace("&amp;", "&"))["replies"])  # fmt: skip
        guesses = book_topics.guesses(number)
        assert sum(len(guess.replies) for guess in guesses) == told > 0
        assert {guess.heading for guess in guesses} <= set(headings(number))
