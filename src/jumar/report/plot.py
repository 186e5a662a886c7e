"""Line plots as SVG text: no script, no other file, colours of the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field

from markupsafe import Markup, escape

from jumar.core.compat import dataclass

WIDTH, HEIGHT = 900, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 12, 14, 40
_MOST_POINTS = 1500


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    tone: str
    """A class of the page's style: `good`, `bad` or `soft`."""
    points: Sequence[tuple[float, float]]


@dataclass(slots=True)
class Plot:
    title: str
    across: str
    up: str
    lines: Sequence[Line]
    logarithmic: bool = False
    mark: float | None = None
    _x: tuple[float, float] = field(default=(0, 1), init=False)
    _y: tuple[float, float] = field(default=(0, 1), init=False)

    def svg(self) -> Markup:
        points = [point for line in self.lines for point in self._shown(line)]
        self._x = _span([x for x, _ in points])
        self._y = _span([y for _, y in points])
        return Markup("").join(Markup(part) for part in self._parts())

    def _shown(self, line: Line) -> list[tuple[float, float]]:
        step = max(1, len(line.points) // _MOST_POINTS)
        points = [(float(x), float(y)) for x, y in line.points[::step] if math.isfinite(y)]
        if not self.logarithmic:
            return points
        return [(x, math.log10(max(y, 1e-9))) for x, y in points]

    def _parts(self) -> Iterator[str]:
        yield f"<figure><figcaption>{escape(self.title)}</figcaption>"
        yield f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
        for value in _ticks(*self._y, whole=self.logarithmic):
            y = self._up(value)
            shown = f"1e{value:g}" if self.logarithmic else f"{value:.4g}"
            yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>'
        for value in _ticks(*self._x, whole=True):
            x, y = self._along(value), HEIGHT - _BOTTOM + 16
            yield f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{value:g}</text>'
        if self.mark is not None:
            x = self._along(self.mark)
            yield f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"/>'
        for line in self.lines:
            path = " ".join(f"{self._along(x):.1f},{self._up(y):.1f}" for x, y in self._shown(line))
            yield f'<polyline class="{line.tone}" points="{path}"><title>{escape(line.name)}</title></polyline>'
        middle = (_LEFT + WIDTH - _RIGHT) / 2
        yield f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(self.across)}</text></svg>'
        rest = "floor" if self.logarithmic else "base runs"
        names = {line.tone: rest if line.tone == "soft" else line.name for line in self.lines}
        keys = "".join(f'<span class="{tone}">{escape(name)}</span>' for tone, name in names.items())
        yield f'<p class="keys">{escape(self.up)}: {keys}</p></figure>'

    def _along(self, x: float) -> float:
        low, high = self._x
        return _LEFT + (x - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)

    def _up(self, y: float) -> float:
        low, high = self._y
        return HEIGHT - _BOTTOM - (y - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM)


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float, *, whole: bool) -> Iterator[float]:
    rough = (high - low) / 6
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    if whole:
        step = max(1, round(step))
    value = math.ceil(low / step) * step
    while value <= high + step * 1e-9:
        yield value
        value += step
