"""The long measurements of chapter 12: they run the chapter's cells; what is stored is theirs."""

import json

import pytest
import torch
from chapters import ROOT, script

from helpers import corpus
from helpers.generate import open_model
from helpers.gpt import GPTConfig, parameter_count
from helpers.training import checkpoints, evaluate
from helpers.training.fit import cross_entropy

RESULTS = ROOT / "helpers" / "data" / "results" / "inside.json"
SHIPPED = ROOT / "helpers" / "data" / "checkpoints"
MOST_BYTES = 4_000_000


@pytest.fixture(scope="module")
def inside():
    return script(ROOT / "benchmarks" / "inside.py")


@pytest.fixture(scope="module")
def names(inside):
    return inside.chapter()


def stored(part):
    return json.loads(RESULTS.read_text("utf-8"))[part]


def test_cells_of_the_chapter_that_are_run_are_there(inside):
    chapter = ROOT / "notebooks" / f"{inside.CHAPTER}.ipynb"
    cells = json.loads(chapter.read_text("utf-8"))["cells"]
    assert set(inside.CELLS) <= {cell["id"] for cell in cells}


@pytest.mark.parametrize("part", ["tales", "pronouns", "copying", "patching", "edges"])
def test_stored_results_are_those_of_the_script(inside, part):
    found = stored(part)
    assert found["script"] == "benchmarks/inside.py"
    assert found["seeds"] == list(inside.seeds(part))
    bare = [
        {key: value for key, value in setting.items() if key != "runs"}
        for setting in found["settings"]
    ]
    assert bare == inside.settings(part)
    for setting in found["settings"]:
        assert [run["seed"] for run in setting["runs"]] == found["seeds"]


def test_five_seeds_but_for_the_one_model_that_ships(inside):
    assert [len(inside.seeds(part)) for part in inside.PARTS] == [1, 5, 5, 5, 5]


# ------------------------------------------------------------------ what ships


