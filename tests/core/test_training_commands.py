"""python -m helpers.train and helpers.generate: run, stop, go on, write; mistakes are told."""

import json
import math
import os
import shlex
import signal

import pytest
import torch
from tiny import python

from helpers import generate, train, training
from helpers.training import checkpoints, processes

SMALL = "--layers 1 --heads 1 --width 8 --context 8 --steps 6 --batch-size 2 --warmup 2 --quiet "
SMALL += "--evaluate-every 3 --checkpoint-every 3 --precision float32"
TEXT = "The fox met the owl. The owl met the fox.\n" * 12


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(TEXT, "utf-8")
    return path


@pytest.fixture
def run(tmp_path, text, capsys):
    """Call the command on the text; gives (status, what it said, what it complained of)."""

    def call(arguments, *, small=True):
        extra = [*SMALL.split(), "--text", str(text)] if small else []
        status = train.main([*extra, "--out", str(tmp_path / "run"), *arguments.split()])
        return status, *capsys.readouterr()

    return call


def refused(capsys, arguments, said, command=train):
    assert command.main(arguments) == 2
    out, complaint = capsys.readouterr()
    assert said in complaint
    assert "Traceback" not in complaint
    assert out == ""


@pytest.mark.parametrize("preset", ["cpu", "fast"])
def test_train_then_generate(tmp_path, text, run, capsys, preset):
    status, said, complaint = run(f"--seed 3 --preset {preset}")
    assert (status, complaint) == (0, "")
    checkpoint = checkpoints.load(tmp_path / "run")
    records = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    assert len(records) == 6
    assert f"validation loss {json.loads(records[-1])['validation']:.4f} nats" in said
    assert "".join(checkpoint.extra["vocab"]) == "".join(sorted(set(TEXT)))
    assert checkpoint.extra["text"] == str(text)
    assert checkpoint.config["seed"] == 3
    assert checkpoint.config["optimizer"] == "muon"  # the preset's

    def write(*more):
        arguments = [str(tmp_path / "run"), "--prompt", "The f", "--length", "20", *more]
        assert generate.main(arguments) == 0
        return capsys.readouterr().out.removesuffix("\n")

    written = write()
    assert written.startswith("The f")
    assert len(written) == 25
    assert set(written) <= set(TEXT)
    assert write() == written
    assert write("--seed", "1") != written
    assert write("--temperature", "0", "--seed", "1") == write("--top-k", "1")


def test_a_run_shorter_than_its_presets_warm_up_warms_up_all_along(tmp_path, text, run):
    small = SMALL.replace("--warmup 2 ", "")
    assert run(f"{small} --text {text}", small=False)[0] == 0
    assert checkpoints.load(tmp_path / "run").config["warmup"] == 6  # steps; the preset's 10


def test_the_next_command_can_be_pasted(tmp_path, capsys):
    text = tmp_path / "mine.txt"
    text.write_text("'Tis the cat's mat; " * 20, "utf-8")
    out = tmp_path / "two words"
    assert train.main([*SMALL.split(), "--text", str(text), "--out", str(out)]) == 0
    command = capsys.readouterr().out.rpartition("next: ")[2]
    assert shlex.split(command)[3:] == [str(out), "--prompt", "'"]


def test_opened_model_is_the_trained_one(tmp_path, run):
    run("")
    model, tokenizer = generate.open_model(tmp_path / "run")
    tensors = checkpoints.load(tmp_path / "run").model
    assert not model.training
    for name, tensor in checkpoints.model_tensors(model).items():
        assert torch.equal(tensor, tensors[name])
    assert model(tokenizer.encode("owl")[None]).shape == (1, 3, len(tokenizer))


@pytest.mark.parametrize("preset", ["cpu", "fast"])
def test_resume_takes_the_settings_of_the_run(tmp_path, run, monkeypatch, preset):
    class Stopped(Exception):
        pass

    saves = []
    save = checkpoints.save

    def once(*arguments, **options):
        saves.append(save(*arguments, **options))
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "save", once)
        with pytest.raises(Stopped):
            run(f"--seed 4 --preset {preset}")
    assert [path.name for path in saves] == ["checkpoint-00000003"]
    assert run("--resume --quiet", small=False)[0] == 0
    resumed = checkpoints.load(tmp_path / "run")
    assert (resumed.step, resumed.config["seed"]) == (6, 4)
    whole = tmp_path / "whole"
    assert train.main([*SMALL.split(), "--text", str(tmp_path / "mine.txt"), "--out", str(whole),
                       "--seed", "4", "--preset", preset]) == 0  # fmt: skip
    for name, tensor in checkpoints.load(whole).model.items():
        assert torch.equal(tensor, resumed.model[name])


