"""What a reader and a teacher see, taken from two checkouts and compared while code moves below it.

    python tests/goldens.py take COMMIT FOLDER      from a fresh checkout of a commit (or HEAD)
    python tests/goldens.py compare BEFORE AFTER    what differs; exit status 1 where anything does

Taken: text, captions and alternative text of each page; outputs of the notebooks; the gradebook's
tables for the submissions of the tests; stored results; each exercise's reply to the wrong answers
of the commit REFERENCE; screenshots of 12 pages at two widths, light and dark. A script of one
change: it goes when that is done.
"""

import argparse
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = "3021c5c"  # the commit before the change
PAGES = (
    "notebooks/00_what_a_transformer_does",
    "notebooks/01_embeddings_as_features",
    "notebooks/03_bigram_table",
    "notebooks/04_layernorm_vs_batchnorm",
    "notebooks/05_attention_by_hand",
    "notebooks/07_heads_masks_positions",
    "notebooks/09_prenorm_vs_postnorm",
    "notebooks/11_small_gpt",
    "notebooks/12_inside_the_gpt",
    "book/glossary",
    "book/corrections",
    "book/for-teachers",
)
SUBJECTS = ("pages", "notebooks", "grades", "results", "replies", "shots")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def pages(root: Path, out: Path) -> None:
    """Each page's text, with captions and alternative texts, a line a block."""
    from bs4 import BeautifulSoup

    site = root / "_build" / "html"
    for path in sorted(site.rglob("*.html")):
        page = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        article = page.find("article") or page.body or page
        for part in article.find_all(["script", "style"]):
            part.decompose()
        for image in article.find_all(attrs={"alt": True}):
            image.insert_after(f"\n[alt] {image['alt']}\n")
        for part in article.find_all(attrs={"aria-label": True}):
            part.insert_after(f"\n[label] {part['aria-label']}\n")
        lines = (" ".join(line.split()) for line in article.get_text("\n").splitlines())
        name = path.relative_to(site).as_posix().replace("/", "--")
        (out / f"{name}.txt").write_text("\n".join(filter(None, lines)) + "\n", "utf-8")


def notebooks(root: Path, out: Path) -> None:
    """Each output of each notebook: its text, or the digest of its picture."""
    for path in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        lines = []
        for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
            for output in cell.get("outputs", []):
                for kind, content in sorted(
                    output.get("data", {"text": output.get("text")}).items()
                ):
                    text = "".join(content) if isinstance(content, list) else str(content)
                    shown = text if kind in ("text", "text/plain") else digest(text.encode())
                    lines.append(f"{number} {kind}: {shown}")
        (out / f"{path.stem}.txt").write_text("\n".join(lines) + "\n", "utf-8")


