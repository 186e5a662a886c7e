"""Makes the emulated card the one that Triton finds, once `import triton` is done; jumar/start.py registers it."""

from __future__ import annotations

import importlib
import math
import sys
from types import ModuleType
from typing import Any

from jumar.runtime import variables

_BACKENDS = ("ascend", "cann")
"""The folder of triton-ascend's own functions: its name in 3.2, and its name later."""
_MATH = (
    "isnan", "isinf", "reciprocal", "log1p", "relu", "tan", "atan", "tanh", "ilogb", "ldexp", "pow", "atan2", "div_rz",
    "fmod", "trunc", "round", "finitef", "isfinited", "rint", "acos", "asin", "sinh", "cosh", "expm1",
)  # fmt: skip


def after(module: ModuleType) -> None:
    """Kernels that are made from here on run on the emulated card; TRITON_INTERPRET=1 keeps Triton's interpreter."""
    if variables.EMULATE.text() == "0" or not hasattr(module, "JITFunction"):
        return
    runtime = importlib.import_module("triton.runtime")
    from jumar.emulate.triton.driver import EmulatedDriver

    runtime.driver.set_active(EmulatedDriver())
    _list(EmulatedDriver)
    jit = importlib.import_module("triton.runtime.jit")
    jit.JITFunction.run = _launch
    jit.JITFunction.__call__ = _call
    autotuner = importlib.import_module("triton.runtime.autotuner")
    autotuner.Autotuner._bench = _measure(autotuner.Autotuner._bench)
    core: Any = importlib.import_module("triton.language.core")
    core.dtype.to_ir = _keeping_sign(core.dtype.to_ir)
    core.validate_block_shape = _any_size(core.validate_block_shape)
    _name_as_ascend()


def _list(driver: type) -> None:
    """vLLM and others count the active drivers that Triton lists: on a machine with cards, theirs is the one."""
    listed: Any = importlib.import_module("triton.backends")
    name = next((name for name in _BACKENDS if name in listed.backends), _BACKENDS[0])
    known = listed.backends.get(name)
    listed.backends[name] = listed.Backend(known.compiler if known else _NoCompiler, driver)


class _NoCompiler:
    """Of a Triton that was not made for cards."""

    @staticmethod
    def supports_target(_: Any) -> bool:
        return False


def _name_as_ascend() -> None:
    """Triton itself lacks the names that triton-ascend has for functions of its math library."""
    functions = importlib.import_module("triton.language.math")
    library = importlib.import_module("triton.language.extra.libdevice")
    for name in _MATH:
        if not hasattr(functions, name):
            setattr(functions, name, getattr(library, name, None) or _named(name))
    extra = importlib.import_module("triton.language.extra")
    there = next((getattr(extra, name) for name in _BACKENDS if hasattr(extra, name)), None)
    library = there.libdevice if there is not None else library
    for name in _BACKENDS:
        if not hasattr(extra, name):
            setattr(extra, name, there or ModuleType(f"triton.language.extra.{name}"))
            getattr(extra, name).libdevice = library
            sys.modules[f"triton.language.extra.{name}"] = getattr(extra, name)
            sys.modules[f"triton.language.extra.{name}.libdevice"] = library


def _named(name: str) -> Any:
    """A function without a body: the emulator knows functions of libdevice by their names."""

    def function(*_: Any) -> None: ...

    function.__name__, function.__module__ = name, "triton.language.extra.libdevice"
    return function


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


def _any_size(original: Any) -> Any:
    """Blocks of a card need no power of two, and triton-ascend does not ask for one."""

    def validate(shape: Any) -> Any:
        from jumar.emulate.triton import lanes

        original(
            [1 << (size - 1).bit_length() if lanes.running() and isinstance(size, int) else size for size in shape]
        )
        return math.prod(shape)

    return validate


def _keeping_sign(original: Any) -> Any:
    """A compiler's integers have no sign; numpy's have."""

    def to_ir(dtype: Any, builder: Any) -> Any:
        return dtype if type(builder).__name__ == "Builder" else original(dtype, builder)

    return to_ir
