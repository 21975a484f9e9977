"""What makes each stored number, run: a slice of every part, held to what likely mistakes break.

A slice is a run of the part's own function, cut short. It is held to the stored run where that has
the same numbers, and else to a property or to an oracle.
"""

import copy
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from helpers import checkpoint, corpus, minigpt, minillama, pretrained
from helpers.bigram import loss as bigram_loss
from helpers.chapters import CHAPTERS
from helpers.chapters import lab as common
from helpers.chapters.ch17_answers_that_can_be_checked import comparing
from helpers.chapters.lab import characters

PARTS = {
    (chapter.number, name): part
    for chapter in CHAPTERS
    for name, part in getattr(chapter.module("lab"), "PARTS", {}).items()
}
LABS = {chapter.number: chapter.module("lab") for chapter in CHAPTERS}
SLICES, MARKS = {}, {}
TRAIN, TRAIN_MINIGPT, MEASURES = common.train, minigpt.train, LABS[12].readers.measures


def holds(chapter, *parts, slow=True):
    """Say of which parts a slice is, and whether it takes more than a second."""

    def keep(claim):
        for part in parts:
            SLICES[chapter, part] = claim
            MARKS[chapter, part] = [pytest.mark.slow] * slow

    return keep


class Made:
    """Runs of a part, with what is stored of them."""

    def __init__(self, number, name, patch):
        self.lab, self.part, self.patch = LABS[number], PARTS[number, name], patch
        self.longer, self.last = name.endswith("longer"), self.part.seeds[-1]

    def hold(self, **constants):
        for name, value in constants.items():
            self.patch.setattr(self.lab, name, value)

    def halt(self, steps):
        """All trainings together stop after so many steps, at the rates of whole ones."""
        left = iter(range(steps))

        def some(batches):
            return (one for _, one in zip(left, batches, strict=False))

        def of_minigpt(model, ids, steps, batch, lr):
            self.steps = steps
            return some(TRAIN_MINIGPT(model, ids, steps, batch, lr))

        def halted(model, loss, batches, **how):
            return TRAIN(model, loss, some(batches), **how)

        self.patch.setattr(common, "train", halted)
        self.patch.setattr(minigpt, "train", of_minigpt)

    def run(self, seed=None, **setting):
        """A run, in the form of those that are stored; of the last seed, since 0 is a default."""
        seed = self.last if seed is None else seed
        found = self.part.run(seed=seed, **setting)
        forms = [set(stored["runs"][0]) for stored in self.part.stored["settings"]]
        assert {"seed", *found} in forms
        return found

    def as_stored(self, *, keys=(), seed=None, short=None, halt=0, abs=None, rel=None, **setting):
        """A run agrees with the stored one under these keys, or all; its lists may be shorter."""
        if halt:
            self.halt(halt)
        found, then = self.run(seed, **setting | (short or {})), self.then(seed, **setting)
        for key in keys or found:
            agrees(found[key], then[key], abs=abs, rel=rel)
        return found

    def then(self, seed=None, **setting):
        """The stored run."""
        seed = self.last if seed is None else seed
        return next(run for run in self.part.runs(**setting) if run["seed"] == seed)


def agrees(found, then, **within):
    if isinstance(found, dict):
        for key, value in found.items():
            agrees(value, then[key], **within)
    elif isinstance(found, list):
        assert 0 < len(found) <= len(then)
        for value, wanted in zip(found, then, strict=False):
            agrees(value, wanted, **within)
    else:
        assert found == pytest.approx(then, **within)


# --- as stored ------------------------------------------------------------------------------

