"""Inductor's C++ code generation for the device `npu`: a card's memory is host memory here.

Kernels are those of inductor's CPU backend; what they are given are tensors of the card, and each call goes through
launch.py, which keeps the order of the stream and takes part in NPU graphs. Operators that inductor does not generate
(matrix products, convolutions) are called as on a card, through torch_npu.
"""

from __future__ import annotations

from typing import Any

from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen
from torch._inductor.virtualized import V

from jumar.emulate.inductor import bools, refuse, updates, user_kernels

_IMPORTS = """
from jumar.emulate.inductor.launch import launch as launch_on_card
from jumar.emulate.inductor.user_kernels import load as launch_user_kernels
"""


class CardScheduling(CppScheduling):  # type: ignore[misc]
    """The fusion and the kernels of inductor's C++ backend."""

    kernel_proxy_cls = bools.CardKernels

    def __init__(self, scheduler: Any) -> None:
        refuse.without_compiler()
        super().__init__(scheduler)


class _Calls:
    """How the code that inductor writes defines and calls a kernel of a card."""

    def define_kernel(self, kernel_name: str, kernel_body: str, *words: Any, **named: Any) -> Any:
        body = bools.with_store(user_kernels.launched(kernel_body))
        return super().define_kernel(kernel_name, body, *words, **named)  # type: ignore[misc]

    def codegen_device_guard_exit(self) -> Any:
        _end_kernels()
        return super().codegen_device_guard_exit()  # type: ignore[misc]

    def codegen_cuda_stream_enter(self, *words: Any, **named: Any) -> Any:
        _end_kernels()
        return super().codegen_cuda_stream_enter(*words, **named)  # type: ignore[misc]

    def codegen_cuda_stream_exit(self) -> Any:
        _end_kernels()
        return super().codegen_cuda_stream_exit()  # type: ignore[misc]

    def generate_fallback_kernel(self, node: Any) -> Any:
        """Events are such calls; they have no device, and inductor ends no kernel for them."""
        _end_kernels()
        updates.note(self, node)
        return super().generate_fallback_kernel(node)  # type: ignore[misc]

    def generate_extern_kernel_alloc(self, node: Any) -> Any:
        updates.note(self, node)
        return super().generate_extern_kernel_alloc(node)  # type: ignore[misc]

    def generate_after_suffix(self, result: Any) -> None:
        super().generate_after_suffix(result)  # type: ignore[misc]
        updates.write(self, result)

    def _generate_kernel_call_helper(self, kernel_name: str, call_args: Any, **named: Any) -> Any:
        device = named.get("device") or V.graph.get_current_device_or_throw()
        if device.type != "npu":
            return super()._generate_kernel_call_helper(kernel_name, call_args, **named)  # type: ignore[misc]
        if named.get("triton", True):
            return self._call_user_kernel(kernel_name, call_args, named["raw_keys"])
        written = tuple(at for at, kind in enumerate(named["arg_types"]) if writes(kind))
        call = ", ".join([kernel_name, str(written), *map(str, call_args)])
        return self.writeline(f"launch_on_card({call})")  # type: ignore[attr-defined]

    def _call_user_kernel(self, name: str, call_args: Any, keys: list[str]) -> Any:
        """Arguments by name; those without one are for the grid."""
        words = self.prepare_triton_kernel_call(call_args)  # type: ignore[attr-defined]
        given = ", ".join(f"{key!r}: {word}" for key, word in zip(keys, words) if key)
        launcher = "".join(f"{word}, " for key, word in zip(keys, words) if not key)
        return self.writeline(f"{name}.run({{{given}}}, ({launcher}))")  # type: ignore[attr-defined]


def _end_kernels() -> None:
    """Inductor gathers loops into one kernel: its call must stay within the part of its card and stream."""
    for backend in V.graph.scheduler.backends.values():
        backend.flush()


def writes(kind: str) -> bool:
    """Whether a kernel writes to an argument of this C++ type."""
    return kind.endswith("*") and not kind.startswith("const ")


class CardWrapper(_Calls, PythonWrapperCodegen):  # type: ignore[misc]
    """The Python that calls the kernels of a graph."""

    @staticmethod
    def create(is_subgraph: bool, subgraph_name: Any, parent_wrapper: Any, *signature: Any, **named: Any) -> Any:
        if is_subgraph:
            return _CardSubgraph(subgraph_name, parent_wrapper, *signature, **named)
        return CardWrapper()

    def write_header(self) -> None:
        super().write_header()
        self.imports.splice(_IMPORTS)


class _CardSubgraph(_Calls, SubgraphPythonWrapperCodegen):  # type: ignore[misc]
    pass


class NoCppWrapper:
    """In the place of code that calls kernels from C++: `cpp_wrapper` and AOTInductor."""

    supports_caching = False

    @staticmethod
    def create(*_: Any, **__: Any) -> Any:
        refuse.cpp_wrapper()
