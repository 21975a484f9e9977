"""The race: what it reads off the peer's output, its table, and a run of either side in small."""

import json
import os
import statistics
import sys
from pathlib import Path

import pytest
import torch
from support import ROOT, script

from helpers import corpus
from helpers.gpt import GPTConfig, flops_per_token, parameter_count

race = script(ROOT / "benchmarks" / "gpt.py")
PRINTED = """\
step 0: train loss 4.1, val loss 4.2
iter 0: loss 4.2000, time 900.00ms, mfu -100.00%
iter 1: loss 4.1000, time 10.00ms, mfu -100.00%
iter 2: loss 4.0000, time 30.00ms, mfu -100.00%
step 3: train loss 3.8, val loss 3.9
saving checkpoint to out
iter 3: loss 3.9000, time 700.00ms, mfu -100.00%
step 4: train loss 3.8, val loss 3.9
iter 4: loss 3.8000, time 700.00ms, mfu -100.00%
""".splitlines(keepends=True)
CAME = [5.0, 7.0, 7.1, 7.4, 9.0, 9.5, 9.7, 12.0, 12.7]  # seconds: 2 for the first, then 0.1 and 0.3
PEER_MODEL = '''
"""Stands in for a peer: letters counted, by a table that is trained."""
from dataclasses import dataclass
import torch
import torch.nn.functional as F

@dataclass
class GPTConfig:
    vocab_size: int
    block_size: int
    n_layer: int = 1
    n_head: int = 1
    n_embd: int = 8

class GPT(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(config.vocab_size))
    def forward(self, ids, targets=None):
        logits = self.table.expand(*ids.shape, -1)
        return (logits if targets is not None else logits[:, -1:]), None
'''
PEER_TRAIN = f'''
import os, sys, pickle, numpy as np, torch
assert "--max_iters=4" in sys.argv and "--eval_interval=4" in sys.argv, sys.argv
ids = np.fromfile("data/shakespeare_char/train.bin", dtype=np.uint16).astype(np.int64)
V = pickle.load(open("data/shakespeare_char/meta.pkl", "rb"))["vocab_size"]
table = torch.tensor(np.bincount(ids, minlength=V) + 1.0).log().float()
os.makedirs("out-shakespeare-char")
shape = dict(vocab_size=V, block_size=64)
saved = {{"model": {{"_orig_mod.table": table}}, "model_args": shape, "iter_num": 4}}
torch.save(saved, "out-shakespeare-char/ckpt.pt")
print("""{"".join(PRINTED)}""")
'''


def test_evaluations_are_taken_out_of_the_peers_time():
    lines = list(zip(CAME, PRINTED, strict=True))
    assert race.peer_seconds(lines, 2) == pytest.approx(2 + 0.1)
    assert race.peer_seconds(lines, 3) == pytest.approx(2 + 0.1 + 0.3)
    assert race.peer_seconds(lines, 4) == pytest.approx(2 + 0.1 + 0.3 + 0.2)  # the median


@pytest.mark.slow
def test_a_peer_is_run_in_a_copy_and_measured_on_the_whole_split(tmp_path, small_text):
    tokenizer, train_ids, validation_ids = small_text
    peer = tmp_path / "peer"
    peer.mkdir()
    (peer / "model.py").write_text(PEER_MODEL)
    (peer / "train.py").write_text(PEER_TRAIN)
    found = race.peers(peer, "cpu", 4)
    assert found["iterations"] == 4
    counts = torch.bincount(train_ids, minlength=len(tokenizer)) + 1.0
    p = counts / counts.sum()
    wanted = -p.log()[validation_ids[1:]].mean().item()
    assert found["validation"] == pytest.approx(wanted, abs=1e-5)
    assert found["parameters"] == len(tokenizer)
    V = len(tokenizer)  # one layer of width 8, context 64
    assert found["flops_a_token"] == 6 * (12 * 8**2 + 2 * 64 * 8 + 8 * V)
    assert sorted(f.name for f in peer.iterdir()) == ["model.py", "train.py"]  # nothing left there
    assert "model" not in sys.modules


@pytest.fixture
def small_text(monkeypatch):
    text = "the fox and the hare went to the stream. " * 200
    tokenizer = corpus.CharTokenizer(text)
    ids = corpus.split(tokenizer.encode(text))
    monkeypatch.setattr(race, "text_and_ids", lambda: (tokenizer, *ids))
    return tokenizer, *ids


def test_our_side_trains_and_counts_tokens(small_text):
    small = {
        "model": {"layers": 1, "heads": 1, "width": 8, "context": 8},
        "training": {"steps": 9, "batch_size": 2, "lr": 0.01},
    }
    found = race.ours(race.moved(small, steps=3), seed=1)
    assert found["iterations"] == 3
    V, C = len(small_text[0]), 8
    assert found["parameters"] == V * C + 8 * C + 12 * C**2 + 9 * C + 6 * C
    assert found["tokens_per_second"] == pytest.approx(3 * 2 * 8 / found["seconds"])
    assert 0 < found["validation"] < 4


def test_table_has_medians_and_ratios_of_the_same_round():
    def run(seconds, loss):
        return {
            "iterations": 5 if loss > 1.65 else 7, "seconds": seconds, "validation": loss,
            "tokens_per_second": 100.0, "flops_per_second": 2e9, "precision": "float32",
            "parameters": 1_234_000,
        }  # fmt: skip

    runs = {"nanoGPT": [run(10, 1.9), run(30, 1.8)], "fast": [run(1, 1.7), run(2, 1.6)]}
    rows = race.table(runs, {"float32": 8e9})
    assert rows[0][2] == "5"
    assert rows[1] == ["fast", "1.23", "5, 7", 1.5, "1.700, 1.600", 12.5, 100, "25%"]
    del runs["nanoGPT"]
    assert race.table(runs, {"float32": 8e9})[0][5] == "not measured yet"


