"""The page *Images as tokens* prints what its code prints, and its sizes agree."""

import re

from support import ROOT

PAGE = (ROOT / "book" / "images-as-tokens.md").read_text("utf-8")


def test_code_prints_what_the_page_shows_and_the_key_says(capsys):
    code, printed = re.findall(r"```(?:python|none)\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == printed
    key = re.findall(r"^\| \d \| ([\d, ]+) \| (.+) \| (.+) \| (.+) \|$", PAGE, re.M)
    tokens = [[int(cell.split("=")[-1]) for cell in row[1:]] for row in key]
    assert printed == f"{tokens}\n" * 2
    pictured = re.findall(r'<text x="(?:166|190|214|238)" y="\d+">(\d)</text>', PAGE)
    assert ", ".join(row[0] for row in key) == ", ".join(pictured)


def test_patches_fill_the_picture():
    rows = re.findall(r"(\d+) × \1 \| (\d+) \| ([\d,]+) \| (?:(\d) × \d|none) \| ([\d,]+)", PAGE)
    assert len(rows) == 4
    for side, patch, *counts in rows:
        patches, joined, tokens = (int((n or "1").replace(",", "")) for n in counts)
        assert (int(side) // int(patch)) ** 2 == patches == tokens * joined**2


def test_picture_of_caches_shows_the_numbers_of_the_steps():
    page = (ROOT / "book" / "models-of-this-year.md").read_text("utf-8")
    svg = re.search(r'<svg role="img" aria-labelledby="cached-.*?</svg>', page, re.S)[0]
    caches = 128 * (128 + 64 + 128), 8 * (128 + 128), 128 + 128, 512 + 64
    assert re.findall(r">([\d,]+)<", svg) == [f"{numbers:,}" for numbers in caches]
    (lit,) = re.findall(r'book-lit\)" d="(.*?)"', svg)
    assert lit.count("M") == 2 * (8 + 2 + 1 + 1)


def test_picture_of_windows_lights_what_a_mask_lets_through():
    page = (ROOT / "book" / "models-of-this-year.md").read_text("utf-8")
    (lit,) = re.findall(r'aria-labelledby="windows-.*?book-lit\)" d="(.*?)"', page, re.S)
    pairs = [(t, s) for t in range(8) for s in range(t + 1)]
    masks = [True] * len(pairs), [t - s < 3 for t, s in pairs], [t // 4 == s // 4 for t, s in pairs]
    assert lit.count("M") == sum(map(sum, masks))
