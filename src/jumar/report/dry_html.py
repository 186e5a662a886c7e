"""A dry run as one page: memory over a step by owner, who holds the peak, collectives, the modelled step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar import __version__
from jumar.report import dry
from jumar.report.html import environment

if TYPE_CHECKING:
    from jumar.emulate.dry.result import DryRun, RankRun

COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#76b7b2", "#e15759", "#edc948", "#b07aa1", "#9c755f")
WIDTH, HEIGHT = 960, 260
_ROWS = 30


def render(run: DryRun) -> str:
    page = environment().get_template("dry.html")
    return page.render(run=run, ranks=[_rank(rank) for rank in run.ranks], size=dry.size, seconds=dry.seconds,
                       version=__version__)  # fmt: skip


def _rank(rank: RankRun) -> dict[str, Any]:
    memory = rank.found["memory"]
    return {
        "run": rank,
        "found": rank.found,
        "memory": memory,
        "areas": areas(memory["picture"]) if memory else [],
        "holders": memory["holders"][:_ROWS] if memory else [],
        "width": WIDTH,
        "height": HEIGHT,
    }


def areas(picture: dict[str, list[int]]) -> list[tuple[str, str, str]]:
    """Name, colour and SVG points of each owner, stacked."""
    if not picture:
        return []
    length = len(next(iter(picture.values())))
    top = max(sum(row[at] for row in picture.values()) for at in range(length)) or 1
    below, found = [0.0] * length, []
    for colour, (name, row) in zip(COLOURS, picture.items()):
        above = [low + value for low, value in zip(below, row)]
        line = [_point(at, value, length, top) for at, value in enumerate(above)]
        back = [_point(at, value, length, top) for at, value in enumerate(below)][::-1]
        found.append((name, colour, " ".join([*line, *back])))
        below = above
    return found


def _point(at: int, value: float, length: int, top: float) -> str:
    return f"{WIDTH * at / max(1, length - 1):.1f},{HEIGHT * (1 - value / top):.1f}"
