"""Lines over numbers as a picture (SVG): for pages, Markdown and benchmarks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from linnet.text.web import escape

__all__ = ["Bands", "Points", "draw"]

Points = Sequence[tuple[float, float]]
Bands = Mapping[str, Sequence[tuple[float, float, float]]]  # label of a line -> x, low and high

LEFT, TOP, WIDTH, HEIGHT = 52, 12, 420, 220
LEGEND = 16  # height of a row of the legend
COLORS = ("#0b62a4", "#b3480a", "#00795c", "#86379b", "#857000", "#b81d4f")  # of classes s0 to s5 in page.css
DASHES = ("", "6 3", "2 3")  # the colours once, and again
TICKS = 5


def draw(
    lines: Mapping[str, Points],
    *,
    title: str,
    x: str,
    y: str,
    log: bool = False,
    close: bool = False,
    bands: Bands | None = None,
) -> str:
    """Return a picture, an ``svg`` element, of lines with a legend.

    Args:
        lines: label -> points in the order of x; a label without points is left out.
        title: what the picture shows, for those who cannot see it.
        x: what the numbers across are.
        y: what the numbers up are.
        log: both axes are logarithmic; all numbers are above 0.
        close: the axis up begins near the smallest number, not at 0.
        bands: intervals of some lines, drawn behind them in their colour.

    >>> picture = draw({"loss": [(1, 2.0), (2, 1.0)]}, title="Training", x="step", y="loss")
    >>> picture.startswith("<svg "), picture.count("<polyline ")
    (True, 1)
    """
    lines = {label: points for label, points in lines.items() if points}
    across = _axis([u for points in lines.values() for u, _ in points], log=log)
    bands = {label: band for label, band in (bands or {}).items() if label in lines}
    ends_of_bands = [v for band in bands.values() for _, low, high in band for v in (low, high)]
    up = _axis([*(v for points in lines.values() for _, v in points), *ends_of_bands], log=log, close=close)
    parts = [*_axes(across, up, f"{x} across; {y} up")]
    for number, (label, points) in enumerate(lines.items()):
        parts += _line(number, label, _places(points, across, up), _places(_edge(bands.get(label, ())), across, up))
    size = f"0 0 {LEFT + WIDTH + 16} {TOP + HEIGHT + 54 + LEGEND * len(lines)}"
    about = f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="{size}" {about}>{"".join(parts)}</svg>'


def _axes(across: _Axis, up: _Axis, names: str) -> Iterator[str]:
    """Yield the numbers beside the axes, and what they are of."""
    bottom = TOP + HEIGHT
    for value in up.ticks:
        height = bottom - HEIGHT * up.place(value)
        ends = f'x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{height:.1f}" y2="{height:.1f}"'
        yield f'<line class="grid" stroke="#d0d5db" {ends}/>'
        yield _text(LEFT - 6, height + 4, _short(value), "end")
    for value in across.ticks:
        yield _text(LEFT + WIDTH * across.place(value), bottom + 16, _short(value), "middle")
    yield _text(LEFT + WIDTH / 2, bottom + 34, names, "middle")


def _line(number: int, label: str, places: str, edge: str) -> Iterator[str]:
    """Yield a line, its band behind it, and its row of the legend."""
    color = COLORS[number % len(COLORS)]
    look = f'class="line s{number % len(COLORS)}" stroke="{color}"'
    if dash := DASHES[number // len(COLORS) % len(DASHES)]:
        look += f' stroke-dasharray="{dash}"'
    if edge:
        yield f'<polygon points="{edge}" fill="{color}" fill-opacity="0.13"/>'
    yield f'<polyline {look} fill="none" stroke-width="2" points="{places}"/>'
    height = TOP + HEIGHT + 44 + LEGEND * (number + 1)
    yield f'<line {look} stroke-width="3" x1="{LEFT}" x2="{LEFT + 20}" y1="{height}" y2="{height}"/>'
    yield _text(LEFT + 28, height + 4, label, "start")


def _edge(band: Sequence[tuple[float, float, float]]) -> Points:
    """Return the way around a band."""
    return [*((u, low) for u, low, _ in band), *((u, high) for u, _, high in reversed(band))]


class _Axis:
    """Where numbers are between the ends of an axis, and which are written beside it."""

    def __init__(self, low: float, high: float, ticks: Sequence[float], scale: Callable[[float], float]) -> None:
        self.ticks, self._scale = ticks, scale
        self._low, self._size = scale(low), (scale(high) - scale(low)) or 1.0

    def place(self, value: float) -> float:
        """Return where a number is, from 0 to 1."""
        return (self._scale(value) - self._low) / self._size


def _places(points: Points, across: _Axis, up: _Axis) -> str:
    bottom = TOP + HEIGHT
    return " ".join(f"{LEFT + WIDTH * across.place(u):.1f},{bottom - HEIGHT * up.place(v):.1f}" for u, v in points)


def _axis(values: Sequence[float], *, log: bool, close: bool = False) -> _Axis:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return _Axis(10.0 ** powers[0], 10.0 ** powers[-1], [10.0**power for power in powers], math.log10)
    begin = low if close else min(low, 0.0)
    step = _round_step((high - begin) / TICKS)
    first, last = math.floor(begin / step), math.ceil(high / step)
    return _Axis(first * step, last * step, [number * step for number in range(first, last + 1)], float)


def _round_step(step: float) -> float:
    """Return the next of 1, 2, 5, 10, 20 …, and of their decimal fractions.

    >>> _round_step(0.3), _round_step(130)
    (0.5, 200.0)
    """
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next((size * power for size in (1.0, 2.0, 5.0) if size * power >= step), 10.0 * power)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#57606a">{escape(text)}</text>'
