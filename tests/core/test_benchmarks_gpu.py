"""All that needs a graphics card, in small on a CPU, read as the pages read it."""

import json
import subprocess
import sys

import pytest
from support import ROOT

from helpers.chapters.ch11_small_gpt import lab

PEER_MODEL = """
from dataclasses import dataclass
import torch

@dataclass
class GPTConfig:
    vocab_size: int
    block_size: int
    n_layer: int = 1
    n_head: int = 1
    n_embd: int = 8

class GPT(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, ids, targets):
        return self.table.expand(*ids.shape, -1), None
"""
PEER_TRAIN = """
import os, pickle, torch

V = pickle.load(open("data/shakespeare_char/meta.pkl", "rb"))["vocab_size"]
assert os.path.getsize("data/shakespeare_char/train.bin") > 100_000
os.makedirs("out-shakespeare-char")
saved = {"model": {"_orig_mod.table": torch.zeros(V)}, "iter_num": 20}
saved["model_args"] = {"vocab_size": V, "block_size": 16}
torch.save(saved, "out-shakespeare-char/ckpt.pt")
for step in range(21):
    if step % 10 == 0:
        print(f"step {step}: train loss 2.0, val loss {2 - step / 20:.4f}")
    print(f"iter {step}: loss 2.0, time 1.00ms, mfu 1.00%")
"""


@pytest.mark.slow
def test_a_dry_run_stores_what_the_pages_read(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    from content import results

    peer, out = tmp_path / "peer", tmp_path / "out"
    peer.mkdir()
    (peer / "model.py").write_text(PEER_MODEL, "utf-8")
    (peer / "train.py").write_text(PEER_TRAIN, "utf-8")
    command = [sys.executable, ROOT / "benchmarks" / "gpu.py", "--dry-run", "--minutes", "30"]
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    subprocess.run([*command, "--out", out, "--peer", peer], check=True, cwd=tmp_path)
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in out.iterdir()}
    assert set(found) == {"gpt_gpu", "gpt_larger", "gpu_tests"}
    for stored in found.values():
        ((name, part),) = results.parts_of(stored).items()
        assert not name
        assert stored["title"]
        assert stored["claim"]
        assert "`benchmarks/gpu.py`" in results.provenance(part)
        assert results.table_and_words(part)[1] == len(part["rows"]) > 1
    theirs, ours = found["gpt_gpu"]["rows"]
    assert (theirs[0], theirs[2], theirs[4]) == ("nanoGPT", "20", "1.000")
    assert ours[0] == "ours"
    assert all(outcome == "passed" for _, outcome in found["gpu_tests"]["rows"])
    said = lab.larger(out)
    assert "The larger size, 20 steps (CPU" in said
    assert found["gpt_larger"]["rows"][-1][2] in said
    assert lab.larger(tmp_path) == "The larger size has not been measured yet."
