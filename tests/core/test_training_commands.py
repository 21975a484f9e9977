"""python -m helpers.train and helpers.generate: train, stop, resume, sample, and errors."""

import ast
import inspect
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest
import torch
from tiny import ROOT, python

from helpers import console, generate, train, training
from helpers.training import checkpoints

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


def assert_refused(capsys, arguments, command=train):
    """One line on standard error, and nothing else."""
    assert command.main(arguments) == 2
    out, error = capsys.readouterr()
    assert re.fullmatch(r"\nerror: .+\n", error)
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


def test_warmup_is_cut_to_the_number_of_steps(tmp_path, text, run):
    small = SMALL.replace("--warmup 2 ", "")
    assert run(f"{small} --text {text}", small=False)[0] == 0
    assert checkpoints.load(tmp_path / "run").config["warmup"] == 6  # steps; the preset's 10


@pytest.mark.slow
def test_the_suggested_command_runs(tmp_path, capsys, monkeypatch):
    text = tmp_path / "mine.txt"
    text.write_text("'Tis the cat's mat; " * 20, "utf-8")
    out = tmp_path / "two words"
    assert train.main([*SMALL.split(), "--text", str(text), "--out", str(out)]) == 0
    command = capsys.readouterr().out.rpartition("next: ")[2]
    assert shlex.split(command)[3:] == [str(out), "--prompt", "'"]
    assert subprocess.run(shlex.split(command), cwd=ROOT, stdout=subprocess.DEVNULL).returncode == 0
    monkeypatch.setattr(sys, "platform", "win32")
    assert train._shell("train", "two words").endswith(' -m helpers.train "two words"')


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
    assert (
        train.main(
            [
                *SMALL.split(),
                "--text",
                str(tmp_path / "mine.txt"),
                "--out",
                str(whole),
                "--seed",
                "4",
                "--preset",
                preset,
            ]
        )
        == 0
    )
    for name, tensor in checkpoints.load(whole).model.items():
        assert torch.equal(tensor, resumed.model[name])


def test_a_run_goes_on_where_its_text_has_moved_and_for_longer(tmp_path, text, run, capsys):
    assert run("")[0] == 0
    moved = text.rename(tmp_path / "moved.txt")
    resume = ["--out", str(tmp_path / "run"), "--resume", "--quiet", "--steps", "9"]
    assert_refused(capsys, resume)
    assert train.main([*resume, "--text", str(moved)]) == 0
    capsys.readouterr()
    kept = checkpoints.load(tmp_path / "run")
    assert (kept.step, kept.extra["text"]) == (9, str(moved))
    picture = (tmp_path / "run" / "losses.svg").read_text("utf-8")
    assert "validation" in picture
    assert_refused(capsys, [*resume[:-1], "7"])


def test_names_and_settings_are_the_books(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tales").write_text(TEXT, "utf-8")
    chosen = []
    monkeypatch.setattr(train, "_build", lambda settings, before: chosen.append(settings) or 1 / 0)
    flags = "--norm rms --placement post --positions none --activation relu --tied --no-qk-norm"
    for more in ("", "--text ./tales", "--preset valley", flags):
        with pytest.raises(ZeroDivisionError):
            train.main(["--out", str(tmp_path / "run"), *more.split()])
    tales, mine, valley, other = chosen
    assert (tales["text"], tales["tokens"]) == ("tales", "characters")
    assert mine["text"] == str(tmp_path / "tales")
    assert (valley["text"], valley["tokens"]) == ("valley", "words")
    assert other["model"].items() >= {"norm": "rms", "placement": "post", "tied": True}.items()
    assert not other["model"]["qk_norm"]


@pytest.mark.parametrize(("has", "precision"), [(True, "bfloat16"), (False, "float32")])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_bfloat16_is_the_default_only_where_it_is_native(monkeypatch, device, has, precision):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda emulated=True: emulated or has)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: has)
    options = train.make_parser().parse_args([])
    settings = train._settings(options, None, torch.device(device))
    assert settings["training"]["precision"] == precision
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.delattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported")
    settings = train._settings(options, None, torch.device("cpu"))
    assert settings["training"]["precision"] == "float32"


