"""Numbers from a seed, and Python as a reader runs it."""

import os
import subprocess
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def numbers(*shape, seed=0):
    """From a normal distribution, in float64."""
    return torch.randn(shape, generator=seeded(seed), dtype=torch.float64)


def python(*arguments, **options):
    """Run Python in the repository as a reader would, on one thread."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "core")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    environment |= options.pop("environment", {})
    usual = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 120}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, **(usual | options)
    )
