"""How soon the page of all numbers answers on a slow telephone: ``python benchmarks/machine.py``.

The built site is opened from disk in Chromium at 390 px with 64 tokens, the processor slowed down
six times. A token is typed at the end, and one changed at the beginning; the time runs from there
until what comes next stands on the screen. Chromium slows down the page, and not its worker: a
second number adds five times of the reading that the worker does, measured in the page. Of each the
median of all runs counts. ``--show`` stores nothing; else helpers/data/results/machine.json has
the times beside the goals, and how busy the machine was. Without Chromium nothing is done.
"""

import argparse
import os
import statistics

from common import ROOT, about, store_table

from book.browser import FLAGS, chromium

PAGE = ROOT / "_build" / "html" / "book" / "number-by-number.html"
TOKENS = 64
TEXT = (
    "The fox did not cross the stream because it was too wide. Her name was Fern, and she was shy. "
    "Rain had fallen on the hill for three days, and now Fern sat on the bank and looked across. "
    "Just then Moss the hare came down the lane."
)
SLOWER = 6
RUNS = 15
COLUMNS = ["change", "tokens read", "ms", "ms, worker slowed down too", "goal (ms)"]
CHANGES = {  # what stands there before and after, tokens to be read, and the goal in milliseconds
    "a token at the end": (TEXT[:-1], TEXT, 1, 100),
    "a token at the beginning": (TEXT, TEXT.replace("The", "A", 1), TOKENS, 1000),
}
ANSWERED = """text => new Promise(done => {
    const field = document.querySelector("[name=text]"), begun = performance.now();
    const seen = new MutationObserver(() => {
        seen.disconnect();
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
    });
    seen.observe(document.querySelector(".machine-answer"), { childList: true });
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
})"""
READ = """([text, last]) => {
    const model = bookGPT.unpack(bookGPTWeights), memory = bookGPT.remember(model);
    const ids = bookGPT.tokens(model, text).map(token => model.vocab.indexOf(token));
    for (const id of ids.slice(0, ids.length - last)) bookGPT.read(model, memory, id);
    const begun = performance.now();
    for (const id of ids.slice(ids.length - last)) bookGPT.read(model, memory, id);
    return performance.now() - begun;
}"""


def slowed(page, rate: int) -> None:
    """Let the page's processor be so many times slower."""
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": rate})


def measured(page, before: str, after: str, read: int, runs: int) -> tuple[float, float]:
    """Medians in milliseconds from a change to its answer: worker as it is, and slowed down."""
    answers, readings = [], []
    for _ in range(runs):
        slowed(page, 1)
        page.locator("[name=text]").fill(before)
        page.locator(".machine-tokens button").nth(TOKENS - 2).wait_for()
        page.wait_for_timeout(1000)  # until the rest is drawn
        readings.append(page.evaluate(READ, [after, read]))
        slowed(page, SLOWER)
        answers.append(page.evaluate(ANSWERED, after))
    answer = statistics.median(answers)
    return answer, answer + (SLOWER - 1) * statistics.median(readings)


def rows_of(browser, runs: int) -> list[list]:
    """Open the page and measure each change. Raises: TimeoutError where it is silent."""
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(PAGE.as_uri())
    page.get_by_role("button", name="Load the model").click()
    page.locator(".machine-tokens button").first.wait_for()
    rows = []
    for name, (before, after, read, goal) in CHANGES.items():
        both = measured(page, before, after, read, runs)
        rows.append([name, read, *map(round, both), goal])
        print(dict(zip(COLUMNS, rows[-1], strict=True)), flush=True)
    return rows


def table(rows: list[list], load: float) -> dict:
    """What is stored; load is that of the machine while it measured."""
    timings = "; ".join(
        f"{name}: {took} ms, with the worker slowed down too {both} ms (goal: {goal})"
        for name, _, took, both, goal in rows
    )
    claim = (
        f"How soon the page of all numbers answers with {TOKENS} tokens and the processor "
        f"{SLOWER} times slower: {timings}. The median of {RUNS} runs; the machine's load was "
        f"{load:.1f} for {os.cpu_count()} processors"
    )
    return {
        "title": "How soon the machine answers",
        "claim": claim,
        "columns": COLUMNS,
        "rows": rows,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, and store the table."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each change ({RUNS})")
    parser.add_argument("--show", action="store_true", help="nothing is stored")
    options = parser.parse_args(arguments)
    if not PAGE.exists():
        raise ValueError("there is no built site in _build/html; run `make book` first")
    with sync_playwright() as playwright:
        path = chromium()
        if path is None:
            print("nothing is done without Chromium")
            return
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        rows = rows_of(browser, options.runs)
        browser.close()
    if not options.show:
        made = about(__file__, [], device="Chromium, slowed down")
        store_table("machine", made | table(rows, os.getloadavg()[0]))


if __name__ == "__main__":
    main()
