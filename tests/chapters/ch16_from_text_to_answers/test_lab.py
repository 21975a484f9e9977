"""Chapter 16's measurements: what counts in training, and what is asked."""

import re

import numpy as np
import pytest
import torch

from helpers import valley
from helpers.chapters.ch16_from_text_to_answers import lab


def test_only_the_answer_and_its_end_count():
    _, tokenizer = lab.storyteller()
    ids, targets = lab.conversation(tokenizer, "Who is Fern?", "A fox.")
    counted = targets != -100
    assert tokenizer.decode(targets[counted].tolist()) == "A fox.<|im_end|>"
    assert tokenizer.decode(ids.tolist()) == (
        "<|im_start|>user\nWho is Fern?<|im_end|>\n<|im_start|>assistant\nA fox."
    )
    _, after = lab.before_and_after(n=1).values()
    written = [token for token, whose, counts in after if counts and "model" in whose]
    assert "".join(written) == "The stream was too wide.<|im_end|>"
    assert sum(whose == "the template" for _, whose, _ in after) == 8
    _, everything = lab.conversation(tokenizer, "Who is Fern?", "A fox.", mask=False)
    assert everything.tolist() == [*ids[1:].tolist(), lab.end_id(tokenizer)]


def test_answers_stand_in_their_sentences_and_held_out_heroes_are_never_asked_about():
    kinds = dict(
        row.split(", ")[:2] for row in valley.grammar()["facts"]["hero, kind, they, them, their"]
    )
    for held_out in (False, True):
        for asked, answer in lab.examples(200, 5, held_out, "new" if held_out else "crossed"):
            text, _ = asked.split("\n")
            *_, key = answer.rstrip(".").split()
            assert key in text
            named = {hero for hero, kind in kinds.items() if hero in text or f" {kind} " in text}
            assert named
            assert all((hero in lab.HELD_OUT) == held_out for hero in named)


def test_pairs_are_those_of_the_tales_or_crossed_or_in_no_question_of_the_training():
    seen = {}
    for pairs in lab.PAIRS:
        asked = lab.examples(300, 5, pairs=pairs, plots=["crossing"])
        seen[pairs] = {answer for _, answer in asked}
        assert all(answer.split()[-1].rstrip(".") in text for text, answer in asked)
    assert [len(answers) for answers in seen.values()] == [6, 24, 12]
    assert seen["usual"] < seen["crossed"]
    assert not seen["crossed"] & seen["new"]
    tales = set(re.findall(r"cross the (\w+) because it (was too \w+\.)", valley.text()))
    assert {f"The {water} {too}" for water, too in tales} == seen["usual"]


def test_more_questions_than_there_are_is_a_sentence_and_not_an_endless_search():
    with pytest.raises(ValueError, match="only 64 such questions"):
        lab.examples(200, 0, plots=["tired"])


def test_greedy_answers_of_a_batch_are_those_of_one_at_a_time():
    torch.manual_seed(0)
    model, tokenizer = lab.storyteller()
    questions = ["Who is Fern?", "Why did the fox not cross the stream?"]
    together = lab.answers(model, tokenizer, questions, n=4)
    assert together == [lab.answers(model, tokenizer, [q], n=4)[0] for q in questions]


def test_log_probability_sums_over_the_counted_tokens_only():
    torch.manual_seed(1)
    logits = torch.randn(1, 4, 7, dtype=torch.float64)
    ids = torch.tensor([[2, 5, 1, 6]])
    counts = torch.tensor([[False, False, True, True]])
    found = lab.log_probability(lambda ids_BT: logits[:, : ids_BT.shape[1]], ids, counts)
    p = np.exp(logits[0].numpy())
    p /= p.sum(axis=-1, keepdims=True)
    assert found.item() == pytest.approx(np.log(p[1, 1] * p[2, 6]))


def test_a_file_of_questions_is_read_or_the_line_at_fault_is_named(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("\ufeffWho?\r\nWhose?\r\nFern.\r\n \t\r\n\r\n Where? \r\nHere.\r\n", "utf-8")
    assert lab.pairs(path) == [("Who?", "Fern."), ("Whose?", "Fern."), ("Where?", "Here.")]
    for text, said in {
        "Who?\nFern.\n\nWhere?\n": "line 4: a question and its answer",
        "Who?\nFern.\n\nWho?\nMoss.": "line 5: 'Who\\?' has another answer",
        " \n": "is empty",
    }.items():
        path.write_text(text, "utf-8")
        with pytest.raises(ValueError, match=said):
            lab.pairs(path)


def test_the_inn_is_asked_about_in_words_that_are_not_taught():
    taught, asked = (dict(lab.pairs(path)) for path in (lab.INN, lab.ASKED))
    assert not taught.keys() & asked.keys()
    assert [*asked.values()][::2] == [*asked.values()][1::2] == [*taught.values()]
    assert len(taught) == len({*taught.values()}) == 20


def test_the_baseline_copies_the_answer_of_the_question_with_most_words_in_common():
    known = [("Who runs the inn?", "Fern."), ("Who cooks?", "Moss.")]
    assert lab.by_words(known, "Who cooks here?") == "Moss."
    assert lab.by_words(known, "Who, then, runs it?") == "Fern."


@pytest.mark.nightly
def test_answers_lack_the_first_token_where_it_never_counted():
    """The chapter's error to spot, made."""
    torch.manual_seed(0)
    model, tokenizer = lab.storyteller()
    rows = [lab.conversation(tokenizer, *pair) for pair in lab.examples(1200, 0)]
    for _, targets in rows:
        targets[(targets != -100).nonzero()[0]] = -100
    lab.fine_tune(model, rows, steps=lab.STEPS, lr=lab.RATE)
    asked = lab.examples(24, 1, held_out=True, plots=["crossing", "lost"])
    found = [given for given, _ in lab.answers(model, tokenizer, [q for q, _ in asked])]
    assert not any(given.startswith(("The", "A ")) for given in found)
    assert any(right.endswith(given) for given, (_, right) in zip(found, asked, strict=True))


def test_adapters_change_nothing_at_strength_0_and_are_merged_without_a_difference():
    torch.manual_seed(0)
    model, tokenizer = lab.storyteller()
    _, before, *_ = lab.losses_by_token(model, model, tokenizer)
    lab.add_lora(model, rank=2)
    for name, p in model.named_parameters():
        p.data += 0.1 * name.endswith(".b")
    found = lab.strengths(model, tokenizer)
    none, whole = (-np.log(found[strength, "wide"][2]) for strength in (0, 1))
    np.testing.assert_allclose(none, before[-len(none) :], rtol=1e-4)
    assert not np.allclose(whole, none, rtol=0.01)
    for part in list(model.modules()):
        for name, module in list(part.named_children()):
            setattr(part, name, module.merge() if hasattr(module, "merge") else module)
    _, merged, *_, counted = lab.losses_by_token(model, model, tokenizer)
    np.testing.assert_allclose(merged[-counted:], whole, rtol=1e-3)
