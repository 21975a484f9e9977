"""The small drawings of a prediction: a number line, and a plot to sketch a curve in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from helpers.explore.page import attribute, shown, text

WIDTH, HEIGHT, EDGE, TOP = 440, 220, 44, 20
COLOURS = ("#0072b2", "#b84c00", "#00795a", "#a3487a")  # the page has its own for dark mode
INKS = tuple(f"var(--book-ink-{line}, {colour})" for line, colour in enumerate(COLOURS, start=1))


@dataclass(frozen=True)
class Curve:
    """Where a curve is to be sketched: positions along x, the range of y, a line per name."""

    x: Sequence
    y: tuple[float, float]
    names: Sequence[str] = ("your guess",)
    x_label: str = ""
    y_label: str = ""

    def __post_init__(self):
        if len(self.x) < 2:
            raise ValueError(f"x must hold at least two positions, got {list(self.x)}")
        if not self.y[0] < self.y[1]:
            raise ValueError(f"y must be a range (low, high) with low < high, got {self.y}")


def ink_of(line: int) -> str:
    """The colour of a line, by its number."""
    return INKS[line % len(INKS)]


def number_line(low: float, high: float, truth: float, guess: float | None) -> str:
    """An SVG number line from low to high with the result, and a place for the guess."""

    def at(value):
        share = min(max((value - low) / (high - low), 0), 1)
        return f"{EDGE + share * (WIDTH - 2 * EDGE):.1f}"

    place = ' visibility="hidden"' if guess is None else f' transform="translate({at(guess)})"'
    line = 'stroke="currentColor" class="axis"'
    return (
        f'<svg class="number-line" viewBox="0 0 {WIDTH} 64" width="{WIDTH}" height="64" role="img" '
        f'aria-label="A number line with the result at {shown(truth)}" '
        f'data-low="{low:g}" data-high="{high:g}" data-edge="{EDGE}">'
        f'<line x1="{EDGE}" x2="{WIDTH - EDGE}" y1="34" y2="34" {line}/>'
        f'<line x1="{at(0)}" x2="{at(0)}" y1="30" y2="38" {line}/>'
        f'<text x="{at(0)}" y="52" fill="currentColor" text-anchor="middle">0</text>'
        f'<circle cx="{at(truth)}" cy="34" r="6" fill="{ink_of(2)}" class="truth"/>'
        f'<text x="{at(truth)}" y="52" fill="currentColor" text-anchor="middle">'
        f"{shown(truth)}</text>"
        f'<g fill="{ink_of(1)}" text-anchor="middle" class="guess"{place}>'
        '<text y="11">your guess</text><text y="26">▼</text></g></svg>'
    )


def plot_of(curve: Curve, *, truth: Mapping | None = None, guess: Mapping | None = None) -> str:
    """An SVG plot of curves over equally spaced positions; the page's script moves the guess."""
    lines = []
    for line, name in enumerate(curve.names):
        ink = f'fill="none" stroke="{ink_of(line)}"'
        lines.append(
            f'<polyline class="guess" data-line="{line}" {ink} stroke-width="2" '
            f'stroke-dasharray="5 4" points="{_points(curve, (guess or {}).get(name, []))}"/>'
        )
        if truth:
            points = _points(curve, truth[name])
            lines.append(f'<polyline class="truth" {ink} stroke-width="2.5" points="{points}"/>')
        lines.append(
            f'<text x="{EDGE + 8}" y="{14 + 15 * line}" fill="{ink_of(line)}">{text(name)}</text>'
        )
    low, high = curve.y
    said = f"A plot of {', '.join(curve.names)}: {curve.y_label} against {curve.x_label}"
    return (
        f'<svg class="sketch" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{attribute(said)}" data-low="{low:g}" data-high="{high:g}" '
        f'data-edge="{EDGE}" data-top="{TOP}">{_axes(curve)}{"".join(lines)}</svg>'
    )


def _points(curve: Curve, values: Sequence) -> str:
    (low, high), foot = curve.y, HEIGHT - EDGE
    step = (WIDTH - 2 * EDGE) / (len(curve.x) - 1)
    heights = [(min(max(y, low), high) - low) / (high - low) for y in values]
    return " ".join(
        f"{EDGE + at * step:.1f},{foot - height * (foot - TOP):.1f}"
        for at, height in enumerate(heights)
    )


def _axes(curve: Curve) -> str:
    (low, high), foot, middle = curve.y, HEIGHT - EDGE, HEIGHT // 2
    step = (WIDTH - 2 * EDGE) / (len(curve.x) - 1)

    def words(x, y, said, anchor="middle", more=""):
        place = f'x="{x}" y="{y}" text-anchor="{anchor}"{more}'
        return f'<text {place} fill="currentColor">{text(said)}</text>'

    ticks = [words(f"{EDGE + at * step:.1f}", foot + 16, shown(x)) for at, x in enumerate(curve.x)]
    return (
        f'<path d="M{EDGE} {TOP}V{foot}H{WIDTH - EDGE}" fill="none" stroke="currentColor" '
        'class="axis"/>'
        + words(EDGE - 6, foot, f"{low:g}", "end")
        + words(EDGE - 6, TOP + 4, f"{high:g}", "end")
        + "".join(ticks)
        + words(WIDTH // 2, HEIGHT - 8, curve.x_label)
        + words(12, middle, curve.y_label, more=f' transform="rotate(-90 12 {middle})"')
    )
