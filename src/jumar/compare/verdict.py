"""The first thing that differs: weights and inputs before activations, those before gradients, those before state."""

from __future__ import annotations

from collections.abc import Sequence

from jumar.compare import extra
from jumar.compare.align import canonical
from jumar.compare.diff import Stepped
from jumar.compare.precision import short
from jumar.compare.result import Pair, RecordEntry, Verdict

LIMIT = 4.0
"""Error over floor from which on a difference is no noise, in the forward pass of the first step."""
LATER = 2.0
"""Elsewhere this many times that: a relu that flips or an update that changes its sign makes rare jumps."""
_ALIKE = 0.1
"""Results this close are the same result, whatever came before them: chance brings none so close together."""
_RANDOM = ("dropout", "bernoulli", "rand", "normal", "uniform", "multinomial", "exponential", "geometric", "cauchy")
_LEAVES = ("weight", "buffer", "arg")
_STAGES = (("weights", ("weight", "buffer")), ("inputs", ("input",)))


def judge(steps: Sequence[Stepped], limit: float = LIMIT, *, same_device: bool = False) -> Verdict:
    """What to tell first."""
    for step in steps:
        found = _tensors(step, limit) or _operator(step, limit)
        if found is not None:
            return found
    equal = all(pair.error == 0 for step in steps for pair in step.pairs)
    side, entries = extra.find(steps) if same_device and not equal else ("", [])
    if entries:
        return Verdict(
            "order",
            f"only {side} calls {place(entries[0])}; its effect is within the noise of rounding",
            "both runs are on the same kind of device, so it is the program that differs: compare the code there",
            between=tuple(f"only in {side}: {place(entry)}" for entry in entries[:5]),
        )
    if equal:
        return Verdict("same", "both runs are equal bit for bit, as far as sketches show", "nothing to do")
    worst = max((pair for step in steps for pair in step.pairs), key=lambda pair: pair.over)
    return Verdict(
        "within",
        "all differences are within the noise of rounding:"
        f" the largest is {worst.over:.1f} times the floor, at {name(worst)}",
        f"nothing to do; the limit is {limit:g} times the floor",
        worst,
    )


def settle(step: Stepped, limit: float = LIMIT, *, same_device: bool = False) -> Stepped:
    """Without pairs that only look alike: their inputs are no partners, and nothing after them differs.

    On the same kind of device the same line of the same module is the same call; but gradients may be summed up in
    another order.
    """
    partner = {pair.a.index: pair.b.index for pair in step.pairs}
    flagged = [pair for pair in step.pairs if pair.over > _allowed(pair, limit) and pair.a.kind == "op"]
    followed = _believed(step, limit)
    chance = {
        pair.a.index
        for pair in flagged
        if pair.error > _ALIKE
        and (pair.a.index, pair.b.index) not in followed
        and not pair.error_in <= limit * pair.floor
        and not (same_device and pair.a.phase == "forward" and _same_place(pair))
        and any(partner.get(one) != other for one, other in zip(pair.a.inputs, pair.b.inputs))
    }
    return step._replace(pairs=[pair for pair in step.pairs if pair.a.index not in chance])


def _believed(step: Stepped, limit: float) -> set[tuple[int, int]]:
    """Producers of both runs whose consumers differ too, by more than noise of their own."""
    return {
        (one, other)
        for pair in step.pairs
        if pair.error > _allowed(pair, limit) * pair.local
        for one, other in zip(pair.a.inputs, pair.b.inputs)
    }


def _same_place(pair: Pair) -> bool:
    return bool(pair.a.module) and (pair.a.module, pair.a.where) == (pair.b.module, pair.b.where)


def _allowed(pair: Pair, limit: float) -> float:
    return limit if pair.step == 0 and pair.a.phase == "forward" else LATER * limit


def _tensors(step: Stepped, limit: float) -> Verdict | None:
    """Weights, buffers and inputs: what differs there explains everything after it."""
    for kind, kinds in _STAGES:
        found = [pair for pair in step.pairs if pair.a.kind in kinds and pair.over > _allowed(pair, limit)
                 and pair.a.phase == "forward"]  # fmt: skip
        if not found:
            continue
        first = found[0]
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        when = "before the first step" if step.number == 0 else f"at the beginning of step {step.number}"
        if kind == "weights":
            message = f"the {first.a.title} differs {when}{more}: relative error {first.error:.2g}"
            meaning = (
                "the runs started from different weights: load the same checkpoint, or seed both (`--seed 0`)"
                if step.number == 0
                else "the step before changed it differently"
            )
        else:
            at = f" (used at {first.a.where})" if first.a.where else ""
            message = f"an input differs {when}{more}: {first.a.name}{at}: relative error {first.error:.2g}"
            meaning = "the runs used different data: fix order, seed and preprocessing, then record again"
        return Verdict(kind, message, meaning, first)
    return None


