"""Recurrent cells: torch sends those of a device to fused kernels, which the CPU does not have.

Here they are the operators that torch uses for cells on the CPU, above autograd, so that gradients come by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LIBRARY: list[Any] = []


def register() -> None:
    import torch

    if _LIBRARY:
        return
    library = torch.library.Library("aten", "IMPL")
    for key in ("AutogradPrivateUse1", "PrivateUse1"):
        for name, cell in kernels().items():
            library.impl(name, cell, key)
    _LIBRARY.append(library)


def kernels() -> dict[str, Callable[..., Any]]:
    """By operator; each has a row in data/operators.toml that says why."""
    return {"_thnn_fused_lstm_cell": _lstm_cell, "_thnn_fused_gru_cell": _gru_cell}


def _lstm_cell(input_gates: Any, hidden_gates: Any, cx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    import torch

    gates = _biased(hidden_gates, hidden_bias) + _biased(input_gates, input_bias)
    into, forget, cell, out = gates.unsafe_chunk(4, 1)
    into, forget, cell, out = into.sigmoid(), forget.sigmoid(), cell.tanh(), out.sigmoid()
    cy = forget * cx + into * cell
    # The third result is what the fused backward kernel would work with; here it is only looked at.
    return out * cy.tanh(), cy, torch.cat([gate.detach() for gate in (into, forget, cell, out)], 1)


def _gru_cell(input_gates: Any, hidden_gates: Any, hx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    of_input = _biased(input_gates, input_bias).unsafe_chunk(3, 1)
    of_hidden = _biased(hidden_gates, hidden_bias).unsafe_chunk(3, 1)
    reset = (of_hidden[0] + of_input[0]).sigmoid()
    update = (of_hidden[1] + of_input[1]).sigmoid()
    new = (of_input[2] + of_hidden[2] * reset).tanh()
    return (hx - new) * update + new, hx.new_empty(0)


def _biased(gates: Any, bias: Any) -> Any:
    return gates if bias is None else gates + bias
