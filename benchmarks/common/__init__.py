"""What the scripts in this folder share: the form of stored results."""

import datetime
import json
import platform
from importlib.metadata import version
from pathlib import Path

from helpers.files import write_text

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "helpers" / "data" / "results"


def about(script: str, seeds: list[int], **more) -> dict:
    """Where a part of the results comes from; device and date are those of this moment."""
    return {
        "script": f"benchmarks/{Path(script).name}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "device": "CPU, one thread",
        "versions": {
            "python": platform.python_version(),
            "torch": version("torch").partition("+")[0],
        },
        "seeds": list(seeds),
        **more,
    }


def store(name: str, part: str, result: dict) -> None:
    """Put a part, `about` with its "settings", into a stored file; the others stay as they were.

    A line a setting; the file is replaced as a whole.
    """
    path = RESULTS / f"{name}.json"
    parts = json.loads(path.read_text("utf-8")) if path.exists() else {}
    texts = []
    for label, stored in sorted((parts | {part: result}).items()):
        head = json.dumps({k: v for k, v in stored.items() if k != "settings"}, ensure_ascii=False)
        lines = ",\n".join(json.dumps(s, ensure_ascii=False) for s in stored["settings"])
        texts.append(f'"{label}": {head[:-1]}, "settings": [\n{lines}\n]}}')
    write_text(path, "{" + ",\n".join(texts) + "}\n")


def store_table(name: str, table: dict, folder: Path = RESULTS) -> None:
    """Store `about` with "title", "claim", "columns" and "rows" in a file of its own."""
    write_text(folder / f"{name}.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")