def _operator(step: Stepped, limit: float) -> Verdict | None:
    flagged = [pair for pair in step.pairs if pair.over > _allowed(pair, limit) and pair.a.kind not in _LEAVES]
    changed = [pair for pair in step.pairs if pair.arguments and _counts(pair, flagged)]
    first = _first(flagged)
    if first is not None:
        first = _onset(step, first, limit)
    early = _first(changed)
    if early is not None and (first is None or order(early) <= order(first)):
        return _arguments(early, first, limit)
    if first is None:
        return None
    if _is_random(first.a):
        return Verdict(
            "random",
            f"random numbers differ, starting at {name(first)}",
            "the devices draw different numbers: seed both, or switch it off (p=0, eval mode) for the comparison",
            first,
        )
    if first.error == float("inf"):
        return Verdict(
            "overflow",
            f"{name(first)} makes inf or nan in one run only",
            "a range is exceeded: check the smallest dtype on the way, and loss scaling",
            first,
        )
    alone = _unmatched(step, first)
    between = tuple(f"only in {side}: {place(entry)}{_read(step, side, entry)}" for side, entry in alone)
    modules = dict.fromkeys(entry.module for _, entry in alone if entry.module)
    where = " in " + " and ".join(f"`{module}`" for module in list(modules)[:3]) if modules else ""
    message = f"{name(first)} is the first operator whose inputs agree and whose output does not: {_numbers(first)}"
    meaning = _MEANING[first.a.phase if first.a.kind == "op" else first.a.kind]
    if between:
        return Verdict(
            "order", f"{message}; just before it the runs call different operators{where}", meaning, first, between
        )
    return Verdict("operator", message, meaning, first)


def _counts(pair: Pair, flagged: Sequence[Pair]) -> bool:
    """Views make no numbers: one with other arguments counts where a result differs, if both stand in the same line."""
    return pair.a.kind != "view" or (bool(flagged) and pair.a.where == pair.b.where)


_MEANING = {
    "forward": "run the reproducer on both devices: same inputs, one operator",
    "backward": "the forward pass agrees, its gradient does not: run the reproducer on both devices",
    "optimizer": "gradients agree, the update does not: compare the optimizer's settings",
    "input": "a tensor that came from outside differs",
    "grad": "the operators of the backward pass agree, their sum does not: check accumulation, clipping, all-reduce",
    "state": "gradients agree, the update does not: compare the optimizer's settings",
}


def _arguments(pair: Pair, first: Pair | None, limit: float) -> Verdict:
    told = "; ".join(pair.arguments)
    shown = first if first is not None and pair.over == 0 else pair
    effect = (
        f"its effect is within the noise of rounding ({pair.over:.1f} times the floor)"
        if first is None
        else f"the first result that differs is that of {name(first)}: {_numbers(first)}"
        if first is not pair
        else _numbers(shown)
    )
    return Verdict(
        "arguments", f"{name(pair)} is called with different arguments: {told}; {effect}", "make both calls equal", pair
    )


def _first(pairs: Sequence[Pair]) -> Pair | None:
    return min(pairs, key=order, default=None)


def order(pair: Pair) -> tuple[int, int]:
    return (("forward", "backward", "optimizer").index(pair.a.phase), pair.a.index)


def _onset(step: Stepped, found: Pair, limit: float) -> Pair:
    """Back to where the error began, if it was already well above the noise before it passed the limit."""
    by_index = {pair.a.index: pair for pair in step.pairs}
    while True:
        earlier = [by_index[number] for number in found.a.inputs if number in by_index]
        best = max(earlier, key=lambda pair: pair.over, default=None)
        if best is None or best.over < max(limit / 2, found.over / 2) or best.a.kind not in ("op", "input"):
            return found
        found = best


def _unmatched(step: Stepped, first: Pair) -> list[tuple[str, RecordEntry]]:
    """Operators without a partner since the last pair that agreed."""
    before = [pair for pair in step.pairs if pair.a.kind == "op" and order(pair) < order(first)]
    start = before[-1] if before else None
    found: list[tuple[str, RecordEntry]] = []
    low = (start.a.index, start.b.index) if start else (-1, -1)
    for side, entries, after, until in (
        ("A", step.only_a, low[0], first.a.index),
        ("B", step.only_b, low[1], first.b.index),
    ):
        inside = [entry for entry in entries if after < entry.index < until and entry.kind == "op"]
        found += [(side, entry) for entry in inside[:5]]
    return found


def _read(step: Stepped, side: str, entry: RecordEntry) -> str:
    """What an operator without a partner changes, where that is the result of a module inside its own."""
    made = {(pair.a if side == "A" else pair.b).index: pair.a.module for pair in step.pairs if pair.a.kind == "op"}
    inner = [made[number] for number in entry.inputs if made.get(number, "").startswith(f"{entry.module}.")]
    return f", on the result of `{inner[0]}`" if entry.module and inner else ""


def _is_random(entry: RecordEntry) -> bool:
    plain = canonical(entry.op) if entry.op else ""
    return "backward" not in plain and short(entry.op).lstrip("_").startswith(_RANDOM)


def name(pair: Pair) -> str:
    return place(pair.a)


def place(entry: RecordEntry) -> str:
    """The operator, its module and its line."""
    parts = [f"`{entry.title.replace('`', '')}`"]
    if entry.module:
        parts.append(f"of `{entry.module}`")
    if entry.where:
        parts.append(f"at {entry.where}")
    phase = f" ({entry.phase})" if entry.phase != "forward" else ""
    return " ".join(parts) + phase


def _numbers(pair: Pair) -> str:
    return f"relative error {pair.error:.2g}, {pair.over:.3g} times the floor {pair.floor:.2g}"
