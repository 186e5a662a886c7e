"""Launches of `@triton.jit` functions on the emulated card, in place of compiling them."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import traceback
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.compiler.errors import CompilationError

from jumar.emulate.triton import lanes, limits, record
from jumar.emulate.triton.errors import Refused
from jumar.emulate.triton.language import Language
from jumar.emulate.triton.launch import Launch
from jumar.emulate.triton.memory import OutOfBounds
from jumar.emulate.triton.rewrite import first_line


class Kernel:
    """What a launch answers: it can be launched again, and carries what programs ask of a compiled kernel."""

    n_regs = n_spills = n_max_threads = 0

    def __init__(self, function: Any, options: dict[str, Any], constants: dict[str, Any]) -> None:
        self.function, self.constants = function, constants
        self.name = function.fn.__name__
        self.asm: dict[str, str] = {}
        shown = {"num_warps": 4, "num_stages": 1, "num_ctas": 1, "shared": 0, **options, "name": self.name}
        self.metadata = types.SimpleNamespace(**shown)
        self._options = options

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(self._again, grid)

    def _again(self, grid: Any, /, *words: Any, stream: Any = None, **named: Any) -> Kernel:
        """A compiled kernel has its constants; up to Triton 3.2 they are not among its arguments, later they are."""
        open_names = [one.name for one in self.function.params if not one.is_constexpr]
        if words and len(words) == len(open_names):
            words, named = (), {**dict(zip(open_names, words)), **self.constants, **named}
        return launch(self.function, *words, grid=grid, warmup=False, **{**self._options, **named})


@functools.cache
def language() -> Language:
    return Language()


def launch(function: Any, /, *words: Any, grid: Any, warmup: bool, **named: Any) -> Kernel:
    """What `JITFunction.run` does."""
    for hook in getattr(function, "pre_run_hooks", ()):
        hook(*words, **named)
    bound, options = bind(function, words, named)
    constants = {one.name: bound[one.name] for one in function.params if one.is_constexpr}
    kernel = Kernel(function, options, constants)
    if warmup:
        return kernel
    sizes = _grid(grid, bound)
    limits.check_grid(kernel.name, sizes)
    told = _told(kernel, sizes, bound)
    enter, leave = _hooks()
    if enter is not None:
        enter(told)
    if 0 not in sizes:
        _run(function, kernel, sizes, bound)
    if leave is not None:
        leave(told)
    return kernel


def call(function: Any, /, *words: Any, **named: Any) -> Any:
    """A kernel that is called without a grid is a function of another kernel."""
    if not lanes.running():
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")
    return language().call(function, *words, **named)


def bind(function: Any, words: tuple[Any, ...], named: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of the kernel by name, and options of its compiler."""
    signature = inspect.signature(function.fn)
    options = {key: one for key, one in named.items() if key not in signature.parameters}
    limits.check_options(options)
    bound = signature.bind(*words, **{key: one for key, one in named.items() if key in signature.parameters})
    bound.apply_defaults()
    return {key: _bare(one) for key, one in bound.arguments.items()}, options


def _run(function: Any, kernel: Kernel, sizes: tuple[int, int, int], bound: dict[str, Any]) -> None:
    captured = _wait_for_stream()
    one = Launch(kernel.name, sizes)
    arguments = {}
    for parameter in function.params:
        given = bound[parameter.name]
        limits.check_device(parameter.num, given)
        if not parameter.is_constexpr and not one.specialised(parameter, given):
            annotation = getattr(parameter, "annotation_type", None) or ""
            constant = bool(getattr(parameter, "is_const", False))
            given = one.argument(parameter.name, given, annotation, language(), constant)
        arguments[parameter.name] = given
    one.debug = wants_checks(function, kernel)
    one.ready()
    one.watch = limits.watch(one, (*one.dtypes, *kernel.constants.items()))
    body = functools.partial(language().function(function), **arguments)
    if captured:
        _capture(one, body)
    try:
        with np.errstate(all="ignore"):
            lanes.run(body, one)
    except (Refused, OutOfBounds):
        raise
    except Exception as error:
        raise _compilation_error(function, error) from error
    limits.after(one)
    record.keep(function, one)


def wants_checks(function: Any, kernel: Kernel) -> bool:
    """Whether the compiler would keep the assertions of a kernel."""
    asked = os.environ.get("TRITON_DEBUG", "").lower() in ("1", "true", "on", "yes", "y")
    return asked or bool(getattr(kernel.metadata, "debug", None) or getattr(function, "debug", None))


def _compilation_error(function: Any, error: Exception) -> Exception:
    """What Triton's compiler would say: the line of the kernel, and the cause."""
    path, first = function.fn.__code__.co_filename, first_line(function)
    lines = [frame.lineno or first for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    if isinstance(error, CompilationError):
        return error
    node = ast.Pass(lineno=max(1, (lines[0] if lines else first) - first + 1), col_offset=0)
    return CompilationError(function.src, node, repr(error))


def _grid(grid: Any, bound: dict[str, Any]) -> tuple[int, int, int]:
    sizes = grid(bound) if callable(grid) else grid
    sizes = tuple(int(size) for size in (sizes if isinstance(sizes, (tuple, list)) else (sizes,)))
    if not 1 <= len(sizes) <= 3:
        raise ValueError("grid must have at most 3 dimensions")
    return (*sizes, 1, 1)[:3]


def _wait_for_stream() -> bool:
    """Whether an NPU graph captures what the current stream does."""
    import torch

    if not hasattr(torch, "npu") or not torch.npu.is_available():
        return False
    from jumar.emulate.inductor import launch as steps

    return steps.wait()


def _capture(one: Launch, body: Callable[[], Any]) -> None:
    """The launch as a step of the graph. A kernel may write to each of its tensors."""
    from jumar.emulate.inductor import launch as steps

    regions = dict(one.regions)

    def again() -> None:
        launched = Launch(one.kernel, one.grid)
        launched.regions = regions
        launched.ready()
        with np.errstate(all="ignore"):
            lanes.run(body, launched)

    steps.add_step(one.kernel, [(region.start, region.end - region.start) for region in regions.values()], again)


def _hooks() -> tuple[Any, Any]:
    """Hooks of profilers: since 3.4 among the knobs, before at the class of compiled kernels."""
    knobs = getattr(triton, "knobs", None)
    place = knobs.runtime if knobs is not None else triton.compiler.CompiledKernel
    return getattr(place, "launch_enter_hook", None), getattr(place, "launch_exit_hook", None)


def _told(kernel: Kernel, sizes: tuple[int, int, int], bound: dict[str, Any]) -> Any:
    """What hooks get: a mapping behind `get`."""
    facts = {"name": kernel.name, "function": None, "stream": 0, "grid": sizes}
    more = getattr(kernel.function, "launch_metadata", None)
    if more is not None:
        facts.update(more(sizes, kernel.metadata, bound))
    return types.SimpleNamespace(get=lambda: facts, data=facts)


def _bare(given: Any) -> Any:
    return given.value if isinstance(given, tl.constexpr) else given
