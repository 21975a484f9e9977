"""Chapter 12's measurements: what ships, what they are made of, and slices of what is stored."""

import dataclasses

import pytest
import torch
from support import ROOT

from helpers import corpus, tokenizers
from helpers.chapters import stored
from helpers.chapters.ch11_small_gpt.lab import trained
from helpers.chapters.ch12_inside_the_gpt import lab
from helpers.chapters.ch12_inside_the_gpt.ablations import (
    habits,
    logit_parts,
    stream_of,
    with_cut,
    with_hooks,
    without_heads,
    without_part,
)
from helpers.chapters.ch12_inside_the_gpt.copiers import copier, repeats
from helpers.chapters.ch12_inside_the_gpt.readers import (
    ANSWER,
    ASK,
    HOW,
    TEACH,
    WHAT,
    WHO,
    couples,
    how_far,
    question,
    reader_of_words,
    referents,
    sentences,
)
from helpers.chapters.lab import max_difference, runs
from helpers.generate import open_model
from helpers.gpt import GPTConfig
from helpers.record import record_attention
from helpers.train import PRESETS, every_field
from helpers.training import TrainingConfig, checkpoints, evaluate
from helpers.training.loop import cross_entropy

SHIPPED = ROOT / "helpers" / "data" / "checkpoints"
MOST_BYTES = 6_000_000
RESULTS = stored(12)


@pytest.fixture
def nothing_ships(monkeypatch):
    monkeypatch.setattr(lab, "ship", None)


# --- what ships -----------------------------------------------------------------------------


