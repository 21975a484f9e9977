"""training.fit: a run against a loop written out by hand, interrupted and resumed."""

import errno
import importlib
import itertools
import json
import math
import os
import signal
import threading
from contextlib import nullcontext
from dataclasses import asdict, replace

import pytest
import torch
from tiny import TRAIN, VALIDATION, Tiny, V, config, ids, plain, python, same, seeded
from torch.nn import functional as F

from helpers import corpus, training
from helpers.training import CheckpointError, TrainingConfig, checkpoints
from helpers.training.schedule import lr_factor

fit_module = importlib.import_module("helpers.training.fit")


def fit(model, settings, **options):
    options = {"progress": False} | options
    return training.fit(model, TRAIN, VALIDATION, settings, **options)


def lines(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


# ---------------------------------------------------------------- one run


def by_hand(model, settings):
    """The same training, as one would write it down."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": settings.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        betas=settings.betas,
    )
    stream = corpus.batches(
        TRAIN,
        batch_size=settings.batch_size,
        context=settings.context,
        generator=seeded(settings.seed),
    )
    found = []
    for step in range(settings.steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * lr_factor(
                step, steps=settings.steps, warmup=settings.warmup
            )
        x, y = next(stream)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).reshape(-1, V), y.reshape(-1))
        loss.backward()
        norm = math.sqrt(sum(p.grad.square().sum().item() for p in model.parameters()))
        for p in model.parameters():
            p.grad *= min(1, settings.clip / norm)
        optimizer.step()
        with torch.no_grad():  # each target of the split once, whatever the windows
            x, y = VALIDATION[None, :-1], VALIDATION[None, 1:]
            validation = F.cross_entropy(model(x).reshape(-1, V), y.reshape(-1)).item()
        found.append((loss.item(), norm, validation))
    return found


@pytest.mark.parametrize("accumulate", [1, 2, 4])
def test_it_is_the_loop_by_hand(accumulate):
    settings = config(clip=0.3, accumulate=accumulate)
    model, other = Tiny(), Tiny()
    outcome = fit(model, settings)
    wanted = by_hand(other, settings)
    assert [r.step for r in outcome.records] == list(range(12))
    for record, (loss, norm, validation) in zip(outcome.records, wanted, strict=True):
        assert record.loss == pytest.approx(loss, rel=1e-4)
        assert record.gradient_norm == pytest.approx(norm, rel=1e-4)
        assert record.rate == lr_factor(record.step, steps=12, warmup=3)
        if record.step in (3, 7, 11):
            assert record.validation == pytest.approx(validation, rel=1e-4)
        else:
            assert record.validation is None
    assert max(norm for _, norm, _ in wanted) > 0.3, "nothing was clipped"
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    assert not outcome.interrupted


def test_a_long_validation_text_is_sampled_until_asked_for_all(monkeypatch):
    long, model = ids(5000, seed=1), Tiny()
    windows = list(corpus.windows(long, 6))  # 64 at a time, 384 tokens
    monkeypatch.setattr(fit_module, "SAMPLE", 1600)
    for whole, wanted in ((False, windows[::4]), (True, windows)):
        found = training.fit(model, TRAIN, long, config(), whole=whole, progress=False).records
        loss = training.evaluate(model, fit_module.cross_entropy, wanted)
        assert found[-1].validation == pytest.approx(loss, rel=1e-5)
    assert found[3].validation != found[-1].validation


def test_no_sync_for_all_parts_but_the_last(monkeypatch):
    held = []
    monkeypatch.setattr(fit_module, "no_sync", lambda model: held.append(1) or nullcontext())
    fit(Tiny(), config(steps=3, accumulate=4))
    assert len(held) == 3 * 3


def test_loss_reaches_the_conditional_entropy():
    model = Tiny()
    outcome = fit(model, config(steps=250, lr=0.05, evaluate_every=50, weight_decay=0.0))
    losses = [r.validation for r in outcome.records if r.validation is not None]
    assert losses[0] > losses[-1]
    assert losses[-1] == pytest.approx(math.log(2), abs=0.06)  # two tokens may follow each
    assert outcome.records[-1].validation == pytest.approx(
        training.evaluate(model, fit_module.cross_entropy, corpus.windows(VALIDATION, 6))
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "muon"},
        {"precision": "bfloat16"},
        {"clip": None},
        {"decay": "cosine", "final": 0.1},
    ],
)
def test_other_ways_learn_too(changes):
    changes = {"steps": 60, "lr": 0.05, "matrix_lr": 0.1} | changes
    records = fit(Tiny(), config(**changes)).records
    assert records[-1].validation < records[0].loss - 0.5


def test_bfloat16_computes_in_it_and_evaluates_in_float32():
    class Watched(Tiny):
        def forward(self, ids_BT):
            logits = super().forward(ids_BT)
            self.seen.add((self.training, logits.dtype))
            return logits

    model = Watched()
    model.seen = set()
    fit(model, config(steps=4, precision="bfloat16", optimizer="muon"))
    assert model.seen == {(True, torch.bfloat16), (False, torch.float32)}
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    low = torch.zeros(1, 2, 3, dtype=torch.bfloat16)
    assert fit_module.cross_entropy(low, torch.tensor([[0, 2]])).dtype == torch.float32


def test_config_compiles(monkeypatch):
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda model: compiled.append(model) or model)
    model = Tiny()
    fit(model, config(steps=1, compile=True))
    assert compiled == [model]


def test_nothing_else_changes():
    model = Tiny(dropout=0.5).eval()
    before = torch.get_rng_state()
    handler = signal.getsignal(signal.SIGINT)
    fit(model, config(steps=2))
    assert torch.equal(torch.get_rng_state(), before)
    assert not model.training
    assert signal.getsignal(signal.SIGINT) is handler


def test_dropout_follows_the_seed_and_not_the_callers_generator():
    def losses(seed, before):
        with torch.random.fork_rng():
            torch.rand(before)
            return plain(fit(Tiny(dropout=0.5), config(steps=3, seed=seed)).records)

    assert losses(1, 0) == losses(1, 7)
    assert losses(1, 0) != losses(2, 0)
    drawn = fit(Tiny(dropout=0.5), config(steps=3)).records
    assert [r.loss for r in drawn] != [r.loss for r in fit(Tiny(), config(steps=3)).records]


def test_each_step_and_process_has_dropout_of_its_own():
    drawn = set()
    for seed, step, rank in itertools.product(range(3), repeat=3):
        with fit_module.dropout_seed(seed, step, rank, torch.device("cpu")):
            drawn.add(torch.rand(1).item())
    assert len(drawn) == 27


def test_records_are_written_as_they_come(tmp_path):
    seen = []

    def look(record):
        seen.append(record)
        assert lines(tmp_path)[-1]["step"] == record.step  # flushed already

    outcome = fit(Tiny(), config(), folder=tmp_path, on_record=look)
    assert tuple(seen) == outcome.records
    assert [fit_module.StepRecord(**line) for line in lines(tmp_path)] == seen
    assert [line["seconds"] for line in lines(tmp_path)] == [r.seconds for r in seen]
    assert all(a.seconds < b.seconds for a, b in itertools.pairwise(seen))
    assert [p.name for p in checkpoints.list_checkpoints(tmp_path)] == ["checkpoint-00000012"]


def test_numbers_can_be_read_some_steps_later(tmp_path, monkeypatch):
    every = fit(Tiny(), config(steps=9, evaluate_every=5)).records
    looks = []
    read = fit_module._Run.read

    def counted(run, stop):
        looks.append(run.step)
        assert not any(numbers.requires_grad for numbers in run.pending)  # no graph is kept
        return read(run, stop)

    monkeypatch.setattr(fit_module._Run, "read", counted)
    monkeypatch.setattr(fit_module, "READ_EVERY", 3)
    monkeypatch.setattr(fit_module, "SYNCHRONOUS", ())
    late = fit(Tiny(), config(steps=9, evaluate_every=5, checkpoint_every=9), folder=tmp_path)
    assert looks == [2, 4, 5, 8]
    assert late.records == every
    assert len(lines(tmp_path)) == 9


def test_progress_shows_the_losses(capsys):
    fit(Tiny(), config(steps=8, evaluate_every=4), progress=True)
    said = capsys.readouterr().err
    assert "8/8" in said
    assert "validation=" in said
    fit(Tiny(), config(steps=2))
    assert capsys.readouterr() == ("", "")


# --------------------------------------------------- broken off, and taken up


class Broken(Exception):
    pass


def breaking(at):
    def stop(record):
        if record.step == at:
            raise Broken

    return stop


@pytest.mark.parametrize(
    "changes", [{}, {"optimizer": "muon", "precision": "bfloat16"}, {"accumulate": 2}]
)
@pytest.mark.parametrize("at", [3, 5, 10])
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path, changes, at):
    settings = config(**changes)
    whole, model = Tiny(dropout=0.3, tied=True), Tiny(dropout=0.3, tied=True)
    wanted = fit(whole, settings).records
    with pytest.raises(Broken):
        fit(model, settings, folder=tmp_path, on_record=breaking(at))
    assert len(lines(tmp_path)) == at + 1
    other = Tiny(dropout=0.3, tied=True)
    with torch.no_grad():
        other.hidden.weight.zero_()  # what it starts from is no matter
    found = fit(other, settings, folder=tmp_path, resume=at > 3)
    if at > 3:
        assert same(other, whole)
        assert found.records == wanted
        assert [replace(r, validation=None) for r in found.records] != list(wanted)
        assert all(a.seconds < b.seconds for a, b in itertools.pairwise(found.records))
    assert [line["step"] for line in lines(tmp_path)] == list(range(12))
    assert plain(found.records) == [
        {k: v for k, v in line.items() if k != "seconds"} for line in lines(tmp_path)
    ]


def test_a_finished_run_is_trained_for_longer(tmp_path):
    model, settings = Tiny(), config(steps=20)
    short = fit(model, config(), folder=tmp_path).records
    longer = fit(model, settings, folder=tmp_path, resume=True).records
    assert longer[:12] == short
    assert [r.rate for r in longer[12:]] == [settings.lr_factor(step) for step in range(12, 20)]
    with pytest.raises(CheckpointError):  # no fewer than were made
        fit(model, config(steps=16), folder=tmp_path, resume=True)


def test_a_finished_run_has_nothing_left_to_do(tmp_path):
    outcome = fit(Tiny(), config(), folder=tmp_path)
    model = Tiny()
    again = fit(model, config(), folder=tmp_path, resume=True)
    assert again.records == outcome.records
    assert len(lines(tmp_path)) == 12


KILLED = """
import os, signal, sys
from tiny import TRAIN, VALIDATION, Tiny, config
from helpers.training import fit

def kill(record):
    if record.step == 9:
        os.kill(os.getpid(), signal.SIGKILL)

fit(Tiny(dropout=0.3), TRAIN, VALIDATION, config(), folder=sys.argv[1], on_record=kill,
    progress=False)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL here")
def test_killed_and_resumed(tmp_path):
    done = python("-c", KILLED, tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(lines(tmp_path)) == 10  # what was said before the end is there
    assert checkpoints.load(tmp_path).step == 8
    whole, model = Tiny(dropout=0.3), Tiny(dropout=0.3)
    wanted = fit(whole, config())
    found = fit(model, config(), folder=tmp_path, resume=True)
    assert same(model, whole)
    assert found.records == wanted.records
    assert [line["step"] for line in lines(tmp_path)] == list(range(12))


def test_ctrl_c_saves_and_stops(tmp_path):
    def press(record):
        if record.step == 5:
            signal.raise_signal(signal.SIGINT)

    whole, model = Tiny(), Tiny()
    wanted = fit(whole, config()).records
    outcome = fit(model, config(), folder=tmp_path, on_record=press)
    assert outcome.interrupted
    assert len(outcome.records) == 7  # the step under way was the one after
    assert checkpoints.load(tmp_path).step == 7
    found = fit(model, config(), folder=tmp_path, resume=True)
    assert not found.interrupted
    assert same(model, whole)
    assert found.records == wanted


def test_a_second_ctrl_c_stops_at_once():
    def press(record):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    # As at a prompt: a shell's background jobs, and so these tests there, ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(Tiny(), config(), on_record=press)
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_runs_in_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(fit(Tiny(), config(steps=2))))
    thread.start()
    thread.join()
    assert len(found[0].records) == 2


# ------------------------------------------------------------ what stops a run


class Fragile(Tiny):
    """Its logits are nan from the nth training batch on."""

    bad, calls = 6, 0

    def forward(self, ids_BT):
        self.calls += self.training
        logits = super().forward(ids_BT)
        return logits * math.nan if self.training and self.calls > self.bad else logits


def test_nan_keeps_the_last_good_checkpoint(tmp_path):
    model = Fragile()
    with pytest.raises(FloatingPointError, match=r"at step 6 the loss is nan.*checkpoint-00000004"):
        fit(model, config(), folder=tmp_path)
    assert checkpoints.load(tmp_path).step == 4
    assert all(p.isfinite().all() for p in model.parameters())  # no update with it
    assert len(lines(tmp_path)) == 6
    with pytest.raises(FloatingPointError, match=r"at step 6 .* lower learning rate$"):
        fit(Fragile(), config())


def test_an_infinite_gradient_of_a_finite_loss_ends_the_run():
    model, untouched = Tiny(), Tiny()
    model.hidden.weight.register_hook(lambda gradient: torch.full_like(gradient, math.inf))
    with pytest.raises(FloatingPointError, match=r"at step 0 the loss is \d.*norm inf"):
        fit(model, config())
    assert same(model, untouched)


def test_a_broken_model_is_not_saved_over_a_good_one(tmp_path):
    def spoil(record):
        if record.step == 6:
            model.hidden.bias.data[0] = math.inf

    model = Tiny()
    settings = config(evaluate_every=100)
    with torch.no_grad():  # tanh hides the infinity from the loss
        model.hidden.bias[0] = 1.0
    with pytest.raises(FloatingPointError, match=r"step 7 .*00000004"):
        fit(model, settings, folder=tmp_path, on_record=spoil)
    assert checkpoints.load(tmp_path).step == 4


def test_a_bad_validation_loss_stops_it(tmp_path):
    class Fails(Tiny):
        def forward(self, ids_BT):
            return super().forward(ids_BT) * (1 if self.training else math.nan)

    with pytest.raises(FloatingPointError, match="after step 3 the validation loss is nan"):
        fit(Fails(), config(), folder=tmp_path)
    assert checkpoints.list_checkpoints(tmp_path) == []


def test_a_full_disk_stops_it_and_costs_nothing(tmp_path, monkeypatch):
    write, count = checkpoints._write, iter(range(100))

    def full(path, data):
        if next(count) >= 3:  # a first checkpoint, and half of the next
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "_write", full)
        with pytest.raises(OSError):
            fit(Tiny(), config(), folder=tmp_path)
    whole, model = Tiny(), Tiny()
    wanted = fit(whole, config()).records
    assert fit(model, config(), folder=tmp_path, resume=True).records == wanted
    assert same(model, whole)