def test_checkpoints_are_small_and_hold_parameters_alone():
    files = [path for path in SHIPPED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    assert {path.name for path in files} == {checkpoints.TENSORS, checkpoints.REST}
    for folder in sorted(SHIPPED.iterdir()):
        checkpoint = checkpoints.load(folder)
        assert not checkpoint.optimiser
        assert not checkpoint.generators
        assert {tensor.dtype for tensor in checkpoint.model.values()} == {torch.float32}


def test_model_of_the_tales_is_the_commands_own(inside):
    """Configuration, vocabulary and text are those of the command that is stored with it."""
    whole = checkpoints.load(SHIPPED / "tales")
    text = corpus.load()
    assert whole.extra["vocab"] == list(corpus.CharTokenizer(text).vocab)
    assert whole.step == whole.config["steps"] == inside.TALES["steps"]
    assert whole.config["seed"] == inside.TALES["seed"]
    assert whole.extra["model"]["dropout"] == inside.TALES["dropout"]
    words = stored("tales")["command"].split()
    for name, value in inside.TALES.items():
        assert words[words.index(f"--{name}") + 1] == str(value)
    shape = GPTConfig(vocab_size=len(whole.extra["vocab"]), **whole.extra["model"])
    assert sum(tensor.numel() for tensor in whole.model.values()) == parameter_count(shape)


def test_its_loss_is_the_stored_one():
    model, tokenizer = open_model(SHIPPED / "tales")
    _, validation = corpus.split(tokenizer.encode(corpus.load()))
    loss = evaluate(model, cross_entropy, corpus.windows(validation, 64))
    (setting,) = stored("tales")["settings"]
    assert loss == pytest.approx(setting["runs"][0]["validation"], abs=2e-3)


@pytest.mark.parametrize(("name", "causal", "L"), [("asked", True, 3), ("both_ways", False, 4)])
def test_shipped_readers_do_what_is_stored_of_seed_0(names, name, causal, L):
    whole = checkpoints.load(SHIPPED / name)
    assert whole.extra["vocab"] == names["vocabulary"]
    reader = names["reader_of_words"](L, seed=0, causal=causal)
    checkpoints.restore_model(reader, whole.model)
    measured = names["measures"](reader.eval(), causal, names["asked_ids"])
    (run,) = (
        setting["runs"][0]
        for setting in stored("pronouns")["settings"]
        if (setting["causal"], setting["L"]) == (causal, L)
    )
    for kind, value in measured.items():
        torch.testing.assert_close(
            torch.tensor(value), torch.tensor(run[kind]), atol=5e-3, rtol=0, msg=kind
        )


# ------------------------------------------------------------ the chapter's definitions


def test_no_pair_that_is_asked_was_learned(names):
    def pairs(ids):
        return {tuple(row) for row in ids[:, [names["WHO"], names["WHAT"]]].tolist()}

    assert pairs(names["learned_ids"]).isdisjoint(pairs(names["asked_ids"]))
    assert len(names["learned_ids"]) + len(names["asked_ids"]) == len(names["every_case"])


def test_verb_and_adjective_decide_and_neither_does_alone(names):
    by_verb, by_adjective, by_both, verbs = {}, {}, {}, {}
    for animal, verb, thing, adjective, referent in names["every_case"]:
        kind = referent == animal
        verbs.setdefault(thing, set()).add(verb)
        by_verb.setdefault(verb, set()).add(kind)
        by_adjective.setdefault(adjective, set()).add(kind)
        by_both.setdefault((verb, adjective), set()).add(kind)
    assert all(len(kinds) == 1 for kinds in by_both.values())
    assert all(len(kinds) == 2 for kinds in by_verb.values())
    assert {a for a, kinds in by_adjective.items() if len(kinds) == 2} >= {"wide", "small"}
    assert all(len(of) == 1 for of in verbs.values())  # so the thing can stand for its verb


def test_repeats_repeat_with_their_length(names):
    rows, length = names["repeats"](20, torch.Generator().manual_seed(1))
    for row, n in zip(rows.tolist(), length.tolist(), strict=True):
        assert 4 <= n <= 16
        assert len(set(row[:n])) == n
        assert row[n:] == row[: len(row) - n]


def test_habits_are_the_loops(names):
    generator = torch.Generator().manual_seed(2)
    x = torch.randint(3, (2, 6), generator=generator)
    maps = [torch.rand(2, 2, 6, 6, generator=generator).tril() for _ in range(2)]
    where = torch.rand(2, 6, generator=generator) > 0.3
    found = names["habits"](maps, x, where)
    for layer, head in ((0, 1), (1, 0)):
        wanted = dict.fromkeys(found, 0.0)
        for n, t in where.nonzero().tolist():
            row = maps[layer][n, head, t].tolist()
            wanted["itself"] += row[t]
            wanted["letter before"] += row[t - 1] if t else 0
            for s in range(t):
                if x[n, s] == x[n, t]:
                    wanted["same letter"] += row[s]
                    wanted["what followed it"] += row[s + 1]
        for kind, total in wanted.items():
            mean = total / int(where.sum())
            assert found[kind][layer, head].item() == pytest.approx(mean, abs=1e-5), kind


def test_a_run_computed_again_begins_as_the_stored_one(inside, names):
    losses = []
    rows, length = names["repeats"](128, torch.Generator().manual_seed(99))
    names["learn_to_copy"](
        names["copier"](2, seed=1),
        seed=1,
        steps=inside.EVERY,
        on_step=lambda step, model: (
            step % inside.EVERY or losses.append(names["look_at"](model, rows, length)["loss"])
        ),
    )
    (setting,) = (s for s in stored("copying")["settings"] if s["L"] == 2)
    assert losses == pytest.approx(setting["runs"][1]["losses"][:2], rel=0.02)


def test_a_cut_is_a_weight_of_nothing_and_goes_away_again(names):
    reader = names["reader_of_words"](2, seed=3, causal=False).eval()
    shown, place = names["question"](names["asked_ids"][:5], False)
    before = reader(shown)
    right, *_ = names["candidates"](names["asked_ids"][:5])
    with names["watching"](reader) as maps:
        names["with_cut"](reader, shown, 1, place, right)
    assert (maps[1][torch.arange(5), :, place, right] == 0).all()
    assert (maps[0][torch.arange(5), :, place, right] > 0).all()
    assert torch.equal(reader(shown), before)


def test_a_part_is_all_of_a_head_or_the_difference(names):
    """All that a head reads is what silencing takes out; two parts sum to the whole in W_O."""
    model = names["copier"](2, seed=4)
    ids = torch.randint(32, (3, 9), generator=torch.Generator().manual_seed(4))
    hooks = names["without_heads"](model, [(1, 5)])
    silenced = names["with_hooks"](hooks, model, ids)
    without_part = names["without_part"]
    torch.testing.assert_close(without_part(model, (1, 5), torch.ones(9, 9), ids), silenced)
    with torch.no_grad():
        intact = model(ids)
    assert torch.equal(without_part(model, (1, 5), torch.zeros(9, 9), ids), intact)
    some = without_part(model, (1, 5), torch.eye(9), ids)
    assert not torch.allclose(some, silenced)
    assert not torch.allclose(some, intact)
    torch.testing.assert_close(some[:, 0], silenced[:, 0])  # the first reads itself alone


def test_parts_of_the_first_layer_add_up(names):
    """What two parts add to the stream is what the whole head adds; the rest stands twice."""
    model = names["copier"](1, seed=5)
    ids = torch.randint(32, (2, 7), generator=torch.Generator().manual_seed(5))
    added = []
    hook = model.blocks[0].attention.sublayer.register_forward_hook(
        lambda module, given, out: added.append(out.detach())
    )
    own, results = torch.eye(7), []
    for at in (torch.zeros(7, 7), own, 1 - own, torch.ones(7, 7)):
        names["without_part"](model, (0, 2), at, ids)
        results.append(added[-1])
    hook.remove()
    intact, no_own, no_rest, silenced = results
    torch.testing.assert_close(no_own + no_rest, intact + silenced)


def test_patches_find_by_necessity_what_they_must(names):
    """In a reader that was never trained: all at the adjective below, at the last word above."""
    reader = names["reader_of_words"](2, seed=7).eval()
    grid = names["how_far"](reader, names["of_thing"][:6], names["of_animal"][:6])
    how, ask = names["HOW"], names["ASK"]
    assert grid.shape == (3, names["ANSWER"])
    assert grid[0, how] == pytest.approx(1, abs=1e-4)
    assert grid[-1, ask] == pytest.approx(1, abs=1e-4)
    assert abs(grid[:, :how]).max() < 1e-4
    differ = (names["of_thing"] != names["of_animal"])[:, : names["ANSWER"]]
    assert differ.sum(dim=0).nonzero().flatten().tolist() == [how]


def test_further_tests_are_of_the_same_readers_and_copiers():
    for part, of in (("patching", "pronouns"), ("edges", "copying")):
        (setting,) = stored(part)["settings"]
        wanted = {key: value for key, value in setting.items() if key != "runs"}
        (same,) = (s for s in stored(of)["settings"] if wanted.items() <= s.items())
        measured = "resolved" if part == "patching" else "loss"
        for mine, theirs in zip(setting["runs"], same["runs"], strict=True):
            assert mine[measured] == pytest.approx(theirs[measured], abs=1e-3)


@pytest.mark.parametrize("keep", ["verb", "thing"])
def test_verb_passed_over_tells_who_reads_the_verb(names, keep):
    """Two readers made by hand: one decides by the verb, one by the thing's usual verb."""
    story, ids_by_word = names["STORY"], names["word_id"]
    words = {i: word for word, i in ids_by_word.items()}
    usual = {thing: verb for verb in story for thing in story[verb][0].split()}

    def reader(ids):
        logits = torch.zeros(*ids.shape, len(ids_by_word))
        for row, line in enumerate(ids.tolist()):
            animal, verb, thing, adjective = (
                words[line[names[place]]] for place in ("WHO", "VERB", "WHAT", "HOW")
            )
            verb = verb if keep == "verb" else usual[thing]
            answer = thing if adjective in story[verb][1].split() else animal
            logits[row, :, ids_by_word[answer]] = 1
        return logits

    assert names["verb_passed_over"](reader, True) == (0 if keep == "verb" else 1)
