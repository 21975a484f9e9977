"""The race: what it reads off the peer's output, and what is stored of it."""

import json
import os
import statistics
from pathlib import Path

import pytest
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


def test_evaluations_are_taken_out_of_the_peers_time():
    lines = list(zip(CAME, PRINTED, strict=True))
    assert race.peer_seconds(lines, 2) == pytest.approx(2 + 0.1)
    assert race.peer_seconds(lines, 3) == pytest.approx(2 + 0.1 + 0.3)
    assert race.peer_seconds(lines, 4) == pytest.approx(2 + 0.1 + 0.3 + 0.2)  # the median


def test_a_peer_that_prints_every_tenth_iteration_is_timed_from_line_to_line():
    printed = [f"iter {n}: loss 4, time 1.00ms" for n in range(0, 50, 10)]
    printed = ["step 0: train", *printed[:3], "step 25: train", *printed[3:]]
    came = [0.0, 30.0, 31.0, 32.0, 40.0, 41.0, 42.5]
    lines = list(zip(came, printed, strict=True))
    assert race.peer_seconds(lines, 21) == pytest.approx(30 + 1 + 1)
    assert race.peer_seconds(lines, 25) == pytest.approx(30 + 1 + 1 + 4 * 0.1)
    assert race.peer_seconds(lines, 41) == pytest.approx(30 + 1 + 1 + 10 * 0.1 + 1.5)


# --- what is stored -------------------------------------------------------------------------


def stored(name: str) -> dict:
    return json.loads((ROOT / f"helpers/data/results/{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", ["gpt", "gpt_no_ngrams"])
def test_stored_race_is_of_the_script_and_its_columns_follow_from_the_settings(name):
    """All but the clock and the losses: sizes, and speeds from tokens, seconds and peaks."""
    found, sides = stored(name), race.SIDES[name]
    assert (found["columns"], found["title"]) == (race.COLUMNS, race.TITLES[name])
    assert found["claim"] == race.CLAIM + race.HEADS
    assert found["recipes"] == {side: race.RECIPES[side] for side in sides}
    assert found["peer"] == {"flags": race.PEER, "iterations": race.PEER_ITERATIONS}
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
