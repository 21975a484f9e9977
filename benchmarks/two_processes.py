"""How far a run on two processes moves away from the same run on one, in float32 and bfloat16.

Each takes half of every batch on the CPU, and the gradients are averaged. Sums are then added up in
another order, and in bfloat16 they are rounded to 8 bits on the way.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, about, store_table

SEEDS = (0, 1)
STEPS = 200
ARGUMENTS = [
    "--layers",
    "2",
    "--heads",
    "4",
    "--width",
    "64",
    "--context",
    "32",
    "--steps",
    str(STEPS),
    "--evaluate-every",
    "50",
    "--quiet",
]
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def records(processes: int, precision: str, seed: int) -> list[dict]:
    """The records of a run of the command on the tales."""
    with tempfile.TemporaryDirectory() as folder:
        launcher = TWO if processes == 2 else []
        command = [
            sys.executable,
            *launcher,
            "-m",
            "helpers.train",
            *ARGUMENTS,
            "--out",
            folder,
            "--precision",
            precision,
            "--seed",
            str(seed),
        ]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        lines = (Path(folder) / "records.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def rows() -> list[list]:
    """A row a precision and seed: the largest differences of the losses, and where they ended."""
    found: list[list] = []
    for precision in ("float32", "bfloat16"):
        for seed in SEEDS:
            one, two = (records(n, precision, seed) for n in (1, 2))
            pairs = list(zip(one, two, strict=True))
            loss = max(abs(a["loss"] - b["loss"]) for a, b in pairs)
            validation = max(
                abs(a["validation"] - b["validation"])
                for a, b in pairs
                if a["validation"] is not None
            )
            ends = [f"{side[-1]['validation']:.3f}" for side in (one, two)]
            found.append([precision, seed, f"{loss:.4f}", f"{validation:.4f}", *ends])
    return found


def main() -> None:
    """Store the table."""
    result = about(__file__, list(SEEDS)) | {
        "title": "Two processes and one",
        "claim": "The largest difference of a run on two processes from the same run on one, in "
        f"nats a character, over {STEPS} steps of Muon on the tales",
        "columns": [
            "precision",
            "seed",
            "of a batch's loss",
            "of the validation loss",
            "validation at the end, one",
            "two",
        ],
        "rows": rows(),
    }
    store_table("two_processes", result)


if __name__ == "__main__":
    main()
