"""Make .venv and install the exact pins: ``python3 book/environment.py [--torch cpu|gpu]``.

`make setup`, and every target that needs .venv, calls this; where all is as it should be it does
nothing. A folder that was copied or renamed gets its .venv mended, which would run the old folder's
code otherwise. Everything but torch is installed with hashes, in a step of its own. torch's build
for the CPU is taken unless there is an NVIDIA GPU or one is asked for: CUDA's packages are larger
than all the rest. uv installs where there is one. Needs nothing but Python.
"""

import argparse
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
READY = VENV / ".ready"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
HASHES, PINS = "requirements-hashes.txt", "requirements.txt"
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
LAUNCHER = re.compile(rb"\A#!(?:/bin/sh\n'''exec' .*\n' '''\n|.*python.*\n)")
OLDEST = (3, 11)


def main(arguments=None):
    """Set up what is missing; the exit status is 0 when .venv is ready."""
    asked = argparse.ArgumentParser(prog="book/environment.py", description="Set up .venv.")
    asked.add_argument(
        "--torch", choices=["", "cpu", "gpu"], default="",
        help="which build of torch (default: the CPU's unless a GPU is here)",
    )  # fmt: skip
    chosen = asked.parse_args(arguments).torch
    try:
        set_up(chosen)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"error: {error.filename} cannot be read or written ({error.strerror}): copy the book, "
            "without .venv, to a folder that is yours, and set it up there", file=sys.stderr,
        )  # fmt: skip
        return 1
    return 0


def set_up(chosen):
    """Make or mend .venv. Raises: RuntimeError that says what is in the way."""
    if VENV.is_symlink():  # another folder's, which is not to be turned to this one's code
        return
    before = known()
    torch = chosen or before.get("torch") or ("gpu" if gpu_is_here() else "cpu")
    wanted = {"folder": str(ROOT), "torch": torch, "pins": pins()}
    if before == wanted and PYTHON.exists():
        return
    check_machine()
    if not os.access(ROOT, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(ROOT))
    if make_venv(before) or before != {**wanted, "folder": before.get("folder")}:
        # All are pinned. (pip, left to look for what they need, stumbles over extras with hashes.)
        install("--no-deps", "--require-hashes", "--requirement", str(ROOT / HASHES))
        install_torch(torch, before.get("torch", torch))
    install("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    READY.write_text(json.dumps(wanted), encoding="utf-8")


def known():
    """What the last set-up wrote down: its folder, its choice of torch, what it installed."""
    try:
        said = json.loads(READY.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def pins():
    """A hash of the files that say what is installed."""
    files = [ROOT / name for name in (HASHES, PINS, "pyproject.toml")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def gpu_is_here():
    """Whether this machine has an NVIDIA GPU."""
    return shutil.which("nvidia-smi") is not None or Path("/dev/nvidiactl").exists()


def check_machine():
    """Say what cannot work here. Raises: RuntimeError."""
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        raise RuntimeError(
            f"the book needs Python 3.11 or newer, this is {found} ({sys.executable})"
        )
    if sys.platform != "darwin":
        return
    import platform  # late: it asks the system

    release = platform.mac_ver()[0]
    if platform.machine() != "arm64" or int(release.partition(".")[0] or 14) < 14:
        raise RuntimeError(
            f"PyTorch has no build of the pinned release for this Mac ({platform.machine()}, macOS "
            f"{release}): it needs Apple silicon and macOS 14. Read the book in Colab, or in the "
            "container that .devcontainer describes"
        )


def make_venv(before):
    """Mend a .venv that came from another folder; make one, and say so, where none runs."""
    moved = before.get("folder", str(ROOT)) != str(ROOT)
    runs = PYTHON.exists() and not subprocess.run([str(PYTHON), "-c", ""]).returncode
    if runs and not moved:
        return False
    if moved:
        print(f".venv came from {before['folder']}: set up for this folder")
    base = sys.executable
    if runs and os.name != "nt":
        ask = [str(PYTHON), "-c", "import sys; print(sys._base_executable)"]
        base = subprocess.run(ask, capture_output=True, text=True).stdout.strip()
        run([base, "-m", "venv", "--without-pip", str(VENV)])  # the scripts that activate it
        for path in PYTHON.parent.iterdir():
            turn(path)
        return False
    if VENV.exists():
        shutil.rmtree(VENV)
    try:
        run([base, "-m", "venv", str(VENV)])
    except RuntimeError as error:
        raise RuntimeError(
            f"{error} (on Debian and Ubuntu: apt-get install python3-venv)"
        ) from None
    return True


def turn(path):
    """Let a script of .venv be run by this folder's Python, and not by the one it was made for."""
    if path.is_symlink() or not path.is_file():
        return
    text = path.read_bytes()
    header = f"#!/bin/sh\n'''exec' \"{PYTHON}\" \"$0\" \"$@\"\n' '''\n"
    if (now := LAUNCHER.sub(lambda _: header.encode(), text)) != text:
        path.write_bytes(now)


def install_torch(torch, before):
    """Install the pinned torch, for the CPU or with CUDA's packages, and say which."""
    (pin,) = re.findall(r"^torch==\S+", (ROOT / PINS).read_text(encoding="utf-8"), re.MULTILINE)
    if torch != before:
        run([str(PYTHON), "-m", "pip", "uninstall", "--quiet", "--yes", "torch"])
    if not sys.platform.startswith("linux"):
        print(f"{pin}: the build of the package index (for a GPU on Windows see pytorch.org)")
        return install(pin)
    if torch == "gpu":
        print(f"{pin} with CUDA, some 5 GB (make setup TORCH=cpu is for the CPU alone)")
        return install(pin)
    if has_cpu_builds():
        print(f"{pin} for the CPU (make setup TORCH=gpu takes CUDA's packages, too)")
        return install("--no-deps", pin, "--index-url", CPU_BUILDS)
    print(f"{pin} from the package index, since {CPU_BUILDS} does not answer")
    return install(pin)


def has_cpu_builds():
    """Whether the place of the small builds can be reached."""
    try:
        with urllib.request.urlopen(f"{CPU_BUILDS}/torch/", timeout=15) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def install(*what):
    """Install into .venv, by uv where there is one. Raises: RuntimeError that says what to do."""
    uv = shutil.which("uv")
    tool = [uv, "pip", "install", "--python"] if uv else []
    pip = [str(PYTHON), *([] if uv else ["-m", "pip", "install", "--disable-pip-version-check"])]
    try:
        run([*tool, *pip, "--quiet", *what])
    except RuntimeError as error:
        raise RuntimeError(
            f"{error} (packages come from the network: without one, or where the package index "
            "cannot be reached, run this again where it can)"
        ) from None


def run(command):
    """Run a command that says itself what is wrong. Raises: RuntimeError where it fails."""
    if subprocess.run(command, cwd=str(ROOT)).returncode:
        raise RuntimeError(f"{' '.join(command[:4])} … failed; see above")


if __name__ == "__main__":
    sys.exit(main())
