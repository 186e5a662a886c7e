"""What `jumar parallel` found, as text, as JSON and as one HTML page with pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jumar import __version__
from jumar.core.compat import zip

if TYPE_CHECKING:
    from jumar.parallel.prove import Proven
    from jumar.parallel.result import Result

GIB, MIB = 1 << 30, 1 << 20
KINDS = ("weights", "gradients", "optimizer", "activations", "copies", "buffers")
COLOURS = {
    "weights": "#3b6ea5", "gradients": "#d98e2b", "optimizer": "#6a9f58", "activations": "#c1504e", "copies": "#8d6bb0",
    "buffers": "#8a8a8a",
}  # fmt: skip
MEANINGS = {
    "weights": "parameters", "gradients": "gradients, until the optimizer runs", "optimizer": "optimizer state",
    "activations": "what the backward pass needs, and the current layer",
    "copies": "cast or gathered copies of weights",
    "buffers": "accumulated gradients, inputs, constants",
}  # fmt: skip
TIMES = "times are modelled; no hardware has confirmed them"


def gib(size: float) -> str:
    return f"{size / GIB:.1f}"


def grid(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Rows in columns; the first is the head."""
    last = set(right)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(w) if n in last else cell.ljust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def text(result: Result) -> list[str]:
    """Everything that fits on a screen."""
    lines = [*result.head, ""]
    rows: list[tuple[str, ...]] = [
        ("plan", "step", "peak", "of", "fits", "weights", "grads", "state", "activ.", "copies", "other")
    ]
    for item in result.shown:
        stage = max(item.memory, key=lambda memory: memory.total)
        rows.append((
            item.plan.name, f"{item.time.total * 1e3:.0f} ms", gib(stage.total), gib(result.usable),
            "yes" if item.fits else "no",
            *(gib(getattr(stage, kind)) for kind in KINDS),
        ))  # fmt: skip
    lines += [*grid(rows, right=range(1, 11)), f"GiB on the fullest card; {TIMES}", *_measured(result), ""]
    for title, sentences in result.answers:
        lines.append(title)
        lines += [f"  {sentence}" for sentence in sentences]
    lines += ["", "start it", f"  {result.launch}"]
    return [line.rstrip() for line in lines]


def _measured(result: Result) -> list[str]:
    """Constants that come from a card and not from assumptions."""
    found = [f"{name} ({row.source})" for name, row in sorted(result.constants.items()) if row.confidence == "measured"]
    return [f"measured constants: {'; '.join(found)}; the others are assumed"] if found else []


PROOFS = {
    "compiler": "proof: MindSpore's compiler in its dry run, peak without fragments and workspace",
    "emulator": "proof: the plan's own program on emulated NPUs, peak of torch.npu.max_memory_allocated",
}


def proof(result: Result) -> list[str]:
    lines: list[str] = []
    for by, title in PROOFS.items():
        found = [proven for proven in result.proofs if proven.by == by]
        if found:
            lines += ["", title, *_proof_table(found, "compiled" if by == "compiler" else "measured")]
    for proven in result.proofs:
        lines += _proof_notes(proven, result.usable)
    return lines


def _proof_table(found: list[Proven], word: str) -> list[str]:
    rows = [("plan", "layers", "stage", "rank", "predicted", word, "error", "comm. predicted", f"comm. {word}", "time")]
    for proven in found:
        for row in proven.stages:
            rows.append((
                proven.plan, str(row.layers or sum(proven.layers)), str(row.stage), str(row.rank),
                f"{row.predicted / MIB:.0f} MiB", f"{row.compiled / MIB:.0f} MiB", f"{100 * row.error:+.1f} %",
                f"{row.predicted_volume / MIB:.0f} MiB", f"{row.compiled_volume / MIB:.0f} MiB",
                "extended" if row.extended else f"{row.seconds:.0f} s",
            ))  # fmt: skip
    return grid(rows, right=range(1, 10))


