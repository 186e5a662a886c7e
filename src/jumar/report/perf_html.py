"""A profile as one self-contained page: where the time goes, the timeline as a picture, the advice, the kernels."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from jumar import __version__
from jumar.perf.result import RankReport, Report, time
from jumar.report.html import environment
from jumar.report.perf import PARTS, further, no_advice

WIDTH = 1200
LEFT = 60
LANE = 34
MAX_RANKS = 16
MAX_ADVICE = 200


def render(report: Report) -> str:
    pages = environment()
    pages.filters["time"] = time
    total = max((rank.split.total for rank in report.ranks), default=0.0)
    return pages.get_template("perf.html").render(
        report=report,
        ranks=[_rank(rank) for rank in report.ranks[:MAX_RANKS]],
        more=max(0, len(report.ranks) - MAX_RANKS),
        advice=report.advice[:MAX_ADVICE],
        left_out=max(0, len(report.advice) - MAX_ADVICE),
        total=total,
        nothing=no_advice(report),
        version=__version__,
    )


def _rank(rank: RankReport) -> dict[str, Any]:
    total = rank.split.total or 1.0
    parts = [
        {"kind": name, "text": text, "time": getattr(rank.split, name), "share": getattr(rank.split, name) / total}
        for name, text in PARTS.items()
        if getattr(rank.split, name)
    ]
    return {"rank": rank, "parts": parts, "picture": picture(rank), "further": list(further(rank))}


def picture(rank: RankReport) -> Markup:
    """The lanes as inline SVG: no script, the label of a stretch is its title."""
    low, high = rank.window
    if high <= low:
        return Markup("")
    scale = (WIDTH - LEFT) / (high - low)
    height = LANE * len(rank.lanes) + 24
    shown = [
        Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="timeline of rank {}">').format(WIDTH, height, rank.rank)
    ]
    for index, lane in enumerate(rank.lanes):
        y = index * LANE
        shown.append(Markup('<text x="0" y="{}">{}</text>').format(y + 20, lane.name))
        for start, end, kind, label in lane.parts:
            x, width = LEFT + (start - low) * scale, max(0.4, (end - start) * scale)
            shown.append(
                Markup('<rect class="k-{}" x="{:.2f}" y="{}" width="{:.2f}" height="{}"><title>{}: {}</title></rect>')
                .format(kind, x, y + 4, width, LANE - 8, label[:200], time(end - start))
            )  # fmt: skip
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = LEFT + (WIDTH - LEFT) * share
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        shown.append(
            Markup('<text class="axis" x="{:.0f}" y="{}" text-anchor="{}">{}</text>').format(
                x, height - 6, anchor, time((high - low) * share)
            )
        )
    shown.append(Markup("</svg>"))
    return Markup("").join(shown)
