"""`jumar export`: a conversion, and what float16 does to a model, as lines and as the fields of JSON documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jumar.core.finding import Finding, Level
from jumar.report import text

if TYPE_CHECKING:
    from jumar.export.command import Conversion
    from jumar.export.graph import View
    from jumar.export.offline import Subject
    from jumar.export.precision import Node, Result


def summary(view: View, found: Sequence[Finding]) -> str:
    """How large the model is, and how much was found."""
    numbers = {level: sum(row.level is level for row in found) for level in Level}
    counts = ", ".join(text.count(number, str(level)) for level, number in numbers.items() if number)
    return f"opset {view.opset}, {text.count(len(view.nodes), 'node')}: {counts or 'nothing to report'}"


def conversion(built: Conversion, refused: Sequence[str]) -> dict[str, Any]:
    """The ATC command as fields."""
    return {
        "command": built.line(),
        "argv": built.argv(),
        "runner": built.runner(),
        "soc": built.soc,
        "mode": built.mode,
        "precision": built.precision,
        "shapes": built.written_shapes(),
        "gears": [list(gear) for gear in built.gears],
        "output": f"{built.output}.om",
        "errors": [],
        "refused": list(refused),
    }


def measured(subject: Subject, result: Result, tolerance: float, top: int) -> Iterator[str]:
    """The error of every output, and the nodes that cause it."""
    yield from outputs(f"{subject.mode} against float32", result, tolerance)
    risky = _ranked(result)
    if risky and top:
        yield "nodes at risk:"
        for row in risky[:top]:
            yield f"  {row.risk:<9} {row.operator:<20} {row.name or row.value}: {_told(row)}"
        if len(risky) > top:
            yield f"  … and {len(risky) - top} more; `--top` shows them"
    elif top:
        kind = "bfloat16" if subject.policy.effect == "bfloat" else "float16"
        yield f"no node has values that {kind} cannot hold"


def outputs(title: str, result: Result, tolerance: float) -> Iterator[str]:
    yield f"{title}:"
    for row in result.outputs:
        top = "" if math.isnan(row.same_top) else f", same largest element in {row.same_top:.0%} of rows"
        broken = f", {row.broken} elements are inf or nan" if row.broken else ""
        verdict = "ok" if not row.broken and row.relative <= tolerance else "over the tolerance"
        yield (
            f"  {row.name}: relative error {row.relative:.2g}, largest {row.largest:.2g},"
            f" cosine {row.cosine:.6f}{top}{broken}: {verdict}"
        )


def document(subject: Subject, result: Result, better: Result | None, tolerance: float) -> dict[str, Any]:
    def rows(one: Result) -> list[dict[str, Any]]:
        return [{key: _plain(value) for key, value in row._asdict().items()} for row in one.outputs]

    return {
        "precision": subject.mode,
        "random_inputs": subject.random,
        "tolerance": tolerance,
        "outputs": rows(result),
        "nodes": [{key: _plain(value) for key, value in row._asdict().items()} for row in _ranked(result)],
        "kept": None if better is None else {"nodes": list(better.kept), "outputs": rows(better)},
        "errors": [],
    }


def _told(row: Node) -> str:
    if row.risk == "overflow":
        return f"values up to {row.largest:.4g}, float16 ends at 65504"
    if row.risk == "weight":
        return f"a weight of {row.largest:.4g}, float16 ends at 65504"
    if row.risk == "underflow":
        return f"{row.tiny:.0%} of the values are below 6.1e-05, where float16 loses digits"
    return f"relative error {row.relative:.2g}, {row.growth:.0f} times that of its inputs"


def _ranked(result: Result) -> list[Node]:
    order = {"overflow": 0, "weight": 1, "error": 2, "underflow": 3}
    rows = [row for row in result.nodes if row.risk]
    return sorted(rows, key=lambda row: (order[row.risk], -row.largest if row.risk == "overflow" else -row.growth))


def _plain(value: Any) -> Any:
    """JSON has no infinity: a text says it."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