def test_ctrl_c_prints_the_resume_command(tmp_path, run, monkeypatch):
    fit = training.fit

    def pressed(*arguments, **options):
        def press(record):
            if record.step == 0:
                signal.raise_signal(signal.SIGINT)

        return fit(*arguments, on_record=press, **options)

    monkeypatch.setattr(train, "fit", pressed)
    status, said, _ = run("")
    assert status == 130
    assert "stopped after 2 of 6 steps, and saved; continue with: " in said
    assert said.strip().endswith("run --resume")


def test_a_failed_run_prints_the_resume_command(run, monkeypatch):
    assert run("")[0] == 0

    def breaks(*arguments, **options):
        raise FloatingPointError("at step 4 the loss is nan")

    monkeypatch.setattr(train, "fit", breaks)
    status, _, complaint = run("")
    assert status == 1
    assert "the run has ended: at step 4" in complaint
    assert "-m helpers.train --out" in complaint


def test_mistakes_in_training(tmp_path, text, run, capsys):
    out = str(tmp_path / "other")
    for arguments in (
        ["--text", "nono"],
        ["--text", str(tmp_path / "no.txt")],
        ["--heads", "3"],
        ["--optimizer", "sgd"],
        ["--steps", "0"],
        ["--device", "toaster"],
        ["--text", str(text), "--context", "600"],
        ["--resume"],
    ):
        assert_refused(capsys, [*arguments, "--out", out])
    if not torch.cuda.is_available():
        assert_refused(capsys, ["--preset", "gpu"])
    assert run("")[0] == 0
    folder = str(tmp_path / "run")
    assert_refused(capsys, [*SMALL.split(), "--text", str(text), "--out", folder])
    for other in (["--lr", "9"], ["--width", "16"], ["--text", "tales"]):
        assert_refused(capsys, ["--out", folder, "--resume", *other])
    text.write_text(TEXT + "More.", "utf-8")
    assert_refused(capsys, ["--out", folder, "--resume"])
    (tmp_path / "file").write_text("")
    small = [*SMALL.split(), "--text", str(text)]
    assert_refused(capsys, [*small, "--out", str(tmp_path / "file")])


def test_mistakes_in_generation(tmp_path, run, capsys):
    run("")
    folder = str(tmp_path / "run")
    for arguments in (
        [str(tmp_path / "none")],
        [folder, "--prompt", "€"],
        [folder, "--prompt", ""],
        [folder, "--temperature", "nan"],
        [folder, "--top-k", "0"],
    ):
        assert_refused(capsys, arguments, generate)
    (latest,) = checkpoints.list_checkpoints(tmp_path / "run")
    for extra in ({}, {"model": {"wings": 2}, "vocab": ["a"]}):
        checkpoints.shutil.rmtree(latest, ignore_errors=True)
        checkpoints.save(tmp_path / "run", checkpoints.Checkpoint(step=6, model={}, extra=extra))
        assert_refused(capsys, [folder], generate)
    assert_refused(capsys, ["--out", folder, "--resume"])


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
        assert math.isfinite(config.lr), name


@pytest.mark.slow
def test_it_runs_as_a_command(tmp_path):
    done = python("-m", "helpers.train", "--text", "none-such", "--out", tmp_path / "run")
    assert done.returncode == 2, os.linesep.join([done.stdout, done.stderr])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("seed", ["-1", str(2**64)])
def test_seeds_beyond_torchs_range(tmp_path, run, capsys, seed):
    assert run("")[0] == 0
    assert_refused(capsys, [str(tmp_path / "run"), "--seed", seed], generate)
    assert_refused(capsys, ["--out", str(tmp_path / "other"), "--seed", seed])


def edited(folder, change):
    """Change what a run's checkpoint holds beside its tensors."""
    (path,) = folder.glob("checkpoint-*/checkpoint.json")
    rest = json.loads(path.read_text("utf-8"))
    change(rest)
    path.write_text(json.dumps(rest), "utf-8")


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("training", "betas", [{}, 0]),
        ("training", "clip", {}),
        ("training", "final", None),
        ("training", "steps", {}),
        ("training", "wings", 2),
        ("model", "wings", 2),
        ("model", "width", 2**70),
        ("model", "heads", "two"),
    ],
)
def test_an_edited_checkpoint_is_refused(tmp_path, run, capsys, part, field, value):
    assert run("")[0] == 0
    edited(tmp_path / "run", lambda rest: rest["extra"][part].update({field: value}))
    assert train.main(["--out", str(tmp_path / "run"), "--resume", "--quiet"]) == 2
    assert generate.main([str(tmp_path / "run")]) == (2 if part == "model" else 0)
    assert "Traceback" not in capsys.readouterr().err