def test_a_folder_with_a_run_is_not_written_over(tmp_path):
    fit(Tiny(), config(steps=1), folder=tmp_path)
    with pytest.raises(ValueError):
        fit(Tiny(), config(steps=1), folder=tmp_path)


def test_resume_needs_something_to_resume(tmp_path):
    with pytest.raises(ValueError):
        fit(Tiny(), config(), resume=True)
    with pytest.raises(CheckpointError):
        fit(Tiny(), config(), folder=tmp_path, resume=True)


def rewritten(folder, **changes):
    checkpoint = replace(checkpoints.load(folder), **changes)
    checkpoints.shutil.rmtree(checkpoints.latest(folder))
    checkpoints.save(folder, checkpoint)


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path):
    settings = config(steps=4)
    fit(Tiny(), settings, folder=tmp_path)
    good = checkpoints.load(tmp_path)

    def refused(model=None, text=TRAIN, settings=settings):
        model = model or Tiny()
        untouched = [p.clone() for p in model.parameters()]
        with pytest.raises(CheckpointError):
            training.fit(
                model, text, VALIDATION, settings, folder=tmp_path, resume=True, progress=False
            )
        for before, p in zip(untouched, model.parameters(), strict=True):
            assert torch.equal(before, p)

    refused(settings=config(steps=4, lr=0.03))
    refused(text=ids(400, seed=9))
    refused(model=Tiny(width=9))
    for changes in (
        {"records": [{"step": 0}]},
        {"generators": {}},
        {"generators": {"batches": torch.zeros(3, dtype=torch.uint8)}},
        {"optimizer": {"x:step": torch.ones(())}},
        {"model": {}},
    ):
        rewritten(tmp_path, **changes)
        refused()
        rewritten(tmp_path, **{name: getattr(good, name) for name in changes})
    fit(Tiny(), settings, folder=tmp_path, resume=True)


