"""Measure again what a chapter stores: its own ``lab`` with the long settings.

``python benchmarks/chapters.py 09 [part …]`` writes these parts of chapter 9's stored results,
``helpers/data/results/09_prenorm_vs_postnorm.json``; without parts all of them, without a number
all chapters. ``PARTS`` in a chapter's ``lab.py`` has a `Part` for each.
"""

import argparse

import torch
from common import about, store

from helpers.chapters import CHAPTERS, Chapter


def measured(chapter: Chapter, parts: list[str]) -> None:
    """Measure these parts of a chapter, or all of them, and store each as soon as it is there."""
    known = getattr(chapter.module("lab"), "PARTS", {})
    for part in parts or known:
        found = known[part].measure()
        made = about(__file__, found["seeds"])
        made["script"] += f" {chapter.stem[:2]} {part}"
        store(chapter.stem, part, made | found)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    numbers = [chapter.stem[:2] for chapter in CHAPTERS]
    parser.add_argument("chapter", nargs="?", choices=numbers, help="all without it")
    parser.add_argument("parts", nargs="*", help="parts of the chapter; all without any")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for chapter in CHAPTERS:
        if chosen.chapter in (None, chapter.stem[:2]):
            measured(chapter, chosen.parts)


if __name__ == "__main__":
    main()
