"""Where the book lives: the address of its repository, and every place that has it.

    python -m book.address [URL]     write the address and the release into the stored files

Pages, launch buttons and the notebooks that the site offers take the address at each build. Stored
notebooks need it too, for Colab opens them where they are stored: `make address` writes it into
their first cells and badges, into _config.yml and into the other files that have it, and runs none.
"""

import json
import os
import re
import sys
import tomllib
from pathlib import Path

import yaml

from helpers.files import write_text

ROOT = Path(__file__).resolve().parents[1]
GITHUB = "https://github.com/"
PLACE_HOLDER = "/OWNER/"
COLAB = "https://colab.research.google.com/github/"
PLACES = ("_config.yml", "CITATION.cff", "pyproject.toml", "README.md")  # and the notebooks
ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w.~-]+){2,}")
BADGE = re.compile(r"^\[Open in Colab\]\([^)\s]*\)\s*", re.MULTILINE)
LINKS = re.compile(r"^.*(?=<!-- links -->)", re.MULTILINE)  # in README.md
FIRST_CELL = """\
{imports}from IPython.core.error import UsageError

try:
    import helpers

    helpers.TRANSFORMERS_WORKED_OUT  # not another package of that name
except Exception:
{otherwise}"""
INSTALL = """\
    if "google.colab" not in sys.modules:
        raise UsageError(
            "This kernel lacks the book's package helpers: use `make lab`, or restart "
            "after %pip install {source}"
        ) from None
    %pip install --quiet {source}
    sys.path.insert(0, sysconfig.get_path("purelib"))
    for name in [m for m in sys.modules if m.split(".")[0] == "helpers"]:
        del sys.modules[name]"""
UNPUBLISHED = """\
    raise UsageError(
        "This kernel lacks the book's package helpers: use `make lab` in the book's "
        "folder (in Colab it works only once the book is published)."
    ) from None"""
HINT = "# Run the cells one by one (Shift+Enter); lock each guess before you run on.\n"


def address(root: Path = ROOT) -> str | None:
    """The repository's address, with neither .git nor a slash at its end; None if it is not known.

    It is the first of: BOOK_ADDRESS, what GitHub says to a workflow, the value in _config.yml.
    Raises: ValueError where the first one there is no address.
    """
    github = os.environ.get("GITHUB_REPOSITORY")
    said = os.environ.get("BOOK_ADDRESS") or (
        f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{github}" if github else ""
    )
    said = said or stored(root)[0]
    return None if PLACE_HOLDER in said else plain(said)


def plain(url: str) -> str:
    """The repository's address as a browser shows it on its first page. Raises: ValueError."""
    found = url.strip().rstrip("/").removesuffix(".git")
    if not ADDRESS.fullmatch(found):
        raise ValueError(
            "the address of the repository should be like https://github.com/you/your-book, "
            f"got {url!r}"
        )
    return found


def stored(root: Path = ROOT) -> tuple[str, str]:
    """The address and the release that _config.yml has, such as v0.1.0."""
    repository = yaml.safe_load((root / "_config.yml").read_text("utf-8"))["repository"]
    return repository["url"], repository["branch"]


def is_written(root: Path = ROOT) -> bool:
    """Whether the stored chapters, of which Colab runs the first cell, hold the book's address.

    In a fork they hold that of the repository that it comes from, until it writes its own.
    """
    return stored(root)[0] == address(root)


def first_cell(url: str, release: str) -> str:
    """The code by which a notebook finds helpers, or in Colab installs it from an address."""
    if PLACE_HOLDER in url:
        return FIRST_CELL.format(imports="", otherwise=UNPUBLISHED)
    install = INSTALL.format(source=f"git+{url}@{release}")
    return FIRST_CELL.format(imports="import sys\nimport sysconfig\n\n", otherwise=install)


def colab(url: str | None, release: str, stem: str) -> str:
    """Where Colab opens a chapter; "" where it cannot, for it reads from GitHub alone."""
    if not url or PLACE_HOLDER in url or not url.startswith(GITHUB):
        return ""
    return f"{COLAB}{url.removeprefix(GITHUB)}/blob/{release}/notebooks/{stem}.ipynb"


def links(url: str, release: str, root: Path) -> str:
    """README's links to the site and to Colab; "" without an address on GitHub."""
    if not colab(url, release, ""):
        return ""
    owner, name = url.removeprefix(GITHUB).split("/")
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    host = f"{owner.lower()}.github.io"
    site = f"https://{host}/" + f"{name}/" * (name.lower() != host)  # that repository is its root
    site = config["html"].get("baseurl") or site
    first = min(path.stem for path in (root / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    return f"[Read the book]({site}) or [run it in Colab]({colab(url, release, first)}). "


def addressed(text: str, stem: str, url: str | None, release: str, *, badge: bool = True) -> str:
    """A chapter's file with an address in its first cell and its badge.

    Without an address it has no badge, and its first cell stays as it is.
    """
    notebook = json.loads(text)
    cells = notebook["cells"]
    code = next(cell for cell in cells if cell["cell_type"] == "code")
    if url:
        code["source"] = (HINT + first_cell(url, release)).splitlines(keepends=True)
    head = next(cell for cell in cells if cell["cell_type"] == "markdown")
    title, gap, rest = "".join(head["source"]).partition("\n\n")
    link = colab(url, release, stem) if badge else ""
    shown = f"[Open in Colab]({link})\n\n" if link else ""
    head["source"] = (title + gap + shown + BADGE.sub("", rest)).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def write(url: str, root: Path = ROOT) -> list[Path]:
    """Write an address and the release of pyproject.toml into the stored files; gives the changed.

    Raises: ValueError where it is no address.
    """
    url = plain(url)
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    old_url, old = stored(root)
    new = f"v{project['version']}"
    texts = {path: path.read_text("utf-8") for path in (root / name for name in PLACES)}
    now = {
        path: text.replace(old_url, url)
        .replace(f"branch: {old}", f"branch: {new}")
        .replace(f'\nversion: "{old[1:]}"', f'\nversion: "{new[1:]}"')
        for path, text in texts.items()
    }
    readme = root / "README.md"
    now[readme] = LINKS.sub(links(url, new, root), now[readme], count=1)
    for path in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        texts[path] = path.read_text("utf-8")
        now[path] = addressed(texts[path], path.stem, url, new)
    changed = [path for path in now if now[path] != texts[path]]
    for path in changed:
        write_text(path, now[path])
    return changed


def main(arguments: list[str]) -> int:
    """Write the address that is given, or the one that is known."""
    try:
        url = arguments[0] if arguments else address() or stored()[0]
        changed = write(url)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{plain(url)}: {len(changed)} files changed; no chapter was run")
    return 0


if __name__ == "__main__":
    sys.exit(main([one for one in sys.argv[1:] if one]))
