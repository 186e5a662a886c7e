"""Autotuning without a clock: times of an emulated card say nothing about a real one.

The first configuration is taken. JUMAR_TRITON_AUTOTUNE=all runs every one and compares what they write: a kernel that
is wrong with one block size only is found before a card picks that size.
"""

from __future__ import annotations

from typing import Any

from jumar.runtime import variables
from jumar.runtime.tell import tell

_TOLERANCE = 0.02
"""Difference between configurations, as a share of the largest number: sums in another order stay far below."""


def measure(original: Any, tuner: Any, words: tuple[Any, ...], config: Any, named: dict[str, Any]) -> list[float]:
    """The time of a configuration, for the tuner to compare: none, or the order in which they come."""
    if variables.TRITON_AUTOTUNE.read() != "all":
        return [0.0, 0.0, 0.0]
    given = {**dict(zip(tuner.arg_names, words)), **named}
    tensors = {name: one for name, one in given.items() if hasattr(one, "data_ptr") and hasattr(one, "clone")}
    before = {name: one.detach().clone() for name, one in tensors.items()}
    kept, tuner.do_bench = tuner.do_bench, lambda kernel_call, **_: (kernel_call(), [0.0, 0.0, 0.0])[1]
    try:
        times: list[float] = original(tuner, *words, config=config, **named)
        after = {name: one.detach().clone() for name, one in tensors.items()}
    finally:
        tuner.do_bench = kept
        for name, one in tensors.items():
            one.detach().copy_(before[name])
    _compare(tuner, config, after)
    return times


def _compare(tuner: Any, config: Any, after: dict[str, Any]) -> None:
    """Against the first configuration of this tuning."""
    shapes = tuple((name, tuple(one.shape), str(one.dtype)) for name, one in after.items())
    first = tuner.__dict__.setdefault("jumar_first", {}).setdefault(shapes, (config, after))
    if first[0] is config:
        tuner.jumar_first[shapes] = (config, after)
        return
    for name, one in after.items():
        difference = _difference(one, first[1][name])
        if difference > _TOLERANCE:
            tell(
                f"`{tuner.base_fn.__name__}` writes other numbers to `{name}` with {_words(config)} than with"
                f" {_words(first[0])}: they differ by {difference:.1%} of the largest"
            )


def _words(config: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in config.kwargs.items()) or str(config)


def _difference(one: Any, other: Any) -> float:
    one, other = one.cpu().double(), other.cpu().double()
    if not one.numel():
        return 0.0
    largest = max(float(other.abs().nan_to_num(0, 0, 0).max()), 1e-30)
    return float((one - other).abs().nan_to_num(0, 0, 0).max()) / largest