def test_checkpoints_are_small_and_hold_parameters_alone():
    files = [path for path in SHIPPED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    assert {path.name for path in files} == {checkpoints.TENSORS, checkpoints.METADATA}
    for folder in sorted(SHIPPED.iterdir()):
        checkpoint = checkpoints.load(folder)
        assert not checkpoint.optimizer
        assert not checkpoint.generators
        dtype = torch.float16 if folder.name == "valley" else torch.float32
        assert {tensor.dtype for tensor in checkpoint.model.values()} == {dtype}


def test_model_of_the_tales_is_the_commands_own():
    """Every field of model and training, the vocabulary, the text, and the sizes of its tensors."""
    whole, part, text = checkpoints.load(SHIPPED / "tales"), RESULTS["tales"], corpus.load()
    assert part["command"] == "python -m helpers.train --preset tales --out runs/inside"
    wanted, preset = every_field(**PRESETS["tales"]), PRESETS["tales"]
    assert {name: list(fields) for name, fields in preset.items()} == {
        name: list(fields) for name, fields in wanted.items()
    }  # the preset itself leaves nothing to defaults
    for kept in (whole.extra, part):
        assert {name: kept[name] for name in wanted} == wanted
    assert whole.config == wanted["training"] | {"context": wanted["model"]["context"]}
    assert whole.config.keys() == {field.name for field in dataclasses.fields(TrainingConfig)}
    assert whole.step == whole.config["steps"]
    assert whole.extra["vocab"] == list(tokenizers.CharTokenizer(text).vocab)
    assert whole.extra["text"] == "tales"


def test_the_command_begins_as_is_stored_and_came_to_the_same_when_it_was_run_again():
    (run,) = runs(RESULTS["tales"])
    first = run["first losses"]
    records = trained(checkpoints.load(SHIPPED / "tales").extra, "tales", 0, halt=len(first))
    assert [record.loss for record in records] == pytest.approx(first, abs=5e-3)
    assert RESULTS["tales"]["made again"]["then"] == pytest.approx(run["then"], abs=0.02)
    kept = checkpoints.load(SHIPPED / "tales").records
    assert [r["validation"] for r in kept] == pytest.approx(run["then"], abs=1e-4)
    assert [r["step"] + 1 for r in kept] == run["after updates"]


def test_its_loss_is_the_stored_one():
    model, tokenizer = open_model(SHIPPED / "tales")
    _, validation = corpus.split(tokenizer.encode(corpus.load()))
    loss = evaluate(model, cross_entropy, corpus.windows(validation, 64))
    (run,) = runs(RESULTS["tales"])
    assert loss == pytest.approx(run["validation"], abs=2e-3)


@pytest.mark.parametrize(("causal", "L"), lab.KEPT)
def test_shipped_readers_do_what_is_stored_of_seed_0(causal, L):
    """They state all that they were made of; the first is patched, too."""
    whole = checkpoints.load(SHIPPED / lab.KEPT[causal, L])
    reader = reader_of_words(L, seed=0, causal=causal)
    assert whole.extra == {
        "vocab": sentences().vocabulary,
        "model": dataclasses.asdict(reader.config),
    }
    assert whole.config == TEACH | {"seed": 0, "causal": causal}
    checkpoints.restore_model(reader.eval(), whole.model)
    then = runs(RESULTS["pronouns"], causal=causal, L=L)[0]
    assert max_difference({"seed": 0} | lab.answers(reader, causal), then) < 5e-3


# --- what is stored -------------------------------------------------------------------------


@pytest.mark.parametrize("part", lab.RUNS)
def test_stored_parts_state_of_what_and_how_their_models_are_made(part):
    made = lab.made(part)
    assert {name: RESULTS[part][name] for name in made} == made
    config = RESULTS[part]["model"]
    assert config.keys() == {f.name for f in dataclasses.fields(GPTConfig)} - {"layers"}


def test_a_reader_taught_again_is_the_stored_one(nothing_ships):
    assert RESULTS["pronouns"]["training"]["steps"] == 500
    found = {"seed": 0} | lab.of_reader(0, causal=False, L=1)
    assert max_difference(found, runs(RESULTS["pronouns"], causal=False, L=1)[0]) < 0.02


def test_a_copier_that_learns_again_begins_as_the_stored_one(monkeypatch):
    """Later its loss falls off a cliff, and two processors reach that some updates apart."""
    monkeypatch.setitem(lab.COPY, "steps", 4 * lab.EVERY)
    found, then = lab.of_copier(0, L=2), runs(RESULTS["copying"], L=2)[0]
    assert found["losses"] == pytest.approx(then["losses"][:5], rel=0.02)
    assert {"seed", *found} == set(then)


# --- what they are made of ------------------------------------------------------------------


def test_no_pair_that_is_asked_was_learned():
    def pairs(ids):
        return {tuple(row) for row in ids[:, [WHO, WHAT]].tolist()}

    assert pairs(sentences().learned_ids).isdisjoint(pairs(sentences().asked_ids))
    assert len(sentences().learned_ids) + len(sentences().asked_ids) == len(sentences().every_case)


def test_verb_and_adjective_decide_and_neither_does_alone():
    by_verb, by_adjective, by_both, verbs = {}, {}, {}, {}
    for animal, verb, thing, adjective, referent in sentences().every_case:
        kind = referent == animal
        verbs.setdefault(thing, set()).add(verb)
        by_verb.setdefault(verb, set()).add(kind)
        by_adjective.setdefault(adjective, set()).add(kind)
        by_both.setdefault((verb, adjective), set()).add(kind)
    assert all(len(kinds) == 1 for kinds in by_both.values())
    assert all(len(kinds) == 2 for kinds in by_verb.values())
    assert {a for a, kinds in by_adjective.items() if len(kinds) == 2} >= {"wide", "small"}
    assert all(len(seen) == 1 for seen in verbs.values())  # so the thing can stand for its verb


def test_repeats_repeat_with_their_length():
    rows, length = repeats(20, torch.Generator().manual_seed(1))
    for row, n in zip(rows.tolist(), length.tolist(), strict=True):
        assert 4 <= n <= 16
        assert len(set(row[:n])) == n
        assert row[n:] == row[: len(row) - n]


def test_habits_are_the_loops():
    generator = torch.Generator().manual_seed(2)
    x = torch.randint(3, (2, 6), generator=generator)
    maps = [torch.rand(2, 2, 6, 6, generator=generator).tril() for _ in range(2)]
    where = torch.rand(2, 6, generator=generator) > 0.3
    found = habits(maps, x, where)
    for layer, head in ((0, 1), (1, 0)):
        wanted = dict.fromkeys(found, 0.0)
        for n, t in where.nonzero().tolist():
            row = maps[layer][n, head, t].tolist()
            wanted["letter before"] += row[t - 1] if t else 0
            for s in range(t):
                if x[n, s] == x[n, t]:
                    wanted["what followed it"] += row[s + 1]
        for kind, total in wanted.items():
            mean = total / int(where.sum())
            assert found[kind][layer, head].item() == pytest.approx(mean, abs=1e-5), kind


def test_a_cut_is_a_weight_of_nothing_and_goes_away_again():
    reader = reader_of_words(2, seed=3, causal=False).eval()
    shown, place = question(sentences().asked_ids[:5], False)
    before = reader(shown)
    right = referents(sentences().asked_ids[:5])
    with record_attention(reader) as maps:
        with_cut(reader, shown, 1, place, right)
    assert (maps[1][torch.arange(5), :, place, right] == 0).all()
    assert (maps[0][torch.arange(5), :, place, right] > 0).all()
    assert torch.equal(reader(shown), before)


def test_a_part_is_all_of_a_head_or_the_difference():
    """All that a head reads is what silencing takes out; two parts sum to the whole in W_O."""
    model = copier(2, seed=4)
    ids = torch.randint(32, (3, 9), generator=torch.Generator().manual_seed(4))
    hooks = without_heads(model, [(1, 5)])
    silenced = with_hooks(hooks, model, ids)
    torch.testing.assert_close(without_part(model, (1, 5), torch.ones(9, 9), ids), silenced)
    with torch.no_grad():
        intact = model(ids)
    assert torch.equal(without_part(model, (1, 5), torch.zeros(9, 9), ids), intact)
    some = without_part(model, (1, 5), torch.eye(9), ids)
    assert not torch.allclose(some, silenced)
    assert not torch.allclose(some, intact)
    torch.testing.assert_close(some[:, 0], silenced[:, 0])  # the first reads itself alone


def test_parts_of_the_first_layer_add_up():
    """What two parts add to the stream is what the whole head adds; the rest stands twice."""
    model = copier(1, seed=5)
    ids = torch.randint(32, (2, 7), generator=torch.Generator().manual_seed(5))
    added = []
    hook = model.blocks[0].attention.sublayer.register_forward_hook(
        lambda module, given, out: added.append(out.detach())
    )
    own, results = torch.eye(7), []
    for at in (torch.zeros(7, 7), own, 1 - own, torch.ones(7, 7)):
        without_part(model, (0, 2), at, ids)
        results.append(added[-1])
    hook.remove()
    intact, no_own, no_rest, silenced = results
    torch.testing.assert_close(no_own + no_rest, intact + silenced)


def test_the_parts_of_a_logit_are_what_is_lost_at_a_fixed_scale(monkeypatch):
    """A linear last norm in its place: without the last network the logit falls by its part."""
    model, tokenizer = open_model(lab.SHIPPED / "tales")
    ids_T = tokenizer.encode("The fox did not cross the strea")
    m, d = map(tokenizer.vocab.index, "md")
    model.double()
    parts, of_d, lead = (logit_parts(model, ids_T, *words) for words in ((m,), (d,), (m, d)))
    assert lead == pytest.approx({name: parts[name] - of_d[name] for name in parts})
    (x_C,) = stream_of(model, ids_T[None])[-1][:, -1].detach()
    factor_C = model.norm.weight / (x_C.square().mean() + 1e-5).sqrt()
    monkeypatch.setattr(model.norm, "forward", lambda x_BTC: x_BTC * factor_C)
    down = model.blocks[-1].feed_forward.sublayer.down
    silent = down.register_forward_pre_hook(lambda module, given: (0 * given[0],))
    left = with_hooks([silent], model, ids_T[None])[0, -1, m].item()
    whole = model(ids_T[None])[0, -1, m].item()
    assert sum(parts.values()) == pytest.approx(whole)
    assert parts["feed-forward", model.config.layers - 1] == pytest.approx(whole - left)
    with pytest.raises(ValueError, match="RMSNorm"):
        logit_parts(reader_of_words(1, seed=0), torch.tensor([1, 2]), 3)


def test_patches_find_by_necessity_what_they_must():
    """In a reader that was never trained: all at the adjective below, at the last word above."""
    reader = reader_of_words(2, seed=7).eval()
    of_thing, of_animal = couples()
    grid = how_far(reader, of_thing[:6], of_animal[:6])
    assert grid.shape == (3, ANSWER)
    assert grid[0, HOW] == pytest.approx(1, abs=1e-4)
    assert grid[-1, ASK] == pytest.approx(1, abs=1e-4)
    assert abs(grid[:, :HOW]).max() < 1e-4
    differ = (of_thing != of_animal)[:, :ANSWER]
    assert differ.sum(dim=0).nonzero().flatten().tolist() == [HOW]