def grades(root: Path, out: Path) -> None:
    """Tables of the gradebook for all that the tests hand in, to three chapters."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "tests")
        command = [sys.executable, "-m", "pytest", "-q", f"--basetemp={folder}", "-k", "deserves"]
        where = next(root.rglob("test_submissions.py"))
        subprocess.run([*command, str(where)], cwd=root, stdout=subprocess.DEVNULL)
        for path in sorted(folder.rglob("grading/*/*.csv")):
            lines = sorted(path.read_text("utf-8").splitlines())
            (out / f"{path.parent.name}-{path.name}.txt").write_text(
                "\n".join(lines) + "\n", "utf-8"
            )


def results(root: Path, out: Path) -> None:
    """The digest of each stored result."""
    folder = root / "helpers" / "data" / "results"
    lines = [
        f"{p.relative_to(folder).as_posix()} {digest(p.read_bytes())}"
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    ]
    (out / "digests.txt").write_text("\n".join(lines) + "\n", "utf-8")


def replies(root: Path, out: Path) -> None:
    """What each exercise says to the reference's wrong answers; run with PYTHONPATH=root."""
    with tempfile.TemporaryDirectory() as work:
        archive = ["git", "-C", str(ROOT), "archive", REFERENCE, "tests"]
        packed = subprocess.run(archive, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", work], input=packed, check=True)
        code = (
            f"import sys; sys.path[:0] = {[str(root), work + '/tests', str(ROOT / 'tests')]}; "
            f"import goldens; goldens.write_replies({work!r}, {str(out)!r})"
        )
        subprocess.run([sys.executable, "-c", code], cwd=root, check=True)


def write_replies(work: str, out: str) -> None:
    """In a process whose `helpers` and wrong answers are on the path."""
    from helpers.exercises import check

    for folder in sorted(Path(work, "tests", "chapters").glob("ch*")):
        lines = []
        try:
            module = importlib.import_module(f"chapters.{folder.name}.wrong_answers")
            for name, answers in module.WRONG.items():
                lines += [
                    f"{name} {n}: {check(name, answer)!r}" for n, (answer, _) in enumerate(answers)
                ]
        except ImportError as error:
            lines.append(f"the wrong answers do not load: {error}")
        (Path(out) / f"{folder.name}.txt").write_text("\n".join(lines) + "\n", "utf-8")


def shots(root: Path, out: Path) -> None:
    """Pages as a wide screen and a phone show them, light and dark."""
    from playwright.sync_api import sync_playwright

    find = [sys.executable, "-m", "book.browser"]
    browser = subprocess.run(find, cwd=root, capture_output=True, text=True).stdout.strip()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
            screen = {"width": width, "height": 900}
            view = chromium.new_page(viewport=screen, color_scheme=scheme, reduced_motion="reduce")
            for name in PAGES:
                address = root / "_build" / "html" / f"{name}.html"
                view.goto(address.as_uri())
                view.wait_for_load_state("networkidle")
                path = out / f"{Path(name).name}-{width}-{scheme}.png"
                view.screenshot(path=path, full_page=True)
            view.close()
        chromium.close()


def take(commit: str, folder: Path, only: list[str]) -> None:
    """Take the subjects from a fresh checkout of a commit, whose site is built there."""
    with tempfile.TemporaryDirectory() as work:
        root = Path(work, "checkout")
        worktree = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*worktree, "add", "-q", "--detach", str(root), commit], check=True)
        try:
            os.symlink(ROOT / ".venv", root / ".venv")
            if {"pages", "shots"} & set(only):
                build = [sys.executable, "-m", "book.build"]
                subprocess.run(build, cwd=root, check=True, stdout=subprocess.DEVNULL)
            for subject in only:
                print(subject, flush=True)
                out = folder / subject
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir(parents=True)
                globals()[subject](root, out)
        finally:
            subprocess.run([*worktree, "remove", "--force", str(root)])


def compare(before: Path, after: Path) -> int:
    """Print what differs; the number of files that do."""
    differing = 0
    names = {p.relative_to(top) for top in (before, after) for p in top.rglob("*") if p.is_file()}
    for name in sorted(names):
        old, new = before / name, after / name
        if not (old.exists() and new.exists()):
            print("only in", "before:" if old.exists() else "after:", name)
        elif old.read_bytes() == new.read_bytes():
            continue
        elif name.suffix == ".png":
            print("picture differs:", name, apart(old, new))
        else:
            print(f"--- {name}", flush=True)
            diff = ["diff", "-U0", str(old), str(new)]
            text = subprocess.run(diff, capture_output=True, text=True).stdout
            print("\n".join(re.findall(r"^[+-](?![+-]{2} ).*", text, re.M)))
        differing += 1
    print(f"{differing} of {len(names)} differ")
    return differing


def apart(old: Path, new: Path) -> str:
    """How two pictures differ: in size, or the share of pixels."""
    import numpy as np
    from PIL import Image

    a, b = (np.asarray(Image.open(path).convert("RGB")).astype(int) for path in (old, new))
    if a.shape != b.shape:
        return f"{a.shape[:2]} and {b.shape[:2]}"
    return f"{(np.abs(a - b).max(axis=-1) > 8).mean():.2%} of pixels"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["take", "compare"])
    parser.add_argument("first")
    parser.add_argument("second", type=Path)
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, default=SUBJECTS)
    given = parser.parse_args()
    if given.command == "take":
        take(given.first, given.second, given.only)
    else:
        sys.exit(compare(Path(given.first), given.second) > 0)
