"""The race to nanoGPT's loss, in a few updates: benchmarks/speedrun.py."""

import math

import numpy as np
import pytest
import speedrun
import torch

PEER = """
import sys
import time

import torch
from model import GPT

updates = int(next(a for a in sys.argv if a.startswith("--max_iters=")).split("=")[1]) + 1
torch.manual_seed(1337 + 0)
raw_model = GPT()
time.time()
for _ in range(updates):
    time.time()
"""
MODEL = """
import torch


class GPT(torch.nn.Module):
    def forward(self, ids_BT, targets=None):
        return torch.zeros(*ids_BT.shape, 99), None
"""


def test_no_token_reads_those_after_it():
    torch.manual_seed(0)
    model = speedrun.model_of(11, zero=False)
    ids_BT = torch.arange(9)[None]
    changed_BT = ids_BT.clone()
    changed_BT[0, 5] = 10
    differs = (model(ids_BT) != model(changed_BT)).any(dim=-1)[0]
    assert differs.tolist() == [n >= 5 for n in range(9)]


@pytest.mark.parametrize("sizes", [(8, 24), (24, 8), (8, 8)])
def test_muons_step_turns_singular_values_to_one(sizes):
    matrix = torch.randn(sizes, generator=torch.Generator().manual_seed(1))
    U, _, Vh = torch.linalg.svd(matrix, full_matrices=False)
    found = U.mT @ speedrun.orthogonal(matrix) @ Vh.mT
    assert (found.diagonal() - 1).abs().max() < 0.35
    assert (found - found.diagonal().diag()).abs().max() < 1e-4


def test_our_side_learns_what_its_seed_draws():
    V = speedrun.read("tales")[0]
    one, again, other = (speedrun.ours(seed, 8, "tales")["loss"] for seed in (1, 1, 2))
    assert one == again != other
    assert one < 0.9 * math.log(V)


def test_the_peers_clock_leaves_its_evaluation_out(tmp_path, monkeypatch):
    """Each update takes 3 s, and the first 100 s more, in which train.py evaluates."""
    stamps = iter([0, 103, 106, 109, 112])
    monkeypatch.setattr(speedrun, "clock", lambda: np.array([next(stamps)] * 2))
    (tmp_path / "data" / "shakespeare_char").mkdir(parents=True)
    (tmp_path / "train.py").write_text(PEER, "utf-8")
    (tmp_path / "model.py").write_text(MODEL, "utf-8")
    found = speedrun.theirs(1, 4, tmp_path, "tales")
    assert (found["processor"], found["wall"]) == (12, 12)
    assert found["loss"] == pytest.approx(math.log(99))
    (tmp_path / "train.py").write_text(PEER.replace("1337 + 0", "0"), "utf-8")
    with pytest.raises(ValueError, match="1337"):
        speedrun.theirs(1, 4, tmp_path, "tales")
