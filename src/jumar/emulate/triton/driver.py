"""The driver that Triton finds active: the emulated card as triton-ascend describes a real one."""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from jumar.runtime import variables
from jumar.tables import socs

_CACHE_BYTES = 1 << 20
"""A card's cache is emptied between runs of a benchmark; this has none."""


class Utilities:
    """What programs ask `driver.active.utils`."""

    def get_device_properties(self, device: object = None) -> dict[str, int]:
        return {
            "max_shared_mem": 1,
            "num_aicore": self.get_aicore_num(),
            "num_vectorcore": self.get_aivector_core_num(),
        }

    def get_aicore_num(self) -> int:
        return int(chip()["cube_core"])

    def get_aivector_core_num(self) -> int:
        return int(chip()["vector_core"])

    def get_arch(self) -> str:
        return variables.SOC.read()

    def load_binary(self, *_: Any) -> None:
        raise RuntimeError("the emulated card runs kernels from their Python text: there is no binary to load")


class EmulatedDriver(DriverBase):
    """Has the methods of all versions: each calls those it knows."""

    def __init__(self) -> None:
        self.utils = Utilities()
        self.binary_ext = "npubin"

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> Any:
        return GPUTarget("npu", self.utils.get_arch(), 0)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("npu", self.get_current_device())

    def get_current_device(self) -> int:
        import torch

        return int(torch.npu.current_device())

    def set_current_device(self, device: int) -> None:
        import torch

        torch.npu.set_device(device)

    def get_current_stream(self, device: int | None = None) -> int:
        import torch

        return int(torch.npu.current_stream(device).npu_stream)

    def get_device_interface(self) -> Any:
        import torch

        return torch.npu

    def get_device_capability(self, *_: Any) -> tuple[int, int]:
        return (0, 0)

    def get_benchmarker(self) -> Any:
        from triton.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(_CACHE_BYTES, dtype=torch.int8, device="npu")

    def clear_cache(self, cache: Any) -> None:
        cache.zero_()


def chip() -> dict[str, Any]:
    """What is known of the chip that this process emulates."""
    return socs.socs()[variables.SOC.read()]