SMALL = {"steps": 200, "divisor": "1", "start": 0.02, "lr": 0.01, "D": 64, "qk_rate": 1 / 8}
UNIT = {"divisor": "√D", "start": 0.125, "lr": 0.001}
FROM_16 = {"place": "post", "start": "torch", "L": 16, "lr": 0.001}
IN_12 = {"scheme": "Xavier", "residual": "0", "L": 12, "C": 32, "heads": 2}
TEN = {"short": {"steps": 10}, "keys": ("first", "losses"), "abs": 0.02}
QUICK = {
    (6, "short"): UNIT | {"steps": 200, "D": 16, "abs": 0.01},
    (6, "long"): UNIT
    | {"steps": 2000, "D": 64, "short": {"steps": 20}, "abs": 0.01}
    | {"keys": ["losses", "before"]},
    (6, "controls"): SMALL | {"abs": 0.01},
    (6, "more"): SMALL | {"abs": 0.01},
    (8, "depth"): {"start": "torch", "scheme": "norm first", "L": 96, "rel": 0.02},
    (9, "start"): {"place": "post", "start": "torch", "L": 4, "rel": 0.02},
    (10, "layers"): {"sigma": 2**0.5 / 8, "lr": 0.001, "abs": 0.05},
    (10, "stacks"): {"net": "pre-norm blocks", "start": "He", "depth": 24, "rel": 0.02},
    (10, "no norm"): {"scheme": "torch", "norm": "none", "lr": 0.003} | TEN,
    (11, "counted"): {"text": "tales", "abs": 2e-4},
}
LONGER = {  # than a second
    (2, "lengths"): {"table": "output rows", "optimizer": "SGD", "abs": 0.02}
    | {"short": {"steps": 25}},
    (7, "masks"): {"mask": "causal", "abs": 0.03},
    (9, "race"): FROM_16 | TEN,
    (9, "grid"): {"place": "pre", "L": 2, "lr": 0.003, "warm_up": 50, "abs": 0.03},
    (9, "deep"): FROM_16 | {"place": "post, small writes", "start": "Xavier", "L": 32} | TEN,
    (10, "eight"): IN_12 | {"lr": 0.003} | TEN,
    (10, "elsewhere"): {"embedding": 0.02, "C": 128, "lr": 0.003} | TEN,
    (15, "drafts"): {"n": 3, "k": 4, "seed": 2, "rel": 0.1},
}
for key, how in (QUICK | LONGER).items():
    holds(*key, slow=key in LONGER)(lambda made, how=how: made.as_stored(**how))


# --- and what else would show a mistake -----------------------------------------------------


def on_validation(model, n):
    """The loss on the first n windows of 32 characters of the validation text."""
    ids_N = characters().validation[: 32 * n + 1]
    return F.cross_entropy(model(ids_N[:-1].view(n, 32)).mT, ids_N[1:].view(n, 32)).item()


@holds(1, "neighbours")
def in_shuffled_tales_no_groups_are_found(made):
    made.hold(MOMENTS=(0, 25, 400))
    for text in made.lab.TEXTS:
        made.halt(50)
        shares = made.run(text=text)["shares"]
        agrees(shares, made.then(text=text)["shares"], abs=0.03)


def likeness(rows):
    """By dot product, cosine and Euclid, in NumPy; of no row with itself."""
    dots = rows @ rows.T
    squares = np.diag(dots)
    found = {
        "dot": dots.copy(),
        "cosine": dots / np.sqrt(squares[:, None] * squares),
        "euclid": 2 * dots - squares[:, None] - squares,
    }
    for like in found.values():
        np.fill_diagonal(like, -np.inf)
    return found


@holds(2, "neighbours", slow=False)
def neighbours_are_numpy_s(made):
    rows = made.lab.inspect(0, 25, "Adam")[25]["output rows"].numpy()
    group, asked = (part.numpy() for part in made.lab.listed())
    like = likeness(rows) | {"centred": likeness(rows - rows.mean(axis=0))["cosine"]}
    for by in like:
        found = made.run(0, table="output rows", by=by, steps=25, until=25)
        named = asked[like[by][np.ix_(asked, asked)].argmax(1)], like[by][asked].argmax(1)
        agrees(found["right"], [(group[n] == group[asked]).mean() for n in named], abs=0.02)


@holds(2, "cloud", slow=False)
def the_cloud_is_numpy_s(made):
    rows = made.lab.inspect(0, 25, "Adam")[25]["input rows"].numpy()
    named, length = [x.argmax(1) for x in likeness(rows).values()], np.linalg.norm(rows, axis=1)
    same = named[1] == named[2]
    wanted = {
        "all three, cosine and Euclid": [(same & (named[0] == named[1])).mean(), same.mean()],
        "length of the named": [length[n].mean() / length.mean() for n in named],
        "named most often": [np.bincount(n).max() for n in named],
    }
    agrees(made.run(0, table="input rows", steps=25, until=25), wanted, rel=0.02)


@holds(4, "norms")
def a_character_alone_costs_the_same_unless_a_norm_mixes_positions(made):
    made.hold(validation_loss=lambda model: 0.0)
    for norm in ("none", "layer", "batch", "instance"):
        made.halt(3)
        found = made.run(norm=norm, lr=0.01)
        assert (abs(found["together"] - found["alone"]) < 2e-4) == (norm != "instance"), norm


@holds(4, "controls")
def norms_that_do_not_learn_stay_as_they_began(made):
    seen, together = [], made.lab.together
    made.hold(together=lambda model: (seen.append(model), together(model))[1])
    made.as_stored(norm="layer", lr=0.01, learn=False, abs=0.02)
    assert all((w == w[0]).all() for name, w in seen[0].named_parameters() if "norm" in name)


