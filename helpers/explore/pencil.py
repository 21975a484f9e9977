"""Fields for numbers that were worked out with a pencil, each of which turns green when it fits."""

from collections.abc import Mapping

from IPython.display import HTML

from helpers.explore.page import attribute, text

STYLE = """<style>
.pencil { display: grid; grid-template-columns: repeat(auto-fill, minmax(13em, 1fr)); gap: 0.4em; }
.pencil label { text-align: right; }
.pencil input { width: 4.5em; font: inherit; }
.pencil input:valid { outline: 2px solid #2e9e5b; background: #2e9e5b33; }
.pencil span { display: inline-block; width: 1em; }
.pencil input:valid + span::before { content: "✓"; }
</style>"""


def fits(value: float) -> str:
    """A regular expression for numbers within 0.005 of a value, in two or three decimals."""
    near = {f"{abs(value + n / 1000):.3f}" for n in range(-5, 6)} | {f"{abs(value):.2f}"}
    near = {number.rstrip("0").rstrip(".") for number in near}
    either = "|".join(
        number.replace(".", "[.,]").replace("0[", "0?[", number.startswith("0")) + "0*"
        if "." in number
        else f"{number}([.,]0*)?"
        for number in sorted(near)
    )
    sign = r"[\-−]" if value < -0.005 else r"[\-−]?" if value < 0.005 else r"\+?"
    return rf"\s*{sign}({either})\s*"


def pencil(numbers: Mapping[str, float]) -> HTML:
    """A field for each number, by its name; nothing else tells what it is."""
    fields = "".join(
        f'<label>{text(name)} <input inputmode="text" size="5" autocomplete="off" required '
        f'pattern="{attribute(fits(value))}"><span></span></label>'
        for name, value in numbers.items()
    )
    return HTML(f'{STYLE}<form class="pencil" onsubmit="return false">{fields}</form>')
