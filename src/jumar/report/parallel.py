"""What `jumar parallel` found, as text, as JSON and as one HTML page with pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jumar.core.compat import zip
from jumar.core.lang import pad, t, width

if TYPE_CHECKING:
    from jumar.parallel.prove import Proven
    from jumar.parallel.result import Result

GIB, MIB = 1 << 30, 1 << 20
KINDS = ("weights", "gradients", "optimizer", "activations", "copies", "buffers")
TIMES = "times are modelled; no run on such a chip was compared with them"


def gib(size: float) -> str:
    return f"{size / GIB:.1f}"


def grid(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Rows in columns; the first is the head."""
    last = set(right)
    shown = [[t(cell) for cell in rows[0]], *rows[1:]]
    widths = [max(width(row[column]) for row in shown) for column in range(len(rows[0]))]
    return [
        "  ".join(pad(cell, w, right=n in last) for n, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in shown
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
            t("yes" if item.fits else "no"),
            *tenths([getattr(stage, kind) for kind in KINDS]),
        ))  # fmt: skip
    lines += [*grid(rows, right=range(1, 11)), f"GiB on the fullest card; {_times(result)}", *_error(result)]
    lines += [*_measured(result), *_not_generated(result), ""]
    for title, sentences in result.answers:
        lines.append(title)
        lines += [f"  {sentence}" for sentence in sentences]
    for title, command in result.commands:
        lines += ["", title, f"  {command}"]
    return [line.rstrip() for line in lines]


def tenths(sizes: Sequence[int]) -> list[str]:
    """Sizes in GiB with one digit that add up to their sum with one digit: the largest remainders are rounded up."""
    exact = [10 * size / GIB for size in sizes]
    whole = [int(value) for value in exact]
    missing = round(10 * sum(sizes) / GIB) - sum(whole)
    up = sorted(range(len(sizes)), key=lambda n: whole[n] - exact[n])[:missing]
    return [f"{(value + (n in up)) / 10:.1f}" for n, value in enumerate(whole)]


def _times(result: Result) -> str:
    """How far a modelled time can be trusted."""
    bar = result.times
    if bar is None:
        return TIMES
    return f"times are modelled; {bar.runs} published runs took {bar.lowest:.2f} to {bar.highest:.2f} times as long"


def _error(result: Result) -> list[str]:
    """The error bar: what MindSpore's compiler said to predictions of this kind."""
    bar = result.error
    if bar is None:
        return []
    span = f"{100 * bar.lowest:+.1f} to {100 * bar.highest:+.1f} %"
    return [f"memory: {span} off what MindSpore's compiler allocates, in {bar.settings} settings drawn at random"]


def _not_generated(result: Result) -> list[str]:
    """Plans of the table that are shown and not recommended."""
    pairs = zip(result.shown, result.not_generated, strict=True)
    return [f"`{item.plan.name}`: not generated, not recommended: {reason}" for item, reason in pairs if reason]


def _measured(result: Result) -> list[str]:
    """Constants that come from a card and not from assumptions."""
    found = [f"{name} ({row.source})" for name, row in sorted(result.constants.items()) if row.confidence == "measured"]
    return [f"measured constants: {'; '.join(found)}; the others are assumed"] if found else []


PROOFS = {
    "compiler": "proof: MindSpore's compiler in its dry run, peak without fragments and workspace",
    "dry run": "proof: the plan's own program as its first rank in a dry run, peak of torch.npu.max_memory_allocated",
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
                t("extended") if row.extended else f"{row.seconds:.0f} s",
            ))  # fmt: skip
    return grid(rows, right=range(1, 10))


def _proof_notes(proven: Proven, usable: int) -> list[str]:
    lines = []
    if proven.by == "dry run":
        layers = f", {sum(proven.layers)} layers" if proven.shrunk else ""
        lines.append(f"`{proven.plan}` ran with {proven.what}{layers}; the prediction here is for the same")
    elif proven.shrunk and proven.what:
        count = sum(proven.layers)
        lines.append(
            f"`{proven.plan}` was compiled with {count} layers and {proven.what}, and so is its prediction here"
        )
    elif proven.shrunk:
        lines.append(f"`{proven.plan}` was compiled with {sum(proven.layers)} layers, and so is its prediction here")
    elif proven.what:
        lines.append(f"`{proven.plan}` was compiled with {proven.what}, and so is its prediction here")
    if proven.by == "compiler" and len(proven.stages) < len(proven.layers):
        numbers = ", ".join(str(row.stage) for row in proven.stages)
        lines.append(f"stages {numbers} of {len(proven.layers)} were compiled: the first, the fullest and the last")
    for row in proven.stages:
        if row.compiled > usable:
            lines.append(f"`{proven.plan}` stage {row.stage} does not fit: {row.compiled >> 20} of {usable >> 20} MiB")
    return lines


def data(result: Result) -> dict[str, Any]:
    """The document of `--json`."""
    return {
        "kind": "parallel", "head": result.head,
        "model": result.model, "chip": result.chip, "cards": result.cards, "usable_bytes": result.usable,
        "constants": {key: value._asdict() for key, value in sorted(result.constants.items())},
        "times_are": "modelled", "fits": result.fits, "plans_looked_at": result.looked, "fewest_cards": result.fewest,
        "plans": [
            {**_plan(item), "not_generated": reason}
            for item, reason in zip(result.shown, result.not_generated, strict=True)
        ],
        "front": [_plan(item) for item in result.front],
        "answers": dict(result.answers), "launch": result.launch,
        "commands": [{"title": title, "command": command} for title, command in result.commands],
        "error": result.error._asdict() if result.error else None,
        "times": result.times._asdict() if result.times else None,
        "code": [{"title": title, "text": text} for title, text in result.codes],
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