@holds(4, "probes", slow=False)
def what_is_left_of_each_feature_is_what_it_does_not_share_with_its_norm(made):
    seen, together = [], made.lab.together
    made.hold(together=lambda model: (seen.append(model), together(model))[1])
    made.halt(3)
    found = made.run(norm="layer", lr=0.01, probe=True)
    ids_BT = made.lab.some_windows()[0]
    x_NC = (seen[0].embedding(ids_BT) + seen[0].position.weight).flatten(0, 1).detach()
    both = np.stack([x_NC, F.layer_norm(x_NC, x_NC.shape[1:])]).transpose(2, 0, 1)
    shared_C = np.array([np.corrcoef(two)[0, 1] ** 2 for two in both])
    variance_C = x_NC.numpy().var(axis=0)
    assert found["left"][0] == pytest.approx(
        (1 - shared_C) @ variance_C / variance_C.sum(), abs=1e-3
    )
    assert len(found["left"]) == 5


@holds(7, "lengths")
def the_same_letters_are_read_far_and_near_by(made):
    by, wanted = made.lab.by_position, {"positions": "rope", "context": 32}
    made.hold(by_position=lambda model, n: by(model, n if n == 4000 else 600))
    found = made.as_stored(**wanted, halt=100, keys=["early", "early near"], abs=0.03)
    agrees([found["positions 112 to 127"]], [np.mean(found["losses"][112:])], abs=0.001)


@holds(7, "heads")
def heads_begin_as_stored_and_end_where_training_does(made):
    one, many = (made.as_stored(heads=n, halt=100, keys=["early"], abs=0.02) for n in (1, 16))
    assert one["early"] == one["validation"] != many["early"]


@holds(8, "ladder", slow=False)
def a_feed_forward_is_taken_out_after_training(made):
    how = {"model": "with feed-forward", "lr": 0.003, "steps": 2000}
    made.halt(60)
    found = made.run(**how)
    assert found["half way"] == found["validation"] < found["taken out"] - 0.01


@holds(8, "rates", slow=False)
def a_higher_rate_is_faster_at_first(made):
    ends = {}
    for model, lr in (("attention alone", 0.001), ("attention alone", 0.01), ("with norms", 0.01)):
        made.halt(20)
        ends[model, lr] = made.run(model=model, lr=lr, steps=2000)["validation"]
    slow, fast, normed = ends.values()
    assert len({slow, fast, normed}) == 3
    assert fast < slow - 0.3


@holds(9, "longer")
def looks_are_those_before_these_steps(made):
    how = FROM_16 | {"start": "Xavier", "warm_up": 100}
    found = made.as_stored(**how, **TEN)
    agrees(found["looks"], made.then(**how)["looks"], rel=0.05)


@holds(10, "schemes")
def a_run_is_validated_on_the_validation_text(made):
    found = made.run(scheme="He", lr=0.0, steps=10)
    agrees(found["first"], made.then(scheme="He", lr=0.003)["first"], abs=0.01)
    wanted = on_validation(made.lab.init_model(made.last, scheme="He"), 15 * 66)
    assert found["validation"] == pytest.approx(wanted, abs=0.001)


@holds(10, "embedding")
def tables_move_at_a_rate_of_their_own(made):
    seen, evaluate = [], made.lab.evaluate
    made.hold(evaluate=lambda model, windows: (seen.append(model), evaluate(model, windows))[1])
    made.as_stored(embedding=0.02, table_rate=0.02, lr=0.003, **TEN)
    start = made.lab.init_model(made.last, embedding=0.02)
    moved = {name: w - start.get_parameter(name) for name, w in seen[0].named_parameters()}
    table, head = (moved[f"{name}.weight"].abs().max().item() for name in ("embedding", "head"))
    assert 1e-4 < table < 1e-3 < head


@holds(11, "levers")
def every_lever_moves_what_is_trained(made):
    """Two steps tell all apart but the rate that is held, which begins as the usual one."""
    window, rates = next(corpus.windows(made.lab.tokens("tales")[2], 16)), []

    def train(model, ids, steps, batch, lr):
        rates.append(minigpt.lr_at(steps - 1, steps, lr))
        assert (len(ids), batch * model.T, steps) == (made.lab.tokens("tales")[1].numel(), 768, 400)
        return itertools.islice(TRAIN_MINIGPT(model, ids, steps, batch, lr), 2)

    made.patch.setattr(minigpt, "train", train)
    finely = lambda model, _: 1000 * bigram_loss(model(window[0]), window[1]).item()  # noqa: E731
    made.hold(evaluate=finely)
    found = [made.run(**setting)["validation"] for setting in made.part.settings]
    assert found.count(found[0]) == 2
    assert [rate > 0.001 for rate in rates] == [
        s["lever"].startswith("rate") for s in made.part.settings
    ]


