"""The long measurement of chapter 11: it runs the chapter's cells; what is stored is its own."""

import json
from collections import Counter

import numpy as np
import pytest
from chapters import ROOT, script

from helpers import corpus
from helpers.train import PRESETS

RESULTS = ROOT / "helpers" / "data" / "results" / "gpt_ablations.json"


@pytest.fixture(scope="module")
def ablations():
    return script(ROOT / "benchmarks" / "gpt_ablations.py")


@pytest.fixture(scope="module")
def names(ablations):
    return ablations.chapter()


@pytest.fixture(scope="module")
def stored():
    return json.loads(RESULTS.read_text("utf-8"))


def test_cells_of_the_chapter_that_is_measured_are_there(ablations):
    chapter = ROOT / "notebooks" / f"{ablations.CHAPTER}.ipynb"
    cells = json.loads(chapter.read_text("utf-8"))["cells"]
    assert set(ablations.CELLS) <= {cell["id"] for cell in cells}


@pytest.mark.parametrize("part", ["levers", "whole", "longer"])
def test_stored_results_are_those_of_the_script(ablations, names, stored, part):
    assert stored[part]["script"] == "benchmarks/gpt_ablations.py"
    assert stored[part]["seeds"] == list(ablations.SEEDS[part])
    bare = [
        {key: value for key, value in setting.items() if key not in ("runs", "counted")}
        for setting in stored[part]["settings"]
    ]
    assert bare == ablations.settings(part, names)
    for setting in stored[part]["settings"]:
        assert [run["seed"] for run in setting["runs"]] == stored[part]["seeds"]


def test_adamw_has_a_rate_of_its_own_for_the_matrices_only_where_it_is_named(names):
    rates = {lever: m["matrix_lr"] for lever, m in names["LEVERS"].items() if "optimiser" in m}
    assert len(rates) == 5
    for lever, rate in rates.items():
        assert rate == (0.01 if "matrices at 0.01" in lever else None), lever


@pytest.mark.parametrize("part", ["whole", "longer"])
def test_stored_runs_are_of_the_preset_as_it_is(stored, part):
    assert stored[part]["preset"] == PRESETS["cpu"]


def test_each_lever_moves_something_that_there_is(names):
    usual = names["SMALL"] | names["SHORT"]
    for lever, moved in names["LEVERS"].items():
        assert moved.keys() <= usual.keys(), lever
        assert not moved or any(usual[k] != v for k, v in moved.items()), lever


def test_counted_losses_on_the_tales_are_the_stored_ones(ablations, names, stored):
    settings = {s["text"]: s for s in stored["whole"]["settings"]}
    assert ablations.counted(names, "tales") == pytest.approx(
        settings["tales"]["counted"], abs=2e-4
    )


def test_counts_agree_with_counting_one_by_one(names):
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
        found = names["along"](
            found, names["tally"](np.array(train), n, V), np.array(test), n, V, k
        )
    for place in (1, 2, 3, 50, 150):
        expected = p(test[place], test[:place], 3)
        assert found[place - 1] == pytest.approx(expected, rel=1e-9)


def test_kneser_and_ney_count_as_their_formula_says(names):
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

    found = np.exp(-names["kneser_ney"](np.array(train), np.array(test), V, 3, [0.5, D])[1])
    for place in (2, 3, 50, 150):
        head = tuple(test[place - 2 : place])
        expected = p(test[place], head, longest=True)
        assert found[place - 1] == pytest.approx(expected, rel=1e-9)
        ends = [np.array([*test[:place], x]) for x in range(V)]
        rows = [names["kneser_ney"](np.array(train), end, V, 3, [D])[0, -1] for end in ends]
        assert np.exp(-np.array(rows)).sum() == pytest.approx(1, abs=1e-9)


def test_costs_are_the_losses_of_whole_windows(names):
    torch, GPT, GPTConfig = (names[name] for name in ("torch", "GPT", "GPTConfig"))
    config = GPTConfig(vocab_size=7, context=4, layers=1, heads=1, width=8)
    model = GPT(config, generator=torch.Generator().manual_seed(0))
    ids = torch.arange(12) % 7
    costs_NT = names["costs_of"](model, ids)  # the last three targets fill no window
    assert costs_NT.shape == (2, 4)
    p = model(ids[None, 4:8]).softmax(dim=-1)[0, 1, ids[6]]
    assert costs_NT[1, 1].item() == pytest.approx(-p.log().item(), rel=1e-5)


def test_words_are_whole_and_compared_with_the_known_ones(names):
    assert names["words_of"]("The fox's den, sai") == ["the", "fox", "s", "den"]
    assert names["real"](["the fox ra", "xyz fox."], {"the", "fox"}) == pytest.approx(3 / 4)


def test_writing_in_pieces_is_the_model_s_own_writing_while_the_context_lasts(names):
    torch, GPT, GPTConfig = (names[name] for name in ("torch", "GPT", "GPTConfig"))
    config = GPTConfig(vocab_size=7, context=16, layers=1, heads=1, width=8)
    model = GPT(config, generator=torch.Generator().manual_seed(0))
    prompts_BT = torch.tensor([[1, 2], [3, 4]])
    written = names["write"](model, prompts_BT, 30, temperature=0, generator=torch.Generator())
    assert written.shape == (2, 32)
    own = model.generate(prompts_BT, 6, temperature=0, generator=torch.Generator())
    assert (written[:, :8] == own).all()
    afresh = model.generate(written[:, 0:8], 8, temperature=0, generator=torch.Generator())
    assert (written[:, :16] == afresh).all()


@pytest.mark.parametrize("lever", ["one head", "AdamW at 0.003"])
def test_a_run_computed_again_is_the_stored_one(ablations, names, stored, lever):
    (setting,) = (s for s in stored["levers"]["settings"] if s["lever"] == lever)
    run = ablations.of_lever(names, 1, lever=lever)
    assert run["validation"] == pytest.approx(setting["runs"][1]["validation"], abs=0.03)