def test_ctrl_c_says_how_to_go_on(tmp_path, run, monkeypatch):
    fit = training.fit

    def pressed(*arguments, **options):
        def press(record):
            if record.step == 0:
                signal.raise_signal(signal.SIGINT)

        return fit(*arguments, on_record=press, **options)

    monkeypatch.setattr(train, "fit", pressed)
    status, said, _ = run("")
    assert status == 130
    assert "stopped after 2 of 6 steps, and saved; go on with: python -m helpers.train" in said
    assert said.strip().endswith("run --resume")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FloatingPointError("at step 4 the loss is nan"), "the run has ended: at step 4"),
        (processes.ProcessLostError("process 0 lost another"), "the run has ended: process 0"),
    ],
)
def test_a_run_that_breaks_says_how_to_go_on(run, monkeypatch, error, said):
    assert run("")[0] == 0

    def breaks(*arguments, **options):
        raise error

    monkeypatch.setattr(train, "fit", breaks)
    status, _, complaint = run("")
    assert status == 1
    assert said in complaint
    assert "go on from the last checkpoint: python -m helpers.train --out" in complaint


def test_mistakes_in_training(tmp_path, text, run, capsys):
    out = str(tmp_path / "other")
    for arguments, said in (
        (["--text", "nono"], "name='nono' is no text of the book"),
        (["--text", str(tmp_path / "no.txt")], "no file at"),
        (["--heads", "3"], "width=128 must be a multiple of heads=3"),
        (["--optimizer", "sgd"], "optimizer='sgd' must be one of"),
        (["--steps", "0"], "steps=0 must be"),
        (["--device", "toaster"], "--device toaster: cpu, cuda and mps are known"),
        (["--text", str(text), "--context", "600"], "context=600 needs at least 601"),
        (["--resume"], "there is no folder"),
    ):
        refused(capsys, [*arguments, "--out", out], said)
    if not torch.cuda.is_available():
        refused(capsys, ["--preset", "gpu"], "there is no cuda here; take --preset cpu")
    assert run("")[0] == 0
    folder = str(tmp_path / "run")
    refused(capsys, [*SMALL.split(), "--text", str(text), "--out", folder], "is of another run")
    usual = train.PRESETS["cpu"]["training"]["lr"]
    refused(capsys, ["--out", folder, "--resume", "--lr", "9"], f"lr={usual} there and 9.0 here")
    refused(capsys, ["--out", folder, "--resume", "--width", "16"], "does not fit this run")
    refused(capsys, ["--out", folder, "--resume", "--text", "tales"], "--text tales: the run in")
    text.write_text(TEXT + "More.", "utf-8")
    refused(capsys, ["--out", folder, "--resume"], "is not the one that the run began with")
    (tmp_path / "file").write_text("")
    small = [*SMALL.split(), "--text", str(text)]
    refused(capsys, [*small, "--out", str(tmp_path / "file")], "cannot write the records")


def test_mistakes_in_writing(tmp_path, run, capsys):
    run("")
    folder = str(tmp_path / "run")
    for arguments, said in (
        ([str(tmp_path / "none")], "there is no folder"),
        ([folder, "--prompt", "€"], "the character '€' at position 0"),
        ([folder, "--prompt", ""], "the prompt is empty"),
        ([folder, "--length", "-1"], "--length -1"),
        ([folder, "--temperature", "nan"], "temperature=nan"),
        ([folder, "--top-k", "99"], "--top-k 99 must lie in 1.."),
    ):
        refused(capsys, arguments, said, generate)
    (latest,) = checkpoints.every(tmp_path / "run")
    for extra, said in (
        ({}, "is of no run of helpers.train"),
        ({"model": {"wings": 2}, "vocab": ["a"]}, "has a model that this book does not know"),
    ):
        checkpoints.shutil.rmtree(latest, ignore_errors=True)
        checkpoints.save(tmp_path / "run", checkpoints.Checkpoint(step=6, model={}, extra=extra))
        refused(capsys, [folder], said, generate)
    refused(capsys, ["--out", folder, "--resume"], "is of no run of this command")


@pytest.mark.parametrize("command", [train, generate])
def test_help_is_for_strangers(command, capsys):
    with pytest.raises(SystemExit) as done:
        command.main(["--help"])
    assert done.value.code == 0
    said = capsys.readouterr().out
    assert "examples:" in said
    assert all(len(line) <= 100 for line in said.splitlines())
    with pytest.raises(SystemExit) as done:
        command.main(["--wings", "2"])
    assert done.value.code == 2


def test_presets_are_sound():
    for name, preset in train.PRESETS.items():
        shape = train.GPTConfig(vocab_size=65, **preset["model"])
        config = training.TrainingConfig(context=shape.context, **preset["training"])
        assert train._usual("steps", name) == config.steps
        assert train._usual("clip", name) == config.clip
        assert math.isfinite(config.lr)


@pytest.mark.slow
def test_it_runs_as_a_command(tmp_path):
    done = python("-m", "helpers.train", "--text", "none-such", "--out", tmp_path / "run")
    assert done.returncode == 2, os.linesep.join([done.stdout, done.stderr])
    assert "Traceback" not in done.stderr