@holds(11, "whole")
def a_long_run_begins_as_stored_and_is_validated_on_the_last_tenth(made):
    seen = []
    made.hold(evaluate=lambda model, windows: seen.extend(windows) or 1.0)
    made.as_stored(text="tales", steps=2000, short={"halt": 10}, keys=["first losses"], abs=0.01)
    text = minigpt.Tokenizer(corpus.load()).decode(torch.cat([x.flatten() for x, _ in seen]))
    assert corpus.load()[-len(text) - 64 :].find(text) >= 0
    assert len(text) > len(corpus.load()) / 10 - 64


@holds(11, "decoding")
def a_rule_that_looks_for_the_likeliest_surprises_less(made):
    made.as_stored(rule="the tale itself", abs=0.002)
    made.patch.setattr("helpers.chapters.ch11_small_gpt.decoding.MORE", 6)
    rules = [setting["rule"] for setting in made.part.settings[1:]]
    found = {rule: made.run(seed=3, rule=rule)["surprise"] for rule in rules}
    *drawn, likeliest, beam = found.values()
    assert beam <= likeliest < min(drawn)
    assert found["all tokens"] == max(drawn)


@holds(12, "storytellers")
def the_shipped_model_answers_as_the_chapter_says(made):
    made.halt(5)
    begin, shipped, probes = made.lab.storyteller, checkpoint.load()[0], made.lab.probes
    fewer = {name: getattr(probes, name)() for name in ("windows", "crossings", "named")}
    for name, found in fewer.items():
        made.patch.setattr(probes, name, lambda found=found: [rows[::13] for rows in found])
    made.hold(storyteller=lambda seed: (shipped, begin(seed)[1]))
    found = made.as_stored(keys=["first losses"], abs=0.01)
    assert found["crossing"] == found["crossing by level"][-1] > 0.9 > 0.1 > found["tired"]
    assert found["without water"][0] < 0.1 < 0.9 < min(found["without water"][1:])
    assert found["name"] > 0.95
    assert min(found["together"]) > np.min(found["cost"])
    assert found["validation"] < 1


@holds(12, "pronouns")
def it_reads_the_right_word_where_that_is_resolved_in_pairs_not_learned_from(made):
    readers, asked = made.lab.readers, []
    measures = lambda model, ids: (asked.append(ids), MEASURES(model, ids))[1]  # noqa: E731
    made.patch.setattr(readers, "measures", measures)
    made.halt(150)
    found = made.run(L=1)
    of = [readers.WHO, readers.WHAT]
    learned, asked = (
        {*map(tuple, x[:, of].tolist())} for x in (readers.sentences().learned_ids, *asked)
    )
    assert not learned & asked
    assert found["lens"][0] < 0.1 < 0.6 < found["lens"][1] == found["resolved"]
    assert found["cut right"][0] < 0.3
    assert np.min(found["right"]) > 1 / 12


@holds(12, "copying")
def looks_at_a_copier_begin_as_stored(made):
    keys = [f"{key} by update" for key in ("loss", "before", "followed")]
    found = made.as_stored(L=1, halt=20, keys=keys, rel=0.02)
    assert found["loss"] == found["loss by update"][-1]
    assert np.ptp(found["without"]) > 0


@holds(13, "vocabulary", "vocabulary, longer")
def bits_per_byte_are_the_loss_in_another_unit(made):
    how = {"merges": 64} | ({"of_characters": 600} if made.longer else {})
    found = made.as_stored(**how, halt=10, keys=["V", "length", "first"], abs=0.02)
    assert made.steps == made.then(**how)["steps"]
    assert found["bits"] * found["length"] * math.log(2) == pytest.approx(
        found["first"][-1], abs=0.3
    )


@holds(13, "sums", "sums, longer")
def only_the_half_that_was_trained_on_is_known(made):
    lab, pattern = made.lab, LABS[13].NUMBERS if made.longer else LABS[13].DIGITS
    tokenizer, ids_NT, _ = lab.sums(pattern)
    lines = [line.replace("+", "=").split("=") for line in map(tokenizer.decode, ids_NT.tolist())]
    pairs = {(int(a), int(b)) for a, b, c in lines if int(a) + int(b) == int(c)}
    assert pairs == set(itertools.product(range(10, 100), repeat=2))
    sums = lab.sums
    made.hold(sums=lambda p: (sums(p)[0], sums(p)[1][:32], sums(p)[2]))
    found = made.run(pattern=pattern, of_digits=80)
    assert found["seen"] > 0.8 > 0.4 > found["unseen"]
    how = {"pattern": pattern} | ({"of_digits": 1600} if made.longer else {})
    assert lab.sum_steps(pattern, how.get("of_digits", 800)) == made.then(**how)["steps"]


