"""The reader's tokenizer against the package ``tokenizers``, whose merges are stored here."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import regex

from helpers.chapters.ch13_tokens import lab
from helpers.minillama import SPLIT, BytePairTokenizer, join, learn_merges
from helpers.pretrained_tokenizers import byte_pair_tokenizer

STORED = json.loads(Path(__file__).with_name("with_tokenizers.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def theirs() -> list[tuple[bytes, bytes]]:
    merges = [merge.split(" ") for merge in STORED["merges"]]
    return list(byte_pair_tokenizer([], merges).rank)


@pytest.mark.slow
def test_merges_are_those_of_tokenizers_up_to_ties(theirs):
    """They join a pair of the highest count at every step, as we do; of equals we differ."""
    text, ours, same = lab.texts()[0], learn_merges(lab.texts()[0], 100), True
    counts = Counter(regex.findall(SPLIT, text))
    words = {word: [bytes([b]) for b in word.encode()] for word in counts}
    for n, best in enumerate(theirs[:120]):
        pairs: Counter = Counter()
        for word, tokens in words.items():
            for pair in pairwise(tokens):
                pairs[pair] += counts[word]
        assert pairs[best] == max(pairs.values())
        if same and n < len(ours) and ours[n] != best:
            assert pairs[ours[n]] == pairs[best]
            same = False  # from here on the counts are of other tokens
        words = {word: join(tokens, best) for word, tokens in words.items()}
    assert ours[:90] == theirs[:90]


def test_a_text_is_cut_as_tokenizers_cuts_it(theirs):
    tokenizer = BytePairTokenizer(theirs)
    ids = tokenizer.encode(lab.texts()[1][:2000])
    wanted = byte_pair_tokenizer(STORED["tokens"], []).vocab
    assert [tokenizer.vocab[i] for i in ids] == wanted


def test_learning_ends_when_each_word_is_one_token():
    assert learn_merges("ab ab", 9) == [(b"a", b"b"), (b" ", b"ab")]
