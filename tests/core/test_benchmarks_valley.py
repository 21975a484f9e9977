"""The GPT to try on the first page: every field, and slices of what is stored."""

import dataclasses
import hashlib
import json

import pytest
import torch
from support import ROOT, script

from helpers import corpus, valley
from helpers.generate import open_model
from helpers.gpt import GPTConfig, parameter_count
from helpers.train import PRESETS, every_field
from helpers.training import TrainingConfig, checkpoints

pytestmark = pytest.mark.no_shape_check
bench = script(ROOT / "benchmarks" / "valley.py")
STORED = json.loads((ROOT / "helpers" / "data" / "results" / "valley.json").read_text("utf-8"))
LEARNED = [float(number) for _, number in STORED["learned"]["rows"]]


def test_checkpoint_is_the_commands_own():
    """Every field of model and training, the vocabulary, the text, and the sizes of its tensors."""
    whole, wanted = checkpoints.load(bench.SHIPPED / "valley"), every_field(**PRESETS["valley"])
    assert {name: list(fields) for name, fields in PRESETS["valley"].items()} == {
        name: list(fields) for name, fields in wanted.items()
    }  # the preset itself leaves nothing to defaults
    assert {name: whole.extra[name] for name in wanted} == wanted
    assert whole.config == wanted["training"] | {"context": wanted["model"]["context"]}
    assert whole.config.keys() == {field.name for field in dataclasses.fields(TrainingConfig)}
    assert whole.step == whole.config["steps"]
    text = corpus.load("valley")
    assert whole.extra["text"] == "valley"
    assert whole.extra["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert whole.extra["tokens"] == "words"
    assert whole.extra["vocab"] == list(corpus.PieceTokenizer(text).vocab)
    shape = GPTConfig(vocab_size=len(whole.extra["vocab"]), **whole.extra["model"])
    assert sum(tensor.numel() for tensor in whole.model.values()) == parameter_count(shape)


def test_what_is_stored_is_of_the_command_and_the_checkpoint():
    (file,) = (bench.SHIPPED / "valley").glob("*/checkpoint.json")
    tensors = json.loads(file.read_text("utf-8"))["tensors_sha256"]
    for part in ("learned", "rounding", "texts"):
        assert STORED[part]["script"] == "benchmarks/valley.py"
        assert STORED[part]["command"] == f"python -m helpers.train {bench.COMMAND}"
        assert STORED[part]["checkpoint"] == tensors
    assert [seed for seed, _ in STORED["texts"]["rows"]] == list(bench.SEEDS)
    assert STORED["texts"]["columns"] == ["seed", "text"]


def test_some_texts_are_written_again():
    for seed in (0, 7):
        assert bench.shown(bench.written(seed)) == STORED["texts"]["rows"][seed][1]


def test_what_readers_said_is_counted_and_is_of_these_texts():
    texts = [text for _, text in STORED["texts"]["rows"]]
    assert bench.judged(texts) == {"judged": STORED["judged"]}
    assert bench.judged(texts[::-1]) == {}
    by_words = [row for row in STORED["judged"]["rows"] if row[1] == bench.WRITERS["valley"]]
    assert len(by_words) == 2
    assert all(int(row[-1].split()[0]) >= 15 for row in by_words)


def test_no_loss_is_below_the_entropy():
    entropy, whole, second, *_ = LEARNED
    assert bench.entropy() == pytest.approx(entropy, abs=1e-3)
    assert entropy < second < whole < 3 * second


def test_losses_are_those_of_the_model():
    model, tokenizer = open_model(bench.SHIPPED / "valley")
    found = bench.losses(model, *bench.windows(32), bench.lengths(tokenizer))
    assert found == pytest.approx(LEARNED[1:3], rel=0.15)
    x_NT, y_NT = torch.zeros(1, 4, dtype=torch.int64), torch.tensor([[0, 0, 1, 1]])
    logits = torch.zeros(1, 4, 2)
    letters_V = torch.tensor([1, 3])  # one bit a token, and 8 letters in all, 6 in the second half
    assert bench.losses(lambda _: logits, x_NT, y_NT, letters_V) == pytest.approx((4 / 8, 2 / 6))


def test_it_copies_no_more_than_new_tales_do():
    *_, texts, tales = LEARNED
    assert texts <= tales
    read = "x" * 60 + "The fox."
    assert bench.share_copied(["x" * 60, "y" * 61], read) == pytest.approx(1 / 3)


def test_held_out_tales_are_whole_and_new():
    read, new = bench.held_out()
    tales = [tale for tale, _ in valley.tales()]
    assert tuple(new.rstrip("\n").split(valley.BETWEEN)) == tuple(
        tales[-len(new.split(valley.BETWEEN)) :]
    )
    tokenizer, text = corpus.PieceTokenizer(corpus.load("valley")), corpus.load("valley")
    assert len(tokenizer.encode(read)) == int(0.9 * len(tokenizer.encode(text)))
    assert text.startswith(read)
    assert new not in read


def test_eight_bits_are_enough():
    (row,) = STORED["rounding"]["rows"]
    assert row[0] == 8
    assert row[1] <= 1_500_000
    assert abs(float(row[3])) < 0.005