def test_words_as_tokens(tmp_path, text, run, capsys):
    text.write_text(10 * TEXT, "utf-8")
    status, said, _ = run("--tokens words")
    assert status == 0
    assert "nats per token after" in said
    checkpoint = checkpoints.load(tmp_path / "run")
    assert checkpoint.extra["tokens"] == "words"
    assert {" fox", " met", " the", " owl", "f", " "} < set(checkpoint.extra["vocab"])
    model, tokenizer = generate.open_model(tmp_path / "run")
    assert tokenizer.encode("The fox").numel() == 2  # "The" begins every line
    assert model.config.vocab_size == len(tokenizer)
    write = [str(tmp_path / "run"), "--prompt", "The fox", "--length", "8"]
    assert generate.main(write) == 0
    written = capsys.readouterr().out.removesuffix("\n")
    assert written.startswith("The fox")
    assert tokenizer.encode(written).numel() >= 10  # words that were spelt may have met

    assert run("--resume", small=False)[0] == 0
    status, _, complaint = run("--resume --tokens characters", small=False)
    assert status == 2
    assert "--tokens characters: the run in" in complaint
    assert "has words" in complaint
    edited(tmp_path / "run", lambda rest: rest["extra"].update(tokens="syllables"))
    status, _, complaint = run("--resume", small=False)
    assert status == 2


def test_edited_settings_and_vocabulary_are_refused(tmp_path, run, capsys):
    folder = tmp_path / "run"
    assert run("")[0] == 0
    edited(folder, lambda rest: rest["extra"]["vocab"].reverse())
    assert_refused(capsys, [str(folder)], generate)
    for field in ("warmup", "steps"):
        edited(folder, lambda rest, field=field: rest["extra"]["training"].pop(field))
        assert_refused(capsys, ["--out", str(folder), "--resume"])
    (path,) = folder.glob("checkpoint-*/checkpoint.json")
    path.write_text("[" * 100_000, "utf-8")
    assert_refused(capsys, [str(folder)], generate)


def test_a_console_without_the_characters_shows_their_codes(tmp_path):
    text = tmp_path / "mine.txt"
    text.write_text("лиса и волк " * 60, "utf-8")
    out = tmp_path / "run"
    assert train.main([*SMALL.split(), "--text", str(text), "--out", str(out)]) == 0
    narrow = {"PYTHONIOENCODING": "cp1252"}
    done = python("-m", "helpers.generate", out, "--length", "9", environment=narrow)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u04" in done.stdout


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (BrokenPipeError(), 141, ""),
        (KeyboardInterrupt(), 130, "\nstopped; earlier checkpoints are still there\n"),
        (OSError(28, "no room in the folder"), 2, "\nerror: no room in the folder\n"),
        (ValueError("width=0"), 2, "\nerror: width=0\n"),
    ],
)
def test_how_a_command_ends(monkeypatch, capsys, error, status, said):
    @console.command
    def ends(arguments):
        raise error

    monkeypatch.setattr(sys, "stdout", sys.stdout)  # put back afterwards
    assert ends([]) == status
    assert capsys.readouterr().err == said


def test_ctrl_c_is_heard_where_it_was_ignored():
    """As it is by what a shell runs in the background."""

    @console.command
    def presses(arguments):
        signal.raise_signal(signal.SIGINT)
        return 0

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert presses([]) == 130
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("module", [train, generate])
def test_ctrl_c_is_handled_before_imports(module):
    body = ast.parse(inspect.getsource(module)).body
    guard = next(place for place, line in enumerate(body) if isinstance(line, ast.If))
    assert [ast.unparse(line) for line in body[1:guard]] == ["import signal", "import sys"]
    assert "signal.SIG_DFL" in ast.unparse(body[guard])
