"""Compilers of a card that the emulator has no counterpart of: refused by name, with the way out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from jumar.runtime import refusals
from jumar.runtime.refusals import Kind

WAY_OUT = (
    'use `torch.compile(model)`, with `mode="reduce-overhead"` for NPU graphs, or `backend="npugraph_ex"`;'
    " all three run on emulated cards"
)


def not_emulated(name: str, what: str, hint: str = WAY_OUT) -> NotImplementedError:
    """Says what is refused and what runs instead, in one text: torch and torchair make exceptions anew from it."""
    refusals.note(Kind.FUNCTION, name)
    return NotImplementedError(f"jumar: {what}\n\nhint: {hint}\n")


def generator(name: str) -> None:
    """Another of torch_npu's code generators: each calls a compiler of CANN's."""
    raise not_emulated(
        f"inductor:{name}",
        f"inductor's `{name}` backend needs a compiler of CANN, which is not emulated",
        'leave `TORCHINDUCTOR_NPU_BACKEND` and the option `npu_backend` at "default"',
    )


def cpp_wrapper() -> None:
    """Graphs that are called from C++ link with torch_npu and launch Triton's binaries."""
    raise not_emulated(
        "inductor:cpp_wrapper",
        "inductor's `cpp_wrapper` and AOTInductor launch binaries of a card, which is not emulated",
        "leave `cpp_wrapper` off; `torch.compile(model)` runs on emulated cards",
    )


_GRAPH_ENGINE = "torchair compiles with CANN's graph engine (GE), which is not emulated"


@contextmanager
def graph_engine() -> Iterator[None]:
    """While torchair is imported, which is linked with CANN's graph engine; not every release finds all it needs."""
    try:
        yield
    except ImportError as error:
        raise not_emulated("torchair", _GRAPH_ENGINE) from error


def graph_compilation(module: ModuleType) -> None:
    """What a graph of torchair, and so of `backend="npu"`, calls first; an import alone, as in vllm-ascend, is fine."""

    def initialize_graph_engine(*_: object, **__: object) -> None:
        raise not_emulated("torchair", _GRAPH_ENGINE)

    module.initialize_graph_engine = initialize_graph_engine  # type: ignore[attr-defined]


@contextmanager
def older_release() -> Iterator[None]:
    """While torch_npu's part of inductor is imported in a release before 2.12, which cannot do without Triton."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            "jumar: `torch.compile` with inductor runs on emulated cards from torch_npu 2.12 on\n\n"
            'hint: use `backend="aot_eager"` with this release, or a newer torch and torch_npu\n'
        ) from error


def without_compiler() -> None:
    """Kernels of compiled graphs are C++."""
    from torch._inductor import config

    wanted = config.cpp.cxx if isinstance(config.cpp.cxx, (tuple, list)) else (config.cpp.cxx,)
    names = [name for name in wanted if name]
    if not any(shutil.which(name) for name in names):
        raise RuntimeError(
            f"jumar: `torch.compile` needs a C++ compiler on the emulator, but `{names[-1]}` was not found\n\n"
            'hint: sudo apt install g++; or use `backend="aot_eager"`, which needs none\n'
        )
