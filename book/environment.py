"""Make .venv with the pinned packages: ``python3 book/environment.py [cpu|gpu] [lab]``.

A finished .venv is left alone, and one that was moved or interrupted is made anew. PyTorch is for
the CPU unless there is an NVIDIA GPU. ``lab`` installs only what the notebooks need.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
READY = VENV / ".ready"  # what is installed; until the end, only which PyTorch
PIP = [*(["uv"] if shutil.which("uv") else [str(PYTHON), "-m"]), "pip", "install"]
HASHES, PINS = "requirements-hashes.txt", "requirements.txt"
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
REASONS = {
    "No space left": "the disk is full",
    "Permission denied|Read-only": "the book, without .venv, belongs in a folder that is yours",
    "No module named venv|ensurepip": "Debian and Ubuntu need the package python3-venv for it",
    "Retrying|timed out|sending request": "there is no network, or the package index is closed",
    "No (matching|solution)": "there is no build for this Python, system or processor",
}


def set_up(*words):
    """Make .venv what the words ask for, or exit with a sentence that says why it cannot be."""
    if not {*words} <= {"", "cpu", "gpu", "lab"}:
        sys.exit(f"Set-up takes cpu or gpu, and lab; it was given {' '.join(words)!r}.")
    before = READY.read_text("utf-8").split("\n", 3) if READY.exists() else [""]
    torch = "".join({*words} & {"cpu", "gpu"}) or before[0]
    torch = torch or ("gpu" if sys.platform == "linux" and shutil.which("nvidia-smi") else "cpu")
    kind = "lab" if "lab" in words and before[2:3] != ["all"] else "all"
    files = [(ROOT / name).read_text("utf-8") for name in (HASHES, PINS, "pyproject.toml")]
    wanted = [torch, str(ROOT), kind, "".join(files)]
    if VENV.is_symlink() or (before == wanted and PYTHON.exists()):  # a link is another folder's
        return
    if before[:2] != wanted[:2] or not PYTHON.exists():
        make_venv(files[2], 7 if torch == "gpu" else 2)
    READY.write_text(torch, "utf-8")
    [pin] = re.findall(r"^torch==[\d.]+", files[1], re.MULTILINE)
    if torch == "gpu" or sys.platform != "linux":
        run(f"2/4 {pin}", *PIP, "--no-deps", pin)
    else:
        title = f"2/4 {pin} for the CPU (or with CUDA, 5 GB more, by `make setup TORCH=gpu`)"
        run(title, *PIP, "--no-deps", f"{pin}+cpu", "--index-url", CPU_BUILDS)
    if kind == "lab":
        run("3/4 JupyterLab", *PIP, "--constraint", PINS, "jupyterlab", "setuptools")
    else:
        title = f"3/4 the {files[0].count('==')} packages of {HASHES}"
        run(title, *PIP, "--no-deps", "--require-hashes", "--requirement", HASHES)
    run("4/4 the book", *PIP, "--constraint", PINS, "--no-build-isolation", "--editable", ".")
    READY.write_text("\n".join(wanted), "utf-8")


def make_venv(project, size):
    """Make an empty .venv, if this Python and the room on the disk will do."""
    asked = re.findall('requires-python = "(.*)"', project)[0]  # [tool.book]'s comes first
    bounds = [tuple(map(int, one.split("."))) for one in re.findall(r"\d+\.\d+", asked)]
    if not bounds[0] <= sys.version_info[:2] < [*bounds, (4, 0)][1]:
        sys.exit(f"Set-up needs Python {asked}, not {sys.version.split()[0]}: see README.")
    print(f"Setting up {VENV} takes a few minutes and {size} GB (2 for the CPU, 7 with CUDA)")
    if (free := shutil.disk_usage(ROOT).free / 1e9) < size:
        sys.exit(f"Set-up needs {size} GB, but only {free:.1f} GB are free where {ROOT} is.")
    READY.unlink(missing_ok=True)  # first, since what is cleared may be interrupted
    run("1/4 a new .venv (any old one goes)", sys.executable, "-m", "venv", "--clear", str(VENV))


def run(title, *command):
    """Say what is done and do it; exit with a sentence where it fails."""
    print(f"\n{title}", flush=True)
    variables = {**os.environ, "UV_PYTHON": str(PYTHON), "UV_SYSTEM_PYTHON": "0"}
    said = ""
    with subprocess.Popen(command, cwd=ROOT, env=variables, stderr=subprocess.PIPE) as step:
        for line in step.stderr or ():
            print(words := line.decode(errors="replace"), end="", file=sys.stderr, flush=True)
            said += words
    if step.returncode:
        reason = next((REASONS[one] for one in REASONS if re.search(one, said)), "see above")
        sys.exit(f"\nSet-up stopped at step {title}: {reason}.")


if __name__ == "__main__":
    try:
        set_up(*sys.argv[1:])
    except KeyboardInterrupt:
        print("\nInterrupted. The next set-up will start afresh.", file=sys.stderr)
        sys.exit(130)