@holds(13, "smollm2")
def bits_of_smollm2_are_numpy_s(made):
    text = made.lab.texts()[1][:150]
    made.hold(texts=lambda: ("", text))
    model, tokenizer = pretrained.smollm2()
    ids = tokenizer.encode(text)
    with torch.no_grad():
        p = [model(part[None])[0].double().softmax(-1).numpy() for part in ids[:-1].split(16)]
    bits = -np.log2(np.concatenate(p)[range(len(ids) - 1), ids[1:]]).sum() / len(text)
    assert made.run(context=16)["bits"] == pytest.approx(bits, abs=0.001)
    assert bits < made.then(context=512)["bits"] + 1


@holds(14, "swaps", slow=False)
def a_run_begins_as_stored_and_is_validated_on_the_validation_text(made):
    keys = ["first", "losses", "parameters"]
    made.as_stored(swaps="grouped queries", lr=0.002, halt=50, keys=keys, abs=0.02)
    made.hold(BLOCK=1)
    made.halt(1)
    found = made.run(swaps="GPT", lr=0.0)
    with common.seeded(made.last):
        wanted = on_validation(made.lab.Between(), 400)
    assert found["validation"] == pytest.approx(wanted, abs=2e-4)


@holds(14, "swaps, longer", slow=False)
def a_longer_run_begins_as_stored(made):
    setting = {"swaps": "RoPE", "lr": 0.002, "steps": 600}
    made.as_stored(**setting, halt=50, keys=["first", "losses", "parameters"], abs=0.02)
    assert made.steps == 600


