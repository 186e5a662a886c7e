"""`flex_attention` in compiled code: as torch computes it uncompiled, over the whole matrix of scores.

Inductor has a Triton template for it and, for a processor, a C++ one that has no backward. Neither writes code for an
emulated card, so that the operator is taken apart before inductor sees it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from torch._subclasses.functional_tensor import FunctionalTensorMode


def taken_apart() -> None:
    """Idempotent, as every loading of a generator is."""
    flex: Any = importlib.import_module("torch._higher_order_ops.flex_attention")  # the package names the operator so
    for operator, dense in (
        (flex.flex_attention, flex.sdpa_dense),
        (flex.flex_attention_backward, flex.sdpa_dense_backward),
    ):
        known = operator.python_key_table[FunctionalTensorMode]
        if getattr(known, "on_cards", None) is None:
            operator.python_key_table[FunctionalTensorMode] = _dense_on_cards(known, dense)


def _dense_on_cards(original: Callable[..., Any], dense: Callable[..., Any]) -> Callable[..., Any]:
    def run(mode: Any, query: Any, *words: Any, **named: Any) -> Any:
        if query.device.type != "npu":
            return original(mode, query, *words, **named)
        with mode:
            return dense(query, *words, **named)

    run.on_cards = True  # type: ignore[attr-defined]
    return run