def test_extra_is_kept_and_must_be_json(tmp_path):
    fit(Tiny(), config(steps=1), folder=tmp_path, extra={"vocab": ["a", "→"]})
    assert checkpoints.load(tmp_path).extra == {"vocab": ["a", "→"]}
    with pytest.raises(TypeError):
        fit(Tiny(), config(steps=1), folder=tmp_path / "b", extra={"a": {1}})
    assert not (tmp_path / "b").exists()  # said before the first step


# ---------------------------------------------------------------- the config


def test_config_is_frozen_with_defaults_except_steps():
    config(betas=(0.0, 0.0), momentum=0.0, lr=0, clip=0.1)
    settings = TrainingConfig(steps=3)
    with pytest.raises(AttributeError):
        settings.steps = 4
    assert asdict(settings) == {
        "steps": 3,
        "batch_size": 16,
        "context": 64,
        "lr": 1e-3,
        "matrix_lr": None,
        "optimizer": "adamw",
        "betas": (0.9, 0.99),
        "momentum": 0.95,
        "warmup": 0,
        "final": 0.0,
        "decay": "linear",
        "weight_decay": 0.1,
        "clip": 1.0,
        "accumulate": 1,
        "compile": False,
        "precision": "float32",
        "evaluate_every": 250,
        "checkpoint_every": 250,
        "seed": 0,
    }


def test_a_folder_holds_one_run_at_a_time(tmp_path):
    """A second trainer is told, and writes nothing; afterwards the folder is free again."""
    refused = []

    def begin_another(record):
        if record.step == 5:
            with pytest.raises(ValueError) as error:
                fit(Tiny(), config(), folder=tmp_path, resume=True)
            refused.append(error)

    fit(Tiny(), config(), folder=tmp_path, on_record=begin_another)
    assert len(refused) == 1
    assert [line["step"] for line in lines(tmp_path)] == list(range(12))
    fit(Tiny(), config(), folder=tmp_path, resume=True)


def test_what_an_ended_run_had_begun_is_cleared_away(tmp_path):
    for name in (".partial-checkpoint-00000003", ".partial-going-checkpoint-00000001"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tensors.safetensors").touch()
    fit(Tiny(), config(), folder=tmp_path)
    assert list(tmp_path.glob(".partial-*")) == []