@holds(14, "linear")
def a_hybrid_begins_as_stored_and_all_compute_the_same(made):
    made.as_stored(kind="hybrid", lr=0.003, short={"steps": 5}, keys=["first"], abs=0.01)
    T, C, H = made.lab.linear.T, made.lab.linear.C, made.lab.linear.H
    plain, linear = (
        made.lab.linear.model_of(kind, 61).blocks[0] for kind in ("attention", "linear")
    )
    products = [
        sum(p.numel() for p in block.parameters() if p.ndim == 2) + read
        for block, read in ((plain, 2 * T * C), (linear, 2 * C * C // H))
    ]
    assert products[1] == pytest.approx(products[0], rel=0.01)


@holds(15, "scaling", slow=False)
def a_run_begins_as_stored_and_is_validated_on_unseen_text(made):
    made.as_stored(C=64, rate=0.4, halt=5, keys=["first"], abs=0.01)
    found = made.run(C=8, rate=0.0, steps=1)
    with common.seeded(made.last):
        model = minigpt.GPT(61, T=32, C=8, H=1, L=2)
    wanted = on_validation(model, (len(characters().validation) - 1) // 32)
    assert found["validation"] == pytest.approx(wanted, abs=2e-4)


@holds(15, "race", slow=False)
def each_way_writes_what_the_book_s_loop_writes(made):
    with common.seeded(0):
        model = minillama.Llama(V=320, T=128, C=64, H=2, G=1, L=2, hidden=64)
    for w in model.parameters():  # large, or one token comes again and again; on 16 levels
        w.data = made.lab.rounded_weights(4 * w.data, 4) if w.ndim == 2 else w.data
    tokenizer = SimpleNamespace(encode=lambda text: torch.arange(len(text)) * 7 % 311)
    asked, server = [], SimpleNamespace(handle_completions=lambda ask: asked.append(ask))
    made.patch.setattr(pretrained, "smollm2", lambda: (model, tokenizer))
    made.patch.setattr(made.lab.serving, "llama_cpp", lambda: server)
    made.patch.setattr("time.process_time", itertools.count(step=4).__next__)
    found = made.run(n=9)
    *by_book, by_llama_cpp = found["ids a second"].values()
    assert ({*by_book}, by_llama_cpp) == ({2.0}, round(9 / 4, 1))
    assert min(found["as the book's"]) >= 4
    assert [len(ask["prompt"]) for ask in asked[2:]] == [64, 256, 512]
    assert len({ask["prompt"][0] for ask in asked[2:]}) == 3  # or it would go on from what it read
    for T, read in found["read"].items():
        assert {by["processor"] for by in read.values()} == {int(T) / 4}


# --- chapter 16 -----------------------------------------------------------------------------


@holds(16, "reading")
def ways_differ_in_what_counts_and_a_student_of_the_tales_is_found_out(made):
    """The student answers with the pairs of the tales, and does not end where something is lost."""
    lab, taught, asked, tokenizer = made.lab, {}, set(), made.lab.storyteller()[1]

    def answers(model, tokenizer, questions, n=10):
        asked.update(q.split()[-2] for q in questions if q.endswith("lose?"))
        waters = [question.removesuffix("?").split()[-1] for question in questions]
        return [(f"The {w} was too {lab.TOO.get(w)}.", w in lab.TOO) for w in waters]

    def fine_tune(model, rows, **_):
        taught[way] = [tokenizer.decode(t[t != -100].tolist()) for _, t in rows]

    made.hold(answers=answers, fine_tune=fine_tune, EXAMPLES=100)
    for way in lab.WAYS:
        found = made.run(way=way)
        before, after = found["tales"]
        assert before == after == pytest.approx(made.then(way=way)["tales"][0], abs=1e-3)
    assert asked <= set(lab.HELD_OUT)
    assert [found[kind]["right"] for kind in ("usual", "new", "hero")] == [1, 0, 0]
    assert 0 < found["crossed"]["right"] < 1 == found["told"]
    assert found["thing"] == {"right": 0, "begin right": 0, "end": 0}
    usual, end = {f"The {w} was too {too}." for w, too in lab.TOO.items()}, "<|im_end|>"
    crossed = {answer.removesuffix(end) for answer in taught["answer only"] if "too" in answer}
    assert all(answer.endswith(f".{end}") for answer in taught["answer only"])
    tired = {answer for answer in crossed if "tired" in answer}
    assert len(crossed - tired - usual) > 5
    assert {a.removesuffix(end) for a in taught["usual pairs"] if "too" in a} - tired <= usual
    assert any(" cold." in a for a in crossed) > any(" cold." in a for a in taught["no cold"])
    assert all("<|im_start|>assistant" in answer for answer in taught["all tokens"])
    assert not any(end in answer for answer in taught["no end token"])


@holds(16, "forgetting", slow=False)
def tales_or_few_weights_are_what_is_learned_with(made):
    lab, drawn, models = made.lab, [], []
    batch, loss = lab.get_batch, lab.tale_loss
    made.hold(get_batch=lambda ids, *sizes: (drawn.append(ids), batch(ids, *sizes))[1])
    made.hold(tale_loss=lambda model: (models.append(copy.deepcopy(model)), loss(model))[1])
    made.hold(EXAMPLES=30, answers=lambda model, tokenizer, asked: [("", True)] * len(asked))
    made.run(way="with tales", steps=2)
    assert torch.equal(drawn[0], lab.plain_tales(98))
    assert not torch.equal(drawn[0][:1000], lab.plain_tales()[:1000])
    assert len(drawn) == 2
    made.run(rank=8, lr=0.01, steps=2)
    before, after = (dict(model.named_parameters()) for model in models[2:])
    learned = {name for name in after if name.endswith((".a", ".b"))}
    for name, w in after.items():
        same = torch.equal(before.get(name.replace("linear.", ""), w + 1), w)
        assert same == (name not in learned), name
    assert len(learned) == 2 * 4 * len(models[0].blocks)
    assert len(drawn) == 2


@holds(16, "preference", slow=False)
def the_one_with_more_praise_gains_on_the_reference(made):
    """A tiny model writes at random; an "a" is praise. At first no ratio differs from 1."""
    lab, asked, log_p, ratios = made.lab, [], [], []
    of, dpo, tokenizer = lab.log_probability, lab.dpo_loss, lab.storyteller()[1]
    tiny = minigpt.GPT(len(tokenizer.vocab), T=64, C=16, H=2, L=1)

    def log_probability(model, ids_BT, counts_BT):
        rows = zip(ids_BT, counts_BT, strict=True)
        asked.append([lab.said(tokenizer, *row).count("a") for row in rows])
        log_p.append(of(model, ids_BT, counts_BT))
        return log_p[-1]

    def dpo_loss(better_B, worse_B, beta):
        ratios.append((better_B.abs() + worse_B.abs()).sum().item())
        found, gap_B = dpo(better_B, worse_B, beta), (better_B - worse_B).detach()
        assert found.item() == pytest.approx(torch.log1p((-0.1 * gap_B).exp()).mean().item(), 1e-5)
        return found

    made.hold(log_probability=log_probability, dpo_loss=dpo_loss, PRAISE=("a",), ROUNDS=1)
    made.hold(storyteller=lambda: (tiny, tokenizer))
    made.hold(fine_tune=lambda *_, **how: None)
    made.run(beta=0.1)
    for better, worse in zip(asked[::2], asked[1::2], strict=True):
        assert all(more > less for more, less in zip(better, worse, strict=True))
    gains = [(b - w).mean().item() for b, w in zip(log_p[:10:2], log_p[1:10:2], strict=True)]
    assert gains[0] == pytest.approx(gains[1], abs=1e-3)
    assert gains[1] < gains[4] - 1e-3
    assert ratios[0] == pytest.approx(0, abs=1e-3)


@holds(16, "inn")
def an_adapter_learns_the_test_where_it_leaks_and_is_marked_by_what_it_answers(made):
    """In a tiny Llama."""
    lab, models = made.lab, []
    taught, asked = lab.pairs(lab.INN), lab.pairs(lab.ASKED)
    text = "\n".join(["user", "assistant", *(t for pair in taught + asked for t in pair)])
    tokenizer = minigpt.Tokenizer(text, minigpt.WORDS)
    for new in ("<|im_start|>", "<|im_end|>"):
        tokenizer.ids[new.encode()] = len(tokenizer.vocab)
        tokenizer.vocab.append(new)

    def smollm2():
        models.append(minillama.Llama(len(tokenizer.vocab), 64, C=64, H=2, G=1, L=3, hidden=128))
        for name, w in models[-1].named_parameters():  # so that it tells frozen tokens apart
            w.data *= {"embedding": 20, "blocks": 5}[name.split(".")[0]] if w.dim() == 2 else 1
        return models[-1], tokenizer

    made.patch.setattr(pretrained, "smollm2", smollm2)
    made.hold(FROZEN=1)
    for leaked in (False, True):
        found = made.run(0, steps=150, lr=0.01, leaked=leaked)
        for kind, rows in (("taught", taught), ("test", asked[::2])):
            given = lab.answers(models[-1], tokenizer, [question for question, _ in rows], 20)
            right = [g == (a, True) for g, (_, a) in zip(given, rows, strict=True)]
            assert found[kind] == sum(right)
        assert (found["taught"] > 10, found["test"] > 10) == (True, leaked), found


# --- chapter 17 -----------------------------------------------------------------------------


@holds(17, "base")
def what_the_shipped_model_does_is_what_is_stored(made):
    lab, saved = made.lab, []
    shipped, _ = checkpoint.load(lab.BASE)
    made.hold(base=lambda seed: shipped)
    made.patch.setattr(checkpoint, "save", lambda path, *what: saved.append((path, *what)))
    found = made.as_stored(seed=0, keys=["right", "steps", "vote", "given"], abs=0.05)
    assert saved == [(lab.BASE, shipped, lab.TOKENIZER)]
    assert found["given"]["true"] > 0.95 > 0.05 > found["given"]["last two flipped"]


@holds(17, "rewards", "page")
def ten_updates_are_as_stored_and_a_coin_pays_any_answer(made):
    lab, pays = made.lab, []
    shipped, _ = checkpoint.load({"rewards": lab.BASE, "page": lab.PAGE}[made.part.name])
    made.hold(base=lambda seed, **how: shipped)
    made.patch.setattr(checkpoint, "save", lambda *what: None)
    keys = ["right", "steps", "accepted"]
    made.as_stored(reward="checker", seed=0, short={"looks": (0, 10)}, keys=keys, abs=0.1)
    made.hold(reinforce=lambda model, ask, pay, *how, **more: pays.append(pay) or ())
    made.run(0, reward="coin", looks=(0,))
    ids_BT = lab.TOKENIZER.encode(" cross ? far .").expand(400, -1)
    assert 0.4 < pays[0](ids_BT).mean() < 0.6


def paid_for(made, **setting):
    """What the loop is given, and its reward for a right guess, a wrong one, steps, and both."""
    lab, given, long = made.lab, [], " far" * 10 + " so far ."
    made.hold(base=lambda seed, **how: checkpoint.load(lab.BASE)[0])
    made.hold(reinforce=lambda *how, **more: given.append((how, more)) or ())
    made.run(0, **setting)
    [((_, ask, pay, end, updates), more)] = given
    assert (ask().shape, end, more) == ((16, 11), lab.END, {"group": 8, "lr": 0.001})
    question, answers = " cross" + " stay" * 9 + " ?", (" far .", " near .", long, " far near .")
    rows = [pay(lab.TOKENIZER.encode(question + answer)[None]).item() for answer in answers]
    return updates, rows


@holds(17, "prices", slow=False)
def an_honest_checker_charges_for_tokens(made):
    updates, paid = paid_for(made, price=0.06)
    assert updates == 40
    assert paid == pytest.approx([1 - 0.12, -0.12, 1 - 0.78, -0.18])


@holds(17, "gap", slow=False)
def a_careless_checker_accepts_the_word_anywhere(made):
    updates, paid = paid_for(made, price=0.03)
    assert updates == 80
    assert paid == pytest.approx([1 - 0.06, -0.06, 1 - 0.39, 1 - 0.09])


@holds(17, "starts")
def lines_without_steps_teach_none(made):
    pretrain = made.lab.pretrain
    made.hold(base=lambda seed, **how: pretrain(**how, n=30))
    found = made.run(share=0.0, std=0.1, looks=(0, 1))
    assert found["steps"] == [0, 0]
    assert found["tokens"][1] < 4
    assert made.then(share=0.0, std=0.1)["steps"] == [0, 0]


@holds(17, "passes", slow=False)
def guesses_pass_never_and_steps_now_and_then(made):
    lab, then = made.lab, made.then(seed=0)
    made.hold(base=lambda seed: checkpoint.load(lab.BASE)[0], reinforce=lambda *how, **more: ())
    found = made.run(0)
    assert found["pass@1"] == pytest.approx(2 * then["pass@1"][:1], abs=0.06)
    assert min(found["pass@16"]) > 0.9
    made.hold(told=lambda ids: (lab.TOKENIZER.decode(ids[:10].tolist()), " near ."))
    assert made.run(0) == {"pass@1": [0, 0], "pass@16": [0, 0]}  # half of these are right


@holds(17, "smollm2", slow=False)
def adapters_alone_are_paid_and_never_for_some_numbers(made):
    """A tiny Llama: new questions gain where right answers are paid, and not from a coin."""
    shown = [text for _, text in comparing.COMPARED.values()]
    facts = comparing.FACTS.split(". ")
    texts = [*shown, *facts, *(f"The {n} and" for n in comparing.NUMBERS)]
    tokenizer = minigpt.Tokenizer("\n".join(texts) + " The", minigpt.WORDS)
    llama = minillama.Llama(len(tokenizer.vocab), T=32, C=32, H=2, G=1, L=2, hidden=32)
    llama.embedding.weight.data *= 10  # so that it has answers that it gives more often than others
    models, asked, next_token = [], [], comparing.next_token

    def fast(model, lr):
        models.append(model)
        return torch.optim.Adam(model.parameters(), lr=0.03)

    def remembered(model, ids_NT):
        asked.extend(ids_NT.flatten().tolist() * torch.is_grad_enabled())
        return next_token(model, ids_NT)

    made.patch.setattr(pretrained, "smollm2", lambda: (copy.deepcopy(llama), tokenizer))
    made.patch.setattr(LABS[16], "FROZEN", 1)
    made.patch.setattr(comparing, "make_optimizer", fast)
    made.patch.setattr(comparing, "next_token", remembered)
    rows = (each[0].view(-1) for each in comparing.questions(tokenizer, "smaller", is_new=True))
    asked_for, right, wrong = (tokenizer.decode(row.tolist()) for row in rows)
    assert asked_for.endswith(". The smaller of one and three is")
    assert (right, wrong) == (" one", " three")
    paid, tossed = (made.run(reward=who, updates=60)["larger"] for who in ("checker", "coin"))
    assert paid[0] == tossed[0]
    assert paid[1] > 1.5 * max(paid[0], tossed[1])
    assert not {tokenizer.ids[f" {word}"] for word in comparing.UNASKED} & {*asked}
    for name, w in models[0].state_dict().items():
        is_adapter = name.endswith((".a", ".b"))
        assert is_adapter or torch.equal(w, llama.state_dict()[name.replace("linear.", "")]), name


# --- the tests ------------------------------------------------------------------------------

WITH_SMOLLM2 = {(13, "smollm2")}
AT_NIGHT = {  # whole runs
    (1, "neighbours"): {"text": "the tales", "keys": ["shares", "rank of evening"], "abs": 0.03},
    (2, "neighbours"): {"steps": 1200, "table": "output rows", "by": "whitened", "abs": 0.04},
    (4, "norms"): {"norm": "instance", "lr": 0.01, "abs": 0.02},
    (4, "probes"): {"norm": "layer", "lr": 0.01, "probe": True, "abs": 0.02},
    (8, "rates"): {"model": "attention alone", "lr": 0.01, "steps": 2000, "abs": 0.03},
    (11, "levers"): {"lever": "context 16", "start": "gpt2", "lr": 0.01, "abs": 0.03},
    (12, "pronouns"): {"L": 1, "abs": 0.05},
    (13, "sums"): {"pattern": r"\d|\D", "abs": 0.02},
    (13, "smollm2"): {"context": 512, "abs": 0.01},
    (14, "swaps"): {"swaps": "Llama", "lr": 0.002, "abs": 0.03},
    (16, "reading"): {"way": "usual pairs", "keys": ["usual", "new", "thing"], "abs": 0.15},
}


def params(keys, marks):
    return [pytest.param(*k, marks=marks.get(k, ()), id=f"{k[0]} {k[1]}") for k in keys]


@pytest.fixture
def made(request, number, name, monkeypatch):
    if (number, name) in WITH_SMOLLM2:
        loaded = request.getfixturevalue("smollm2")
        monkeypatch.setattr(pretrained, "smollm2", lambda: loaded)
    with common.seeded(0):
        yield Made(number, name, monkeypatch)


@pytest.mark.parametrize(("number", "name"), params(SLICES, MARKS))
def test_a_slice_of_what_is_stored(number, name, made):
    SLICES[number, name](made)


@pytest.mark.nightly
@pytest.mark.parametrize(("number", "name"), params(AT_NIGHT, {}))
def test_a_whole_run_is_the_stored_one(number, name, made):
    made.as_stored(**AT_NIGHT[number, name])


def test_every_stored_part_has_its_slice():
    assert set(SLICES) == set(PARTS)
