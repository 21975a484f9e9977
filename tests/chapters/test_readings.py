"""The minutes in a chapter's head, counted on cells whose sum can be done in the head."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from support import readings

PROSE = new_markdown_cell("word " * 1000)  # 5 minutes at 200 words a minute


def shows(mime: str, data: str, *tags: str):
    output = new_output("display_data", {mime: data})
    return new_code_cell("draw()", outputs=[output], metadata={"tags": list(tags)})


@pytest.mark.parametrize(
    ("cell", "minutes"),
    [
        (new_code_cell("x = 1\n" * 40), 10),
        (new_code_cell("x = 1\n" * 40, metadata={"tags": ["hide-input"]}), 5),
        (new_markdown_cell("<details><summary></summary></details>\n" * 5), 5),
        (shows("text/html", '<form class="predict"></form>' * 5, "remove-input"), 10),
        (shows("text/markdown", "|a|b|\n|--:|:--|\n|c|d|\n\n" * 5, "hide-input"), 20),
        (shows("text/html", "<table></table>" * 5, "hide-input"), 20),
        (shows("text/html", '<figure class="explore"></figure>' * 5, "hide-input"), 15),
        (shows("image/svg+xml", "<svg></svg>", "remove-cell"), 0),
    ],
)
def test_minutes_count_what_readers_do(cell, minutes):
    assert readings.count([PROSE, cell]).minutes == 5 + minutes


def test_five_figures_take_five_minutes():
    figures = [shows("image/svg+xml", "<svg></svg>", "hide-input")] * 5
    assert readings.count([PROSE, *figures]).minutes == 10


@pytest.mark.parametrize(("fields", "said"), [(3, ""), (22, ", its pencil tasks 15 more")])
def test_head_says_beside_what_a_pencil_takes(fields, said):
    form = shows("text/html", f'<form class="pencil">{"<input>" * fields}</form>', "remove-input")
    wanted = f"The first reading takes about 5 minutes{said}."
    assert readings.head([PROSE, form]) == wanted
