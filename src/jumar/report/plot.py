"""Charts: curves are SVG that stretches with the page, words are HTML that keeps its size, so 400 px stay readable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field

from markupsafe import Markup

from jumar.core.compat import dataclass, zip
from jumar.report import parts
from jumar.report.words import shown
from jumar.report.words import translate as t

_MOST_POINTS = 1500
_TICKS = 5
_SMALLEST = 1e-9
"""Where a logarithmic axis ends: an error of 0 has no logarithm."""
_NEAR = (12.0, 13.0)
"""Per cent of width and height that a number needs for itself on 400 px."""
_MARGIN = 0.04
"""Share of the height above and below the points."""


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    hue: str
    points: Sequence[tuple[float, float]]
    style: str = ""
    """`dash`, or `wide` for a line that another one may cover."""


@dataclass(slots=True)
class Plot:
    title: str
    across: str
    up: str
    lines: Sequence[Line]
    logarithmic: bool = False
    mark: float | None = None
    marked: str = ""
    """What the mark is."""
    dots: Sequence[str] = ()
    """Names of the points of the first line: each gets its number in the picture and its name below."""
    _x: tuple[float, float] = field(default=(0, 1), init=False)
    _y: tuple[float, float] = field(default=(0, 1), init=False)

    def html(self) -> Markup:
        points = [point for line in self.lines for point in self._shown(line)]
        self._x = _span([x for x, _ in points])
        low, high = _span([y for _, y in points])
        self._y = low - _MARGIN * (high - low), high + _MARGIN * (high - low)
        said = f"{t(self.title)}: {', '.join(t(line.name) for line in self.lines)}"
        chart = Markup('<div class="chart" role="img" aria-label="{}">{}</div>').format(
            said, Markup("").join(self._parts())
        )
        return parts.figure(self.title, chart + self._keys())

    def _parts(self) -> Iterator[Markup]:
        heights = list(_ticks(*self._y, whole=self.logarithmic))
        names = [f"1e{value:g}" if self.logarithmic else f"{value:.4g}" for value in heights]
        yield Markup('<p class="up">↑ {}</p><div class="ys"><b>{}</b>').format(
            t(self.up), max(names, key=len, default="")
        )
        for value, name in zip(heights, names, strict=True):
            yield Markup('<span style="bottom:{:.2f}%">{}</span>').format(self._height(value), name)
        yield Markup('</div><div class="plot">')
        for value in heights:
            yield Markup('<hr style="bottom:{:.2f}%">').format(self._height(value))
        yield Markup('<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">')
        for line in self.lines:
            path = " ".join(f"{self._along(x):.2f},{100 - self._height(y):.2f}" for x, y in self._shown(line))
            yield Markup('<polyline class="c-{}{}" points="{}"/>').format(
                line.hue, f" {line.style}" if line.style else "", path
            )
        yield Markup("</svg>")
        yield from self._marks()
        yield Markup('</div><div class="xs">')
        places = list(_ticks(*self._x, whole=all(float(x).is_integer() for line in self.lines for x, _ in line.points)))
        for number, value in enumerate(places):
            classes = [
                *(["odd"] if number % 2 else []),
                *(["end"] if self._along(value) > 92 else []),
                *(["start"] if self._along(value) < 4 else []),
            ]
            yield Markup('<span class="{}" style="left:{:.2f}%">{:.4g}</span>').format(
                " ".join(classes), self._along(value), value
            )
        yield Markup('</div><p class="across">{} →</p>').format(t(self.across))

    def _marks(self) -> Iterator[Markup]:
        if self.mark is not None:
            left = self._along(self.mark)
            yield Markup('<div class="mark{}" style="left:{:.2f}%"><span>{}</span></div>').format(
                " late" if left > 50 else "", left, t(self.marked)
            )
        if self.dots:
            for left, bottom, name in self._groups():
                yield Markup('<b class="dot c-{}" style="left:{:.2f}%;bottom:{:.2f}%">{}</b>').format(
                    self.lines[0].hue, left, bottom, name
                )

    def _groups(self) -> Iterator[tuple[float, float, str]]:
        """Points with their numbers; those that would cover each other share a label in their middle."""
        places = [(self._along(x), self._height(y)) for x, y in self._shown(self.lines[0])]
        groups: list[list[int]] = []
        for number, (x, y) in enumerate(places):
            last = places[groups[-1][-1]] if groups else (-100.0, 0.0)
            if abs(x - last[0]) < _NEAR[0] and abs(y - last[1]) < _NEAR[1]:
                groups[-1].append(number)
            else:
                groups.append([number])
        for group in groups:
            first, last_ = group[0], group[-1]
            name = str(first + 1) if first == last_ else f"{first + 1}–{last_ + 1}"
            yield (places[first][0] + places[last_][0]) / 2, (places[first][1] + places[last_][1]) / 2, name

    def _keys(self) -> Markup:
        if self.dots:
            listed = Markup("").join(Markup("<li>{}</li>").format(shown(name)) for name in self.dots)
            return Markup('<ol class="soft">{}</ol>').format(listed)
        keys = {(line.hue, line.style): line.name for line in self.lines}
        listed = Markup("").join(
            Markup('<span class="c-{}"><i class="{}"></i>{}</span>').format(hue, style, t(name))
            for (hue, style), name in keys.items()
        )
        return Markup('<p class="legend">{}</p>').format(listed)

    def _shown(self, line: Line) -> list[tuple[float, float]]:
        step = max(1, len(line.points) // _MOST_POINTS)
        points = [(float(x), float(y)) for x, y in line.points[::step] if math.isfinite(y)]
        if not self.logarithmic:
            return points
        return [(x, math.log10(max(y, _SMALLEST))) for x, y in points]

    def _along(self, x: float) -> float:
        low, high = self._x
        return 100 * (x - low) / (high - low)

    def _height(self, y: float) -> float:
        low, high = self._y
        return 100 * (y - low) / (high - low)


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float, *, whole: bool) -> Iterator[float]:
    rough = (high - low) / _TICKS
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    if whole:
        step = max(1, round(step))
    value = math.ceil(low / step) * step
    while value <= high + step * 1e-9:
        yield value
        value += step