@pytest.mark.parametrize("name", race.RECIPES)
def test_every_recipe_trains_in_small(name, small_text):
    sizes = {"layers": 1, "heads": 2, "width": 16, "context": 16}
    how = {"steps": 12, "batch_size": 4, "warmup": 1, "compile": False}
    found = race.ours(race.moved(race.RECIPES[name], model=sizes, **how), seed=0)
    assert found["iterations"] == 12
    assert found["validation"] < torch.tensor(float(len(small_text[0]))).log()


def test_a_peer_that_prints_every_tenth_iteration_is_timed_from_line_to_line():
    printed = [f"iter {n}: loss 4, time 1.00ms" for n in range(0, 50, 10)]
    printed = ["step 0: train", *printed[:3], "step 25: train", *printed[3:]]
    came = [0.0, 30.0, 31.0, 32.0, 40.0, 41.0, 42.5]
    lines = list(zip(came, printed, strict=True))
    assert race.peer_seconds(lines, 21) == pytest.approx(30 + 1 + 1)
    assert race.peer_seconds(lines, 25) == pytest.approx(30 + 1 + 1 + 4 * 0.1)
    assert race.peer_seconds(lines, 41) == pytest.approx(30 + 1 + 1 + 10 * 0.1 + 1.5)


@pytest.mark.slow
def test_lines_are_stamped_when_they_come(tmp_path):
    (tmp_path / "train.py").write_text("import time; print('a'); time.sleep(4); print('b')")
    (first, a), (second, b) = race.stamped([sys.executable, "train.py"], tmp_path)
    assert (a, b) == ("a\n", "b\n")
    assert second - first > 1  # at the end both would come at once


@pytest.mark.parametrize("lines", [PRINTED[1:], PRINTED[:2], [PRINTED[0], PRINTED[1], PRINTED[4]]])
def test_what_is_no_run_of_the_peer_is_told(lines):
    with pytest.raises(ValueError, match=r"train\.py should print 'step 0:'"):
        race.peer_seconds(list(enumerate(lines)), 4)


# --- what is stored -------------------------------------------------------------------------


def stored(name: str) -> dict:
    return json.loads((ROOT / f"helpers/data/results/{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", ["gpt", "gpt_no_ngrams"])
def test_stored_race_is_of_the_script_and_its_columns_follow_from_the_settings(name):
    """All but the clock and the losses: sizes, and speeds from tokens, seconds and peaks."""
    found, sides = stored(name), race.SIDES[name]
    assert (found["columns"], found["title"]) == (race.COLUMNS, race.TITLES[name])
    assert found["claim"] == race.CLAIMS["cpu"] + race.HEADS
    assert found["recipes"] == {side: race.RECIPES[side] for side in sides}
    assert found["peer"] == {"flags": race.PEER["cpu"], "iterations": race.PEER_ITERATIONS["cpu"]}
    assert [row[0] for row in found["rows"]] == ["nanoGPT", *sides]
    for side, size, steps, seconds, losses, _, speed, share in found["rows"][1:]:
        recipe = found["recipes"][side]
        shape, how = GPTConfig(vocab_size=65, **recipe["model"]), recipe["training"]
        assert size == f"{parameter_count(shape) / 1e6:.2f}"
        assert int(steps) == how["steps"]
        tokens = how["steps"] * how["batch_size"] * shape.context
        assert tokens / seconds == pytest.approx(speed, rel=0.005)
        peak = 1e9 * found["peak_gflops"][how["precision"]]
        assert flops_per_token(shape) * speed / peak == pytest.approx(
            float(share[:-1]) / 100, abs=0.006
        )
        assert len(losses.split(", ")) == len(found["seeds"])


def test_stored_levers_are_those_of_the_script():
    found = stored("gpt_levers")
    assert found["columns"] == race.LEVER_COLUMNS
    assert found["recipes"] == race.LEVERS
    assert [row[0] for row in found["rows"]] == list(race.LEVERS)


@pytest.mark.slow
@pytest.mark.parametrize("lever", ["n-grams up to 4: none"])
def test_a_stored_lever_is_measured_again_where_the_text_is(lever):
    own = os.environ.get(corpus.DATA_DIR_VARIABLE, "nowhere")
    if not any(
        (folder / "tinyshakespeare.txt").exists() for folder in (Path(own), corpus.cache_dir())
    ):
        pytest.skip("tiny Shakespeare has not been fetched")
    found = stored("gpt_levers")
    losses = [race.ours(found["recipes"][lever], seed=s)["validation"] for s in found["seeds"]]
    (mean,) = (row[1].split()[0] for row in found["rows"] if row[0] == lever)
    assert statistics.mean(losses) == pytest.approx(float(mean), abs=0.01)


def test_a_peer_that_fails_is_told_with_its_own_words(tmp_path):
    (tmp_path / "train.py").write_text("print('step 0:'); raise ValueError('no such flag')")
    with pytest.raises(SystemExit, match=r"train\.py failed:[\s\S]*no such flag"):
        race.stamped([sys.executable, "train.py"], tmp_path)


def test_each_lever_changes_the_recipe():
    fast = race.LEVERS["nothing"]
    assert all(recipe != fast for lever, recipe in race.LEVERS.items() if lever != "nothing")
    third = race.LEVERS["learning rates: a third"]["training"]
    assert third["lr"] == third["matrix_lr"] == pytest.approx(0.014 / 3)
    assert (
        third | {name: fast["training"][name] for name in ("lr", "matrix_lr")} == fast["training"]
    )


def test_peak_is_a_speed():
    assert 1e7 < race.peak(torch.float32, size=64) < 1e15
