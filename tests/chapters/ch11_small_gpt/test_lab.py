"""Chapter 11's measurements: what they are made of, and a slice of each stored part again."""

import numpy as np
import pytest
import torch
from support import ROOT

from helpers import corpus, minigpt, tokenizers
from helpers.chapters import stored
from helpers.chapters.ch11_small_gpt import lab
from helpers.chapters.lab import runs
from helpers.train import PRESETS, every_field

RESULTS = stored(11)


# --- what is stored -------------------------------------------------------------------------


@pytest.mark.parametrize("part", [part for part in lab.PARTS if part != "decoding"])
def test_stored_runs_are_of_the_recipe_as_it_is(part):
    recipe = lab.recipe(part)
    assert {name: RESULTS[part][name] for name in recipe} == recipe


def test_stored_levers_are_what_they_move():
    assert RESULTS["levers"]["moved"] == lab.LEVERS


def as_stored(part: str, moved: dict) -> dict:
    """The stored settings of a part, with a stored change."""
    return {
        kind: {name: moved.get(name, usual) for name, usual in RESULTS[part][kind].items()}
        for kind in ("model", "training")
    }


@pytest.mark.parametrize(
    ("part", "setting"),
    [("levers", {"lever": "one head"}), ("rates", lab.GRID[0])],
)
def test_a_run_computed_again_is_the_stored_one(part, setting):
    moved = RESULTS["levers"]["moved"].get(setting.get("lever"), setting)
    run = runs(RESULTS[part], **setting)[-1]
    found = lab.trained(as_stored(part, moved), "tales", run["seed"])[-1].validation
    assert found == pytest.approx(run["validation"], abs=0.03)


def test_the_page_training_faster_says_what_is_stored():
    """Muon's lead at the best of each grid, and where the newer recipe ends among the tables."""
    ends = {}
    for setting in RESULTS["rates"]["settings"]:
        grid = setting["optimizer"], setting["start"]
        ends.setdefault(grid, []).append(setting["runs"][0]["validation"])
    page = (ROOT / "book" / "training-faster.md").read_text("utf-8")
    for start in ("gpt2", "fan_in"):
        assert f"{min(ends['adamw', start]) - min(ends['muon', start]):.2f} " in page
    for setting in RESULTS["whole"]["settings"]:
        _, _, trigram, four, *_, seven = setting["counted"]
        losses = [run["validation"] for run in setting["runs"]]
        assert seven < min(losses)
        assert max(losses) < (four if setting["text"] == "tales" else trigram)
    (longer,) = RESULTS["longer"]["settings"]
    assert max(run["validation"] for run in longer["runs"]) < min(longer["counted"])


@pytest.mark.parametrize("part", ["whole", "longer"])
def test_a_long_run_begins_again_as_the_stored_one(part):
    found = RESULTS[part]
    wanted = runs(found, text="tales")[1]["first losses"]
    records = lab.trained(found, "tales", 1, halt=len(wanted))
    assert [record.loss for record in records] == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("part", ["whole", "longer"])
def test_counted_losses_on_the_tales_are_the_stored_ones(part, tales_counted):
    (setting,) = (s for s in RESULTS[part]["settings"] if s["text"] == "tales")
    assert tales_counted == pytest.approx(setting["counted"], abs=2e-4)


@pytest.fixture(scope="module")
def tales_counted():
    return lab.counted("tales")


# --- levers ---------------------------------------------------------------------------------


def test_each_lever_moves_something_that_there_is():
    usual = lab.SMALL | lab.SHORT
    for lever, moved in lab.LEVERS.items():
        assert moved.keys() <= usual.keys(), lever
        assert not moved or any(usual[k] != v for k, v in moved.items()), lever


def test_recipe_has_every_field_and_the_lever_in_it():
    recipe = lab.recipe("levers", **lab.LEVERS["context 16"])
    assert recipe["model"] | {"context": 64} == lab.recipe("levers")["model"]
    assert (recipe["model"]["context"], recipe["training"]["batch_size"]) == (16, 48)
    how = PRESETS["cpu"]["training"] | {"steps": 1800, "evaluate_every": 450}
    longer = every_field(PRESETS["cpu"]["model"], how)
    del longer["training"]["seed"]
    assert lab.recipe("longer") == longer


# --- counted tables -------------------------------------------------------------------------


def test_counts_agree_with_counting_one_by_one():
    """Against the formula of the chapter written out with dictionaries, on a short text."""
    text = corpus.load()[:1500]
    tokenizer = tokenizers.CharTokenizer(text)
    ids, V, k = tokenizer.encode(text).numpy(), len(tokenizer), 5
    train, test = ids[:1300].tolist(), ids[1300:].tolist()

    def p(x, before, n):
        if n == 0:
            return 1 / V
        if n - 1 > len(before):
            return p(x, before, n - 1)
        head = before[len(before) - n + 1 :]
        runs = [train[i : i + n] for i in range(len(train) - n + 1)]
        times = sum(run == [*head, x] for run in runs)
        seen = sum(run[:-1] == head for run in runs)
        return (times + k * p(x, before, n - 1)) / (seen + k)

    found = np.full(len(test) - 1, 1 / V)
    for n in (1, 2, 3):
        counts = lab.tally(np.array(train), n, V)
        found = lab.along(found, counts, np.array(test), n, V, k)
    for place in (1, 2, 3, 50, 150):
        expected = p(test[place], test[:place], 3)
        assert found[place - 1] == pytest.approx(expected, rel=1e-9)


def test_tables_along_a_window_are_those_along_the_text():
    ids = letters_of(3000)
    counted = lab.count_losses(ids[:2500], ids[2500:], 61)
    x_BT = ids[2500:2564][None]
    p_BTV = lab.tables_along(counted, x_BT, 61)["7-gram"]
    assert p_BTV.shape == (1, 56, 61)
    assert p_BTV.sum(axis=-1) == pytest.approx(1, abs=1e-9)
    along = np.full(64, 1 / 61)
    for n, (counts, k) in enumerate(zip(counted.tallies, counted.ks, strict=True), start=1):
        along = lab.along(along, counts, ids[2500:2565], n, 61, k)
    assert p_BTV[0, range(56), ids[2509:2565]] == pytest.approx(along[8:], rel=1e-9)


def letters_of(n: int) -> np.ndarray:
    text = corpus.load()
    return tokenizers.CharTokenizer(text).encode(text)[:n].numpy()


# --- what a model costs and writes ----------------------------------------------------------


def test_costs_are_the_losses_of_whole_windows():
    torch.manual_seed(0)
    model, ids = minigpt.GPT(V=7, T=4, C=8, H=1, L=1), torch.arange(12) % 7
    costs_NT = lab.costs_of(model, ids)  # the last three targets fill no window
    assert costs_NT.shape == (2, 4)
    p = model(ids[None, 4:8]).softmax(dim=-1)[0, 1, ids[6]]
    assert costs_NT[1, 1].item() == pytest.approx(-p.log().item(), rel=1e-5)


def test_repeats():
    assert lab.repeats("abcdefgh" * 2, n=8) == pytest.approx(1 / 9)
    assert lab.repeats("abcdefgh", n=4) == 0
