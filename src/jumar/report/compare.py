"""A comparison as text, as JSON, and as one page with plots."""

from __future__ import annotations

import json as json_
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jumar import __version__
from jumar.compare.result import Comparison, Explained, Pair
from jumar.core.lang import pad, t
from jumar.core.words import counted

if TYPE_CHECKING:
    from jumar.compare.ladder import Rung
    from jumar.compare.overflow import Overflow

VERSION = 1
_TOOL = {"name": "jumar", "version": __version__}


def text(result: Comparison, top: int = 10) -> Iterator[str]:
    """The verdict first, then what supports it."""
    verdict = result.verdict
    kind = f" ({verdict.kind})" if verdict.kind != "inconclusive" else ""
    yield f"{verdict.answer}{kind}: {verdict.message}"
    for line in verdict.between:
        yield f"  {line}"
    yield f"  what to do: {verdict.meaning}"
    yield ""
    for name, side in (("A", result.a), ("B", result.b)):
        counts = f"{counted(side.steps, 'step')}, {counted(side.operators, 'operator')}"
        about = f"{side.device}, {side.dtype}, torch {side.torch}, {counts}"
        yield f"{name}  {side.path}: {about}"
    yield f"floor: {result.floor_source}, rounding of {result.precision}, limit {result.limit:g}"
    for line in result.differences:
        yield f"  differs: {line}"
    for line in result.notes:
        yield f"note: {line}"
    for name, lines in (("A", result.only_a), ("B", result.only_b)):
        if lines:
            yield f"only in {name}: {'; '.join(lines[:5])}" + (f"; and {len(lines) - 5} more" if len(lines) > 5 else "")
    rows = result.ranked()[:top]
    if rows:
        yield ""
        heads = (pad(t(name), columns, right=True) for name, columns in _HEADS)
        yield "  ".join([*heads, t("operator")])
        for pair in rows:
            yield (
                f"{pair.over:>9.3g}  {pair.error:>8.2g}  {pair.floor:>8.2g}  {_known(pair.error_in):>8}  {pair.step:>4}"
                f"  {place(pair)}"
            )


_HEADS = (("over", 9), ("error", 8), ("floor", 8), ("in", 8), ("step", 4))


def place(pair: Pair) -> str:
    parts = [f"{pair.a.label} {pair.a.title.replace('`', '')}", pair.a.module, pair.a.where]
    phase = f"({pair.a.phase})" if pair.a.phase != "forward" else ""
    return "  ".join(part for part in (*parts, phase) if part)


def _known(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2g}"


def document(result: Comparison) -> dict[str, Any]:
    verdict = result.verdict
    return {
        "version": VERSION,
        "tool": _TOOL,
        "kind": "compare",
        "verdict": {
            "kind": verdict.kind,
            "answer": verdict.answer,
            "differs": verdict.differs,
            "message": verdict.message,
            "meaning": verdict.meaning,
            "between": list(verdict.between),
            "operator": _pair(verdict.pair) if verdict.pair else None,
        },
        "a": _side(result.a),
        "b": _side(result.b),
        "rank": result.rank,
        "floor": {"source": result.floor_source, "precision": result.precision, "limit": result.limit},
        "explained": _explained(result.explained) if result.explained else None,
        "environment": result.differences,
        "notes": result.notes,
        "only_a": result.only_a,
        "only_b": result.only_b,
        "operators": [_pair(pair) for pair in result.ranked()],
        "curves": {
            name: [[row.step, _finite(row.loss), _finite(row.grad_norm)] for row in rows]
            for name, rows in result.curves.items()
        },
        "reproducer": result.reproducer,
    }


def json(fields: dict[str, Any]) -> str:
    """A document of ours as text."""
    return json_.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False)


def _explained(found: Explained) -> dict[str, Any]:
    return {
        "rule": found.rule, "proved": found.proved, "products": found.products, "without": _finite(found.without),
        "rest": _finite(found.rest), "fits": found.fits,
    }  # fmt: skip


def _side(side: Any) -> dict[str, Any]:
    return {name: getattr(side, name) for name in ("path", "device", "dtype", "torch", "steps", "operators", "ranks")}


def _pair(pair: Pair) -> dict[str, Any]:
    entry = pair.a
    return {
        "id": entry.label, "step": pair.step, "kind": entry.kind, "operator": entry.op, "name": entry.name,
        "other": pair.b.op, "phase": entry.phase, "module": entry.module, "where": entry.where,
        "shapes": [str(out) for out in entry.outs], "error": _finite(pair.error), "cosine": _finite(pair.cosine),
        "floor": _finite(pair.floor), "error_in": _finite(pair.error_in), "over": _finite(pair.over),
        "arguments": list(pair.arguments),
    }  # fmt: skip


def _finite(value: float | None) -> float | str | None:
    """JSON knows no infinity; it is said as text."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def rung(one: Rung) -> list[str]:
    lines = [f"{one.state:<8} {one.name}: {one.message}"]
    return [*lines, f"         what to do: {one.advice}"] if one.advice and one.state == "failed" else lines


def rungs_document(found: Sequence[Rung]) -> dict[str, Any]:
    rows = [{"name": one.name, "state": one.state, "message": one.message, "advice": one.advice} for one in found]
    return {"version": VERSION, "tool": _TOOL, "kind": "ladder", "rungs": rows}


def overflow(found: Sequence[Overflow], ranks: int) -> Iterator[str]:
    if not found:
        yield f"no operator makes inf or nan in the recorded steps of {ranks} rank{'' if ranks == 1 else 's'}"
        return
    for one in found:
        entry = one.entry
        where = "  ".join(part for part in (entry.title.replace("`", ""), entry.module, entry.where) if part)
        yield (
            f"rank {one.rank}, step {one.step}, {entry.phase}: {entry.label} {where}: {one.nan} nan, {one.inf} inf;"
            f" the largest input is {one.largest_in:.4g}, the result is {', '.join(map(str, entry.outs[:1]))}"
        )


def overflow_document(found: Sequence[Overflow]) -> dict[str, Any]:
    rows = [
        {"rank": one.rank, "step": one.step, "id": one.entry.label, "operator": one.entry.op, "name": one.entry.name,
         "phase": one.entry.phase, "module": one.entry.module, "where": one.entry.where, "nan": one.nan, "inf": one.inf,
         "largest_input": _finite(one.largest_in)}
        for one in found
    ]  # fmt: skip
    return {"version": VERSION, "tool": _TOOL, "kind": "overflow", "overflows": rows}
