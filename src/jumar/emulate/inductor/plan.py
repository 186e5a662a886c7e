"""Where inductor asks what kind of device it plans for, a card is a processor: its kernels are C++ over host memory.

Inductor has no such hook: it compares names of devices in several places. Each of these is named here once; what is
not code generation (guards, streams, graphs) keeps treating the card as a card.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from torch._inductor import config, ir, scheduler, utils
from torch._inductor.codegen import common
from torch._inductor.virtualized import V


def for_processor() -> None:
    """Idempotent: torch_npu loads a generator again when a program has used another one."""
    # Asked before a generator for a card is made: Triton is not needed for this one.
    scheduler.has_triton = lambda: True
    # Triton wants loops apart, to find another order for them; C++ wants them merged, as on the CPU.
    config.loop_ordering_after_fusion = False
    scheduler.BaseSchedulerNode.is_cpu = _runs_on_processor
    if getattr(ir.get_device_type, "__wrapped__", None) is None:
        ir.get_device_type = _as_processor(ir.get_device_type)
    if getattr(utils.get_current_backend, "__wrapped__", None) is None:
        utils.get_current_backend = common.get_current_backend = _as_cpp(utils.get_current_backend)
    if getattr(ir.ComputedBuffer.constant_to_device, "__wrapped__", None) is None:
        ir.ComputedBuffer.constant_to_device = _of_full_size(ir.ComputedBuffer.constant_to_device)


def _runs_on_processor(node: Any) -> bool:
    """Loops of C++ kernels are not put into another order to fuse them."""
    device = node.get_device()
    return device is not None and device.type in ("cpu", "npu")


def _as_processor(original: Any) -> Any:
    """How much is computed again instead of stored, and which index `argmax` returns (lowering.py)."""

    @functools.wraps(original)
    def get_device_type(x: Any) -> Any:
        found = original(x)
        return "cpu" if found == "npu" else found

    return get_device_type


def _as_cpp(original: Any) -> Any:
    """Data types of what kernels compute in between: C++ and Triton differ."""

    @functools.wraps(original)
    def get_current_backend(device_type: Any = None) -> Any:
        device_type = device_type or V.graph.get_current_device_or_throw().type
        return original("cpu" if device_type == "npu" else device_type)

    return get_current_backend


def _of_full_size(original: Any) -> Any:
    """`torch.empty` of the host is a loop over nothing; moved to a card, inductor makes a tensor of the loop's size."""

    @functools.wraps(original)
    def constant_to_device(buffer: Any, device: Any) -> Any:
        if not buffer.has_tensor_output() or list(buffer.data.get_size()) == list(buffer.get_size()):
            return original(buffer, device)
        return dataclasses.replace(buffer.data, ranges=list(buffer.get_size())).constant_to_device(device)

    return constant_to_device
