"""Chapter 11's measurements: what they are made of, and a slice of each stored part again."""

from collections import Counter

import numpy as np
import pytest
import torch

from helpers import corpus
from helpers.chapters import stored
from helpers.chapters.ch11_small_gpt import measure
from helpers.chapters.common import runs
from helpers.gpt import GPT, GPTConfig
from helpers.train import PRESETS, every_field

RESULTS = stored(11)


def tiny(context: int) -> GPT:
    config = GPTConfig(vocab_size=7, context=context, layers=1, heads=1, width=8)
    return GPT(config, generator=torch.Generator().manual_seed(0))


# --- what is stored -------------------------------------------------------------------------


@pytest.mark.parametrize("part", measure.PARTS)
def test_stored_runs_are_of_the_recipe_as_it_is(part):
    recipe = measure.recipe(part)
    assert {name: RESULTS[part][name] for name in recipe} == recipe


def test_stored_levers_are_what_they_move():
    assert RESULTS["levers"]["moved"] == measure.LEVERS


@pytest.mark.parametrize("lever", ["one head", "AdamW at 0.003"])
def test_a_run_computed_again_is_the_stored_one(lever):
    recipe, moved = RESULTS["levers"], RESULTS["levers"]["moved"][lever]
    recipe = {  # the stored settings, with the stored change
        part: {name: moved.get(name, usual) for name, usual in recipe[part].items()}
        for part in ("model", "training")
    }
    found = measure.trained(recipe, "tales", 1)[2][-1].validation
    run = runs(RESULTS["levers"], lever=lever)[1]
    assert found == pytest.approx(run["validation"], abs=0.03)


@pytest.mark.parametrize("part", ["whole", "longer"])
def test_a_long_run_begins_again_as_the_stored_one(part):
    found = RESULTS[part]
    wanted = runs(found, text="tales")[1]["first losses"]
    records = measure.trained(found, "tales", 1, halt=len(wanted))[2]
    assert [record.loss for record in records] == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("part", ["whole", "longer"])
def test_counted_losses_on_the_tales_are_the_stored_ones(part, tales_counted):
    (setting,) = (s for s in RESULTS[part]["settings"] if s["text"] == "tales")
    assert tales_counted == pytest.approx(setting["counted"], abs=2e-4)


@pytest.fixture(scope="module")
def tales_counted():
    return measure.counted("tales")


# --- levers ---------------------------------------------------------------------------------


def test_adamw_has_a_rate_of_its_own_for_the_matrices_only_where_it_is_named():
    rates = {lever: m["matrix_lr"] for lever, m in measure.LEVERS.items() if "optimizer" in m}
    assert len(rates) == 5
    for lever, rate in rates.items():
        assert rate == (0.01 if "matrices at 0.01" in lever else None), lever


def test_each_lever_moves_something_that_there_is():
    usual = measure.SMALL | measure.SHORT
    for lever, moved in measure.LEVERS.items():
        assert moved.keys() <= usual.keys(), lever
        assert not moved or any(usual[k] != v for k, v in moved.items()), lever


def test_recipe_has_every_field_and_the_lever_in_it():
    recipe = measure.recipe("levers", "context 16")
    assert recipe["model"] | {"context": 64} == measure.recipe("levers")["model"]
    assert (recipe["model"]["context"], recipe["training"]["batch_size"]) == (16, 48)
    how = PRESETS["cpu"]["training"] | {"steps": 1800, "evaluate_every": 450}
    longer = every_field(PRESETS["cpu"]["model"], how)
    del longer["training"]["seed"]
    assert measure.recipe("longer") == longer


# --- counted tables -------------------------------------------------------------------------


def test_counts_agree_with_counting_one_by_one():
    """Against the formula of the chapter written out with dictionaries, on a short text."""
    text = corpus.load()[:1500]
    tokenizer = corpus.CharTokenizer(text)
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
        counts = measure.tally(np.array(train), n, V)
        found = measure.along(found, counts, np.array(test), n, V, k)
    for place in (1, 2, 3, 50, 150):
        expected = p(test[place], test[:place], 3)
        assert found[place - 1] == pytest.approx(expected, rel=1e-9)


def test_kneser_and_ney_count_as_their_formula_says():
    """Against sets and dictionaries, with one discount; and what may come next sums to 1."""
    text = corpus.load()[:1500]
    tokenizer = corpus.CharTokenizer(text)
    ids, V, D = tokenizer.encode(text).tolist(), len(tokenizer), 0.7
    train, test = ids[:1300], ids[1300:]

    def p(x, head, *, longest):
        shorter = p(x, head[1:], longest=False) if head else 1 / V
        runs = [tuple(train[i : i + len(head) + 1]) for i in range(len(train) - len(head))]
        if longest:
            times = Counter(runs)
        else:
            further = {
                tuple(train[i : i + len(head) + 2]) for i in range(len(train) - len(head) - 1)
            }
            times = Counter(run[1:] for run in further)
        counts = {run[-1]: n for run, n in times.items() if run[:-1] == head}
        if not counts:
            return shorter
        spare = D * len(counts) * shorter
        return (max(counts.get(x, 0) - D, 0) + spare) / sum(counts.values())

    found = np.exp(-measure.kneser_ney(np.array(train), np.array(test), V, 3, [0.5, D])[1])
    for place in (2, 3, 50, 150):
        head = tuple(test[place - 2 : place])
        assert found[place - 1] == pytest.approx(p(test[place], head, longest=True), rel=1e-9)
        ends = [np.array([*test[:place], x]) for x in range(V)]
        rows = [measure.kneser_ney(np.array(train), end, V, 3, [D])[0, -1] for end in ends]
        assert np.exp(-np.array(rows)).sum() == pytest.approx(1, abs=1e-9)


# --- what a model costs and writes ----------------------------------------------------------


def test_costs_are_the_losses_of_whole_windows():
    model, ids = tiny(context=4), torch.arange(12) % 7
    costs_NT = measure.costs_of(model, ids)  # the last three targets fill no window
    assert costs_NT.shape == (2, 4)
    p = model(ids[None, 4:8]).softmax(dim=-1)[0, 1, ids[6]]
    assert costs_NT[1, 1].item() == pytest.approx(-p.log().item(), rel=1e-5)


def test_words_are_whole_and_compared_with_the_known_ones():
    assert measure.words_of("The fox's den, sai") == ["the", "fox", "s", "den"]
    assert measure.real(["the fox ra", "xyz fox."], {"the", "fox"}) == pytest.approx(3 / 4)


def test_writing_in_pieces_is_the_model_s_own_writing_while_the_context_lasts():
    model, prompts_BT = tiny(context=16), torch.tensor([[1, 2], [3, 4]])
    how = {"temperature": 0, "generator": torch.Generator()}
    written = measure.write(model, prompts_BT, 30, **how)
    assert written.shape == (2, 32)
    assert (written[:, :8] == model.generate(prompts_BT, 6, **how)).all()
    assert (written[:, :16] == model.generate(written[:, 0:8], 8, **how)).all()
