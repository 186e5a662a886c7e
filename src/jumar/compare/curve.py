"""Loss and gradient norm over the steps, against what runs of the reference differ among themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jumar.compare.result import Curve, Verdict

_FEWEST = 3
_SMALLEST = 1e-6


def envelope(base: Sequence[Curve], others: Sequence[Sequence[Curve]], field: str) -> dict[int, float]:
    """By step, the largest distance of any other base run so far: it does not shrink by luck."""
    middle = _values(base, field)
    found: dict[int, float] = {}
    widest = 0.0
    runs = [_values(other, field) for other in others]
    for step, value in sorted(middle.items()):
        apart = [abs(run[step] - value) for run in runs if step in run]
        widest = max([widest, *(distance for distance in apart if distance == distance)])
        found[step] = max(widest, _SMALLEST * abs(value))
    return found


def judge(a: Sequence[Curve], b: Sequence[Curve], others: Sequence[Sequence[Curve]], limit: float) -> Verdict | None:
    """A verdict if the run leaves the envelope for good; None without one."""
    if not others:
        return None
    for field in ("loss", "grad_norm"):
        first, second = _values(a, field), _values(b, field)
        room = envelope(a, others, field)
        noisy = [_values(run, field) for run in others]
        shared = [step for step in sorted(set(first) & set(second)) if all(step in run for run in noisy)]
        outside = [step for step in shared if not abs(second[step] - first[step]) <= limit * room[step]]
        if len(outside) >= max(_FEWEST, len(shared) // 10):
            step = outside[0]
            what = "the loss" if field == "loss" else "the gradient norm"
            return Verdict(
                "curve",
                f"{what} leaves the envelope of the base runs at step {step}: {second[step]:.6g} against"
                f" {first[step]:.6g} ± {room[step]:.2g}; {len(outside)} of {len(shared)} steps are outside",
                "no single operator of the recorded steps differs: record the steps before it (`--steps`), or look at"
                " data order, schedules and random numbers",
            )
    return None


def _values(curve: Sequence[Curve], field: str) -> Mapping[int, float]:
    return {row.step: getattr(row, field) for row in curve if getattr(row, field) is not None}
