"""vllm-ascend: its compiled part loads and declares its operators, whose kernels are for the chip.

They are answered by references (emulate/torch_ops/vllm_*.py) in their place; one without a reference refuses by name.
"""

from __future__ import annotations

from types import ModuleType

from jumar.emulate.glue import load

SPACE = "_C_ascend"
"""Where it declares them."""


def after(_: ModuleType) -> None:
    """Called once the compiled part is imported."""
    load.take_over(SPACE)
