"""Lightning on NPUs, real and emulated: `Trainer(**on_npu(devices=2))`.

Lightning has no accelerator for NPUs of its own, and `accelerator="auto"` means the CPU there. This module needs torch,
torch_npu and Lightning only, and may be copied into a project that does not want Jumar beside it.
"""

from __future__ import annotations

import importlib
import sys
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
MixedPrecision: Any = importlib.import_module(f"{pl.__name__}.plugins.precision").MixedPrecision


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
        """A number, a list of cards, or both as text: `2`, `-1` for all, `"0,3"`."""
        if isinstance(devices, str) and "," in devices:
            return [int(word) for word in devices.split(",") if word.strip()]
        if isinstance(devices, (list, tuple)):
            return list(devices)
        count = NPUAccelerator.auto_device_count()
        wanted = count if int(devices) == -1 else int(devices)
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


def on_npu(devices: int | str | list[int] = 1, precision: str | None = None, **ddp: Any) -> dict[str, Any]:
    """Arguments of `Trainer`. Mixed precision is asked for here; `ddp` are arguments of DistributedDataParallel."""
    cards = NPUAccelerator.parse_devices(devices)
    one = len(cards) == 1 and not ddp
    strategy = NPUStrategy(f"npu:{cards[0]}") if one else NPUDDPStrategy(**ddp)
    arguments = {"accelerator": NPUAccelerator(), "devices": cards, "strategy": strategy}
    if precision in ("16-mixed", "bf16-mixed"):
        return {**arguments, "plugins": [MixedPrecision(precision, "npu")]}
    return arguments if precision is None else {**arguments, "precision": precision}
