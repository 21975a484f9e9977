"""The stamp at the foot of a chapter: when its outputs were computed, with what and on what.

Reads ``book/outputs.json``, which ``make notebooks`` writes and which changes only when outputs
do: ``{stem: {computed, versions: {name: version}, device, seconds, cells, outputs, compared,
assertions}}``. A chapter without an entry has no stamp.
"""

from __future__ import annotations

import json
from pathlib import Path


def load_stamps(app) -> dict:
    """Return what the JSON file says, or nothing where there is none."""
    file = Path(app.srcdir, "book", "outputs.json")
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def stamp_of(stamps: dict, docname: str) -> dict | None:
    return stamps.get(docname.rpartition("/")[2]) if docname.startswith("notebooks/") else None


def keep_stamps(app) -> None:
    app.book_stamps = load_stamps(app)


def changed_pages(app, env) -> list[str]:
    """Name the chapters whose stamp is another than the one last written."""
    now, before = app.book_stamps, getattr(env, "book_stamps_written", {})
    env.book_stamps_written = now
    return [doc for doc in sorted(env.found_docs) if stamp_of(now, doc) != stamp_of(before, doc)]


def sentence(stamp: dict) -> str:
    """Say a stamp in words."""
    versions = ", ".join(f"{name} {version}" for name, version in stamp.get("versions", {}).items())
    parts = [f"The outputs on this page were computed on {stamp['computed']}"]
    if versions:
        parts.append(f"with {versions}")
    if stamp.get("device"):
        parts.append(f"on {stamp['device']}")
    words = " ".join(parts)
    if stamp.get("cells") and stamp.get("seconds") is not None:
        words += f"; {stamp['cells']} cells took {stamp['seconds']:.0f} s"
    return f"{words}. {checks(stamp)}".rstrip()


def checks(stamp: dict) -> str:
    """Say how much of a chapter is checked, if the stamp tells."""
    if not stamp.get("compared"):
        return ""
    held = f", and {stamp['assertions']} assertions must hold" if stamp.get("assertions") else ""
    return (
        f"On every commit all {stamp['cells']} run again, the outputs of {stamp['compared']} of "
        f"the {stamp['outputs']} that have one are compared with these{held}."
    )


def add_stamp(app, pagename, templatename, context, doctree) -> None:
    stamp = stamp_of(app.book_stamps, pagename)
    context["book_stamp"] = sentence(stamp) if stamp else None


def setup(app) -> None:
    app.connect("builder-inited", keep_stamps)
    app.connect("env-updated", changed_pages)
    app.connect("html-page-context", add_stamp)
