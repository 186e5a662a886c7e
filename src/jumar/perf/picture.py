"""The timeline as lanes of stretches, small enough to draw: one step, short neighbours drawn together."""

from __future__ import annotations

from collections.abc import Iterable

from jumar.perf.profile import COPY, DATA, PRINT, Profile
from jumar.perf.result import Lane
from jumar.perf.spans import Span

PIXELS = 1200
"""What is shorter than one of these is drawn with its neighbour."""
_CUBE = ("AI_CORE", "MIX_AIC", "MIX")

Part = tuple[float, float, str, str]


def draw(profile: Profile, whole: Span) -> tuple[Span, tuple[Lane, ...]]:
    """The step in the middle, or everything where there are no steps."""
    window = _window(profile, whole)
    pixel = (window[1] - window[0]) / PIXELS
    first, last = window
    host = [op for op in profile.host if op.end > first and op.start < last]
    kernels = [item for item in profile.kernels if item.end > first and item.start < last]
    comm = [item for item in profile.comm if item.end > first and item.start < last]
    lanes = [
        ("host", [(op.start, op.end, _host_kind(op.name), op.name) for op in host]),
        ("card", [(item.start, item.end, _kind(item.core), item.type or item.name) for item in kernels]),
        ("links", [(item.start, item.end, "communication", item.type or item.name) for item in comm]),
    ]
    drawn = [Lane(name, tuple(_joined(parts, window, pixel))) for name, parts in lanes]
    return window, tuple(lane for lane in drawn if lane.parts)


def _window(profile: Profile, whole: Span) -> Span:
    if len(profile.steps) < 2:
        return whole
    step = profile.steps[len(profile.steps) // 2]
    inside = any(step.start <= item.start <= step.end for item in profile.kernels)
    return (step.start, step.end) if inside and step.end > step.start else whole


def _joined(parts: Iterable[Part], window: Span, pixel: float) -> list[Part]:
    """Clipped to the window; overlapping ones (operators in operators) and those nearer than a pixel become one."""
    found: list[Part] = []
    for start, end, kind, label in parts:
        start, end = max(start, window[0]), min(end, window[1])
        if end <= start:
            continue
        if found and start < found[-1][1] + pixel and (kind == found[-1][2] or end - start < pixel):
            last = found[-1]
            name = label if end - start > last[1] - last[0] else last[3]
            found[-1] = last[0], max(last[1], end), last[2], name
        elif found and start < found[-1][1]:
            if end > found[-1][1]:
                found.append((found[-1][1], end, kind, label))
        else:
            found.append((start, end, kind, label))
    return found


def _kind(core: str) -> str:
    if core in _CUBE:
        return "cube"
    return "aicpu" if core == "AI_CPU" else "vector"


def _host_kind(name: str) -> str:
    if name.startswith(DATA):
        return "data"
    return "wait" if name in ("aten::item", "aten::_local_scalar_dense", COPY, PRINT) else "host"
