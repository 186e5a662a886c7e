"""Makes the emulated card the one that Triton finds, once `import triton` is done; jumar/start.py registers it."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from jumar.runtime import variables


def after_triton(_: ModuleType) -> None:
    """Kernels that are made from here on run on the emulated card; TRITON_INTERPRET=1 keeps Triton's interpreter."""
    if variables.EMULATE.text() == "0":
        return
    runtime = importlib.import_module("triton.runtime")
    from jumar.emulate.triton.driver import EmulatedDriver

    runtime.driver.set_active(EmulatedDriver())
    jit = importlib.import_module("triton.runtime.jit")
    jit.JITFunction.run = _launch
    jit.JITFunction.__call__ = _call
    autotuner = importlib.import_module("triton.runtime.autotuner")
    autotuner.Autotuner._bench = _measure(autotuner.Autotuner._bench)
    core = importlib.import_module("triton.language.core")
    core.dtype.to_ir = _keeping_sign(core.dtype.to_ir)


def _launch(function: Any, /, *words: Any, grid: Any, warmup: bool = False, **named: Any) -> Any:
    from jumar.emulate.triton import kernel

    return kernel.launch(function, *words, grid=grid, warmup=warmup, **named)


def _call(function: Any, /, *words: Any, **named: Any) -> Any:
    from jumar.emulate.triton import kernel

    return kernel.call(function, *words, **named)


def _measure(original: Any) -> Any:
    def bench(tuner: Any, *words: Any, config: Any, **named: Any) -> Any:
        from jumar.emulate.triton import autotune

        return autotune.measure(original, tuner, words, config, named)

    return bench


def _keeping_sign(original: Any) -> Any:
    """A compiler's integers have no sign; numpy's have."""

    def to_ir(dtype: Any, builder: Any) -> Any:
        return dtype if type(builder).__name__ == "Builder" else original(dtype, builder)

    return to_ir
