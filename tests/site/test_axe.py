"""axe-core finds nothing to complain about, on any page, in light and in the dark.

The engine comes in the package axe-playwright-python. Everything that folds is opened first, so
that hints, solutions and answers are looked at, too. No rule is left out: in the dark, where only
the colours are others, the rules about colours are run.
"""

from importlib.resources import files

import pytest

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
OPEN = """async () => {  // all that folds
    for (const folded of document.querySelectorAll("details")) folded.open = true;
    const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    await frame();
    await frame();
    const kinds = new Set();  // of code, one token of each colour on each ground is looked at
    for (const token of document.querySelectorAll(".highlight pre span[class]")) {
        const place = token.closest(".cell_output, .cell_input, .admonition, blockquote, details");
        const kind = `${token.className} ${place?.className} ${!!token.closest("blockquote")}`;
        if (kinds.has(kind)) token.replaceWith(...token.childNodes);
        kinds.add(kind);
    }
}"""
RUN = """async colours => {
    const options = { resultTypes: ["violations"] };
    if (colours) options.runOnly = ["color-contrast", "link-in-text-block"];
    const { violations } = await axe.run(document, options);
    const told = ({ target, html, failureSummary }) =>
        [target.join(" "), html.slice(0, 160), failureSummary.slice(0, 300)].join(" | ");
    return violations.map(({ id, nodes }) => `${id}: ` + nodes.slice(0, 5).map(told).join("\\n"));
}"""


def complaints(page, *, colours: bool) -> list[str]:
    """What axe finds on the page that is open."""
    page.evaluate(OPEN)
    page.evaluate(AXE)
    return page.evaluate(RUN, colours)


def test_no_violation(visit, page, path):
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    visit(path)
    found = complaints(page, colours=False)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    found += complaints(page, colours=True)
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ("<p style='color: #ccc; background: #fff'>pale</p>", "color-contrast"),
        ("<img src='x.png'>", "image-alt"),
        ("<p>outside of all landmarks</p>", "region"),
        ("<h2>two</h2><h4>four</h4>", "heading-order"),
    ],
)
def test_faults_are_found(page, planted, rule):
    page.set_content(f"<!DOCTYPE html><html lang=en><title>x</title><body>{planted}</body>")
    found = complaints(page, colours=False)
    assert any(one.startswith(f"{rule}:") for one in found), found