def _proof_notes(proven: Proven, usable: int) -> list[str]:
    if proven.by == "emulator":
        return [f"`{proven.plan}` ran with {proven.what}; the prediction here is for the same"]
    lines = []
    if proven.shrunk:
        lines.append(f"`{proven.plan}` was compiled with {sum(proven.layers)} layers, and so is its prediction here")
    for row in proven.stages:
        if row.compiled > usable:
            lines.append(f"`{proven.plan}` stage {row.stage} does not fit: {row.compiled >> 20} of {usable >> 20} MiB")
    return lines


def data(result: Result) -> dict[str, Any]:
    """The document of `--json`."""
    return {
        "model": result.model, "chip": result.chip, "cards": result.cards, "usable_bytes": result.usable,
        "constants": {key: value._asdict() for key, value in sorted(result.constants.items())},
        "times_are": "modelled", "fits": result.fits, "plans_looked_at": result.looked, "fewest_cards": result.fewest,
        "plans": [_plan(item) for item in result.shown], "front": [_plan(item) for item in result.front],
        "answers": dict(result.answers), "launch": result.launch,
        "proofs": [
            {"plan": proven.plan, "layers": list(proven.layers), "shrunk": proven.shrunk, "by": proven.by,
             "what": proven.what,
             "stages": [{**row._asdict(), "error": round(row.error, 4)} for row in proven.stages]}
            for proven in result.proofs
        ],
    }  # fmt: skip


def _plan(item: Any) -> dict[str, Any]:
    return {
        "name": item.plan.name, **item.plan._asdict(), "cards": item.plan.cards, "layers": list(item.layers),
        "fits": item.fits, "peak_bytes": item.peak, "step_seconds": item.time.total, "time": item.time._asdict(),
        "stage_seconds": list(item.stages),
        "stages": [{**memory._asdict(), "total": memory.total} for memory in item.memory],
    }  # fmt: skip


def html(result: Result) -> str:
    from jumar.report.html import environment

    best = result.shown[0]
    most = max([result.usable, *(memory.total for memory in best.memory)])
    ranks = []
    for stage, memory in enumerate(best.memory):
        x, parts = 0.0, []
        for kind in KINDS:
            width = 800 * getattr(memory, kind) / most
            parts.append((round(x, 1), round(width, 1), COLOURS[kind], f"{kind}: {gib(getattr(memory, kind))} GiB"))
            x += width
        cards = best.plan.dp * best.plan.tp
        ranks.append(
            (f"stage {stage}, ranks {stage * cards} to {(stage + 1) * cards - 1}", f"{gib(memory.total)} GiB", parts)
        )
    return environment().get_template("parallel.html").render(
        result=result, best=best, ranks=ranks, line=round(800 * result.usable / most, 1),
        kinds=[(k, COLOURS[k], MEANINGS[k]) for k in KINDS],
        front=_front(result), table=grid_rows(result), times=TIMES, version=__version__, gib=gib,
    )  # fmt: skip


def grid_rows(result: Result) -> list[tuple[str, ...]]:
    return [
        (
            item.plan.name,
            f"{item.time.total * 1e3:.0f}",
            gib(item.peak),
            "yes" if item.fits else "no",
            ", ".join(map(str, item.layers)),
        )
        for item in result.shown
    ]


def _front(result: Result) -> dict[str, Any] | None:
    """Points of the front in a picture of 640 by 300."""
    items = result.front
    if not items:
        return None
    times, peaks = [item.time.total for item in items], [item.peak for item in items]
    wide, high = max(times) - min(times) or 1, max(peaks) - min(peaks) or 1
    points = [
        (
            round(60 + 560 * (t - min(times)) / wide, 1),
            round(250 - 220 * (p - min(peaks)) / high, 1),
            f"{item.plan.name}: {t * 1e3:.0f} ms, {gib(p)} GiB",
        )
        for item, t, p in zip(items, times, peaks, strict=True)
    ]
    return {
        "points": points, "line": " ".join(f"{x},{y}" for x, y, _ in points), "fast": f"{min(times) * 1e3:.0f} ms",
        "slow": f"{max(times) * 1e3:.0f} ms", "low": gib(min(peaks)), "high": gib(max(peaks)),
    }  # fmt: skip
