"""helpers.train: processes that share a batch learn what one does, and a kill costs nothing."""

import random
import subprocess
import sys
import time

import pytest
import torch
from tiny import ROOT, python

from helpers import checkpoint, corpus, train

SMALL = "--tokens words --width 16 --heads 2 --layers 2 --context 8 --batch 8 --lr 0.01 --float32"
SMALL = [*SMALL.split(), "--every", "2"]
IN_FLOAT64 = """
import sys, torch
from helpers import train
torch.set_default_dtype(torch.float64)
train.run(sys.argv[1:])
"""
pytest.importorskip("accelerate")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own_on_one_thread(monkeypatch, tmp_path):
    from accelerate.state import AcceleratorState

    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").write_text(corpus.load()[:20_000], "utf-8")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    AcceleratorState._reset_state(reset_partial_state=True)


def weights(folder):
    return dict(checkpoint.load(f"{folder}/model.safetensors")[0].named_parameters())


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.nightly)])
def test_a_run_that_is_killed_again_and_again_ends_as_an_unbroken_one(tmp_path, kills):
    steps = 10 + 10 * kills
    how = [*SMALL, "--dropout", "0.2", "--steps", str(steps)]
    draw, started = random.Random(kills), ["my.txt", "killed", *how]
    newest = ""
    for _ in range(kills):
        run = subprocess.Popen([sys.executable, "-m", "helpers.train", *started])
        while max((path.name for path in tmp_path.glob("killed/step-*")), default="") <= newest:
            assert run.poll() is None, "it ended too early"
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 0.3))
        run.kill()
        run.wait()
        kept = max(path.name for path in tmp_path.glob("killed/step-*"))
        assert kept > newest
        newest, started = kept, ["--resume", "killed"]
    train.run(started)
    train.run(["my.txt", "unbroken", *how])
    ends = [tmp_path / name / "model.safetensors" for name in ("killed", "unbroken")]
    assert ends[0].read_bytes() == ends[1].read_bytes()
    log = (tmp_path / "killed" / "log.txt").read_text("utf-8")
    assert "resumed after step" in log
    assert [f"step {step}, " in log for step in (2, steps)] == [True, True]
    assert (tmp_path / "killed" / "loss.svg").read_text("utf-8").startswith("<?xml")
    assert not (tmp_path / "killed" / "partial").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="torchrun wants Linux or macOS")
def test_two_processes_and_two_parts_of_a_batch_learn_what_one_does(tmp_path):
    """Each takes half of one draw. In float64 no rounding tells them apart."""
    (tmp_path / "double.py").write_text(IN_FLOAT64, "utf-8")
    how = [*SMALL, "--steps", "8"]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = python(*torchrun, "double.py", "my.txt", "two", *how, cwd=tmp_path, timeout=300)
    assert "2 processes on cpu" in done.stdout, done.stderr
    torch.set_default_dtype(torch.float64)
    try:
        train.run(["my.txt", "one", *how])
        train.run(["my.txt", "halves", *how, "--accumulate", "2"])
    finally:
        torch.set_default_dtype(torch.float32)
    for other in ("two", "halves"):
        torch.testing.assert_close(weights(other), weights("one"), rtol=1e-6, atol=1e-7)


def test_a_llama_of_byte_pairs_learns_in_bfloat16_and_opens(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "has_bf16", lambda: True)
    how = [word for word in SMALL if word != "--float32"]
    how += ["--kind", "llama", "--tokens", "pairs", "--merges", "50", "--kv_heads", "1"]
    train.run(["my.txt", "run", *how, "--steps", "40", "--every", "40"])
    log = (tmp_path / "run" / "log.txt").read_text("utf-8")
    assert "in bfloat16" in log
    assert float(log.split(" on unseen text")[0].split()[-1]) < 5  # log 306 is 5.7
    model, tokenizer = checkpoint.load("run/model.safetensors")
    assert checkpoint.sizes(model)["G"] == 1
    assert tokenizer.decode(tokenizer.encode("The fox")) == "The fox"
    (tmp_path / "my.txt").write_text("Another text", "utf-8")
    with pytest.raises(SystemExit, match="isn't the text"):
        train.run(["--resume", "run"])


def test_bad_input_gets_one_sentence_and_begins_nothing(tmp_path):
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "settings.json").write_text("{}", "utf-8")
    for words, said in {
        "none.txt new": "no file at",
        "my.txt held": "holds a run already",
        "--resume new": "no file at",
        "my.txt new --batch 9 --accumulate 2": "multiple",
        "my.txt new --heads 3": "divide",
        "my.txt new --kind llama --dropout 0.1": "no dropout",
        "my.txt new --context 5000": "tokens",
    }.items():
        with pytest.raises(SystemExit, match=said) as stopped:
            train.run(words.split())
        assert "\n" not in str(stopped.value)
    assert not (tmp_path / "new").exists()
