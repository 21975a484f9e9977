"""A model of token ids that trains in milliseconds, a text for it, and numbers from a seed."""

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn

from helpers.training import TrainingConfig

ROOT = Path(__file__).resolve().parents[2]
V = 7


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def numbers(*shape, seed=0):
    """From a normal distribution, in float64."""
    return torch.randn(shape, generator=seeded(seed), dtype=torch.float64)


class Tiny(nn.Module):
    """Embedding, one hidden layer with a bias, a head; (B, T) ids to (B, T, V) logits."""

    def __init__(self, *, dropout=0.0, tied=False, width=8):
        super().__init__()
        self.embedding = nn.Embedding(V, width)
        self.hidden = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, V, bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.5, generator=seeded(parameter.numel()))

    def forward(self, ids_BT):
        return self.head(self.dropout(torch.tanh(self.hidden(self.embedding(ids_BT)))))


def ids(n=300, seed=0):
    """A text in which the next token depends on the present one."""
    noise = torch.randint(0, 2, (n,), generator=seeded(seed))
    return (torch.arange(n) * 2 + noise.cumsum(0)) % V


TRAIN, VALIDATION = ids(400), ids(101, seed=1)


def config(**changes):
    usual = {"steps": 12, "batch_size": 4, "context": 6, "lr": 0.02, "seed": 5}
    usual |= {"warmup": min(3, changes.get("steps", 3)), "evaluate_every": 4, "checkpoint_every": 4}
    return TrainingConfig(**(usual | changes))


def same(one, other):
    """Whether two modules have the same parameters, to the last bit."""
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def plain(records):
    """Records as dicts, without the clock."""
    return [{k: v for k, v in asdict(r).items() if k != "seconds"} for r in records]


def python(*arguments, **options):
    """Run Python in the repository as a reader would, on one thread."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "core")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    environment |= options.pop("environment", {})
    usual = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 120}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, **(usual | options)
    )
