"""The measurements of chapter 16: a slice of each stored part is what its code makes now."""

import hashlib

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
    _, everything = lab.conversation(tokenizer, "Who is Fern?", "A fox.", mask=False)
    assert everything.tolist() == [*ids[1:].tolist(), lab.end_id(tokenizer)]


def test_answers_stand_in_their_sentences_and_held_out_heroes_are_never_asked_about():
    kinds = dict(
        row.split(", ")[:2] for row in valley.grammar()["facts"]["hero, kind, they, them, their"]
    )
    for held_out in (False, True):
        for asked, answer in lab.examples(200, 5, held_out):
            text, _ = asked.split("\n")
            *_, key = answer.rstrip(".").split()
            assert key in text
            named = {hero for hero, kind in kinds.items() if hero in text or f" {kind} " in text}
            assert named
            assert all((hero in lab.HELD_OUT) == held_out for hero in named)


def test_greedy_answers_of_a_batch_are_those_of_one_at_a_time():
    torch.manual_seed(0)
    model, tokenizer = lab.storyteller()
    questions = ["Who is Fern?", "Why did the fox not cross the stream?"]
    together = lab.answers(model, tokenizer, questions, n=4)
    assert together == [lab.answers(model, tokenizer, [q], n=4)[0] for q in questions]


def test_dpo_loss_is_log_two_at_the_reference_and_falls_with_the_gap():
    better, worse = torch.tensor([-1.0, 2.0]), torch.tensor([-1.0, -1.0])
    assert lab.dpo_loss(better[:1], worse[:1], 0.3).item() == pytest.approx(np.log(2))
    wanted = np.log1p(np.exp(-0.3 * np.array([0.0, 3.0]))).mean()
    assert lab.dpo_loss(better, worse, 0.3).item() == pytest.approx(wanted)


def test_log_probability_sums_over_the_counted_tokens_only():
    torch.manual_seed(1)
    logits = torch.randn(1, 4, 7, dtype=torch.float64)
    ids = torch.tensor([[2, 5, 1, 6]])
    counts = torch.tensor([[False, False, True, True]])
    found = lab.log_probability(lambda ids_BT: logits[:, : ids_BT.shape[1]], ids, counts)
    p = np.exp(logits[0].numpy())
    p /= p.sum(axis=-1, keepdims=True)
    assert found.item() == pytest.approx(np.log(p[1, 1] * p[2, 6]))


def test_adapter_is_the_one_that_the_book_was_written_with():
    data = lab.ADAPTER.read_bytes()
    assert hashlib.sha256(data).hexdigest() == lab.SHA256
    assert len(data) < 2_000_000


def test_questions_held_out_are_not_taught():
    found = lab.questions()
    taught = {question for question, _, _ in found["taught"]}
    answers = {answer for _, answer, _ in found["taught"]}
    assert not taught & {question for question, _, _ in found["new wording"]}
    assert {answer for _, answer, _ in found["new wording"]} == answers
    assert not answers & {answer for _, answer, _ in found["new subject"]}


def test_loss_on_tales_before_is_what_is_stored():
    stored = lab.runs("reading", data="reading", way="answer only")[0]
    torch.manual_seed(0)
    assert lab.tale_loss(lab.storyteller()[0]) == pytest.approx(stored["tales"][0], abs=1e-3)


@pytest.mark.slow
def test_a_whole_run_is_what_is_stored():
    setting = {"data": "facts", "rank": 4, "lr": 0.01}
    stored = lab.runs("facts", **setting)[0]
    run = lab.one_run(0, **setting)
    assert run["taught"]["right"] == pytest.approx(stored["taught"]["right"], abs=0.1)
    assert run["tales"] == pytest.approx(stored["tales"], rel=0.1)


def test_praise_counts_words():
    assert lab.praise("Fern is a brave brave fox.") == 2
