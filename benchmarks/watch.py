"""The GPT that trains in the page, and what each switch of *Break it* does to it.

``python benchmarks/watch.py`` runs the page's own scripts in Node and writes
helpers/data/results/watch.json: one run as the page opens, with all its samples, and the loss on
unseen tales for eight seeds, healthy and with one piece taken away.
"""

import json
import statistics
import sys

from common import RESULTS, ROOT, about

from helpers.files import write_text

sys.path.append(str(ROOT / "book" / "_ext"))
from play import watch

SEEDS = range(1, 9)


def ends(without: str, seeds=SEEDS, **changed) -> list[float]:
    """Of each seed, the loss on unseen tales with a piece taken away, after Break it's steps."""
    changed = {"steps": watch.BROKEN_STEPS, "without": without} | changed
    return [watch.trained(seed, **changed)["looks"][-1]["unseen"] for seed in seeds]


def main() -> None:
    """Measure, and write."""
    run = watch.trained(1)
    baselines = run["baselines"] | {"entropy": watch.tales()["entropy"]}
    columns = ["step", "loss of the step, nats", "loss on unseen tales, nats", "what it writes"]
    rows = [watch.row_of(look) for look in run["looks"]]
    first = about(__file__, [1], claim="The page's own scripts, as it opens", columns=columns)
    switches = {name: ends(name) for name in ("", *watch.BREAKS)}
    table = [
        [
            watch.BREAKS[name]["name"] if name else "nothing",
            *(f"{f(x):.3f}" for f in (min, statistics.mean, max)),
        ]
        for name, x in switches.items()
    ]
    claim = f"Loss on unseen tales after {watch.BROKEN_STEPS} steps, nats a token"
    columns = ["taken away", "lowest of eight seeds", "mean", "highest"]
    second = about(__file__, list(SEEDS), claim=claim, columns=columns)
    stored = {
        "title": "A GPT that trains in the page",
        "run": first | {"baselines": baselines, "rows": rows},
        "switches": second | {"rows": table},
    }
    write_text(RESULTS / "watch.json", json.dumps(stored, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
