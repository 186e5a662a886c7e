"""Lightning on NPUs, real and emulated: `Trainer(**on_npu(devices=2))`.

Lightning has no accelerator for NPUs of its own, and `accelerator="auto"` means the CPU there. This module needs torch,
torch_npu and Lightning only, and may be copied into a project that does not want Jumar beside it.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import AbstractContextManager
from typing import Any

import torch

_NAMES = ("pytorch_lightning", "lightning.pytorch")


def _imported() -> Any:
    """The Lightning that the program uses: both packages may be installed, and their classes do not mix."""
    for name in sorted(_NAMES, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name)
        except ImportError as error:
            missing = error
    raise ImportError("jumar.lightning needs Lightning: `pip install lightning`") from missing


pl = _imported()
MisconfigurationException: Any = importlib.import_module(
    f"{pl.__name__}.utilities.exceptions"
).MisconfigurationException
Accelerator: Any = pl.accelerators.Accelerator
DDPStrategy: Any = pl.strategies.DDPStrategy
SingleDeviceStrategy: Any = pl.strategies.SingleDeviceStrategy
FSDPStrategy: Any = pl.strategies.FSDPStrategy
_precision = importlib.import_module(f"{pl.__name__}.plugins.precision")
MixedPrecision: Any = _precision.MixedPrecision
FSDPPrecision: Any = _precision.FSDPPrecision


class NPUAccelerator(Accelerator):  # type: ignore[misc]
    """The cards that torch_npu sees."""

    def setup_device(self, device: torch.device) -> None:
        if device.type != "npu":
            raise MisconfigurationException(
                f"The strategy put the model on `{device}`, not on an NPU: pass `**jumar.lightning.on_npu(...)`"
            )
        torch.npu.set_device(device)

    def get_device_stats(self, device: Any) -> dict[str, Any]:
        return dict(torch.npu.memory_stats(device))

    def teardown(self) -> None:
        torch.npu.empty_cache()

    @staticmethod
    def parse_devices(devices: int | str | list[int]) -> list[int]:
        """A number, a list of cards, or both as text: `2`, `-1` or `"auto"` for all, `"0,3"`."""
        if isinstance(devices, str) and "," in devices:
            return [int(word) for word in devices.split(",") if word.strip()]
        if isinstance(devices, (list, tuple)):
            return list(devices)
        count = NPUAccelerator.auto_device_count()
        wanted = count if devices == "auto" or int(devices) == -1 else int(devices)
        if wanted > count:
            raise MisconfigurationException(f"{wanted} NPUs were asked for, and there are {count}")
        return list(range(wanted))

    @staticmethod
    def get_parallel_devices(devices: list[int]) -> list[torch.device]:
        return [torch.device("npu", index) for index in devices]

    @staticmethod
    def auto_device_count() -> int:
        return torch.npu.device_count() if hasattr(torch, "npu") else 0

    @staticmethod
    def is_available() -> bool:
        return hasattr(torch, "npu") and bool(torch.npu.is_available())

    @staticmethod
    def name() -> str:
        return "npu"


class NPUStrategy(SingleDeviceStrategy):  # type: ignore[misc]
    """One card."""

    strategy_name = "npu"

    def __init__(self, device: Any = "npu:0", **kwargs: Any) -> None:
        super().__init__(device=device, **kwargs)


class NPUDDPStrategy(DDPStrategy):  # type: ignore[misc]
    """A process for each card; gradients are averaged by HCCL."""

    strategy_name = "npu_ddp"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(process_group_backend=kwargs.pop("process_group_backend", "hccl"), **kwargs)

    def _setup_model(self, model: Any) -> Any:
        return torch.nn.parallel.DistributedDataParallel(
            model, device_ids=self.determine_ddp_device_ids(), **self._ddp_kwargs
        )


class NPUFSDPStrategy(FSDPStrategy):  # type: ignore[misc]
    """A process for each card; parameters, gradients and optimizer state are shared out by FSDP."""

    strategy_name = "npu_fsdp"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(process_group_backend=kwargs.pop("process_group_backend", "hccl"), **kwargs)

    def setup_environment(self) -> None:
        shape = self.kwargs.pop("device_mesh", None)  # Lightning would make a mesh of CUDA devices
        super().setup_environment()
        if shape is not None:
            from torch.distributed.device_mesh import init_device_mesh

            self.kwargs["device_mesh"] = init_device_mesh("npu", shape) if isinstance(shape, tuple) else shape


class NPUFSDPPrecision(FSDPPrecision):  # type: ignore[misc]
    """Lightning's own would cast for CUDA."""

    def forward_context(self) -> AbstractContextManager[Any]:
        kind = {"16-mixed": torch.float16, "bf16-mixed": torch.bfloat16}.get(self.precision)
        return torch.autocast("npu", kind) if kind else super().forward_context()  # type: ignore[no-any-return]


def on_npu(
    devices: int | str | list[int] = 1, precision: str | None = None, strategy: str = "ddp", **more: Any
) -> dict[str, Any]:
    """Arguments of `Trainer`. Mixed precision is asked for here; `more` go to the strategy, `ddp` or `fsdp`."""
    cards = NPUAccelerator.parse_devices(devices)
    arguments = {"accelerator": NPUAccelerator(), "devices": cards}
    if strategy == "fsdp":
        return {**arguments, "strategy": NPUFSDPStrategy(**more), "plugins": [NPUFSDPPrecision(precision or "32-true")]}
    if strategy != "ddp":
        raise MisconfigurationException(f"`on_npu` knows the strategies `ddp` and `fsdp`, not `{strategy}`")
    arguments["strategy"] = NPUStrategy(f"npu:{cards[0]}") if len(cards) == 1 and not more else NPUDDPStrategy(**more)
    if precision in ("16-mixed", "bf16-mixed"):
        return {**arguments, "plugins": [MixedPrecision(precision, "npu")]}
    return arguments if precision is None else {**arguments, "precision": precision}
