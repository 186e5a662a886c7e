"""The accelerator of this machine under one name: an NPU, a CUDA card, or without either the CPU.

Written by `jumar migrate --to agnostic`. Use it like `torch.cuda`: `jumar_device.synchronize()`,
`jumar_device.Stream()`. On a machine with only a CPU the functions do nothing and memory figures are zero.
"""

import contextlib
import functools
import time

import torch

with contextlib.suppress(Exception):  # not installed, or another accelerator is in use
    import torch_npu  # noqa: F401


@functools.lru_cache(None)
def _find():
    """The device type and its module; the module is None on a machine with only a CPU."""
    npu = getattr(torch, "npu", None)
    if npu is not None and npu.is_available():
        return "npu", npu
    if torch.cuda.is_available():
        return "cuda", torch.cuda
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None and accelerator.is_available():
        kind = accelerator.current_accelerator().type
        return kind, torch.get_device_module(kind)
    return "cpu", None


def place(index=None):
    """The device string for a card: `npu:0`, `cuda:0` or `cpu`; takes a number, a string or a `torch.device`."""
    kind, module = _find()
    text = str(index)
    if text.startswith("cpu"):
        return text
    number = text.rpartition(":")[2]
    if module is None or not number.isdigit():
        return kind
    return f"{kind}:{number}"


def move(value, device=None, *args, **kwargs):
    """A tensor or module on the accelerator, like its method `cuda`."""
    return value.to(place(device), *args, **kwargs)


def is_on_accelerator(value):
    """Does a tensor live on the accelerator, like its attribute `is_cuda`?"""
    return _find()[1] is not None and value.device.type == _find()[0]


def tensor_type(name):
    """The full name of a tensor type such as `FloatTensor` on this machine."""
    kind, module = _find()
    return f"torch.{name}" if module is None else f"torch.{kind}.{name}"


def get_autocast_dtype():
    kind, module = _find()
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype(kind)
    if kind == "npu":
        return module.get_autocast_dtype()
    return torch.get_autocast_gpu_dtype() if kind == "cuda" else torch.get_autocast_cpu_dtype()


def set_autocast_dtype(dtype):
    kind, module = _find()
    if hasattr(torch, "set_autocast_dtype"):
        torch.set_autocast_dtype(kind, dtype)
    elif kind == "npu":
        module.set_autocast_dtype(dtype)
    elif kind == "cuda":
        torch.set_autocast_gpu_dtype(dtype)
    else:
        torch.set_autocast_cpu_dtype(dtype)


class _Stream:
    """A stream on a machine without one: everything has already happened."""

    def __init__(self, *args, **kwargs):
        self.device = torch.device("cpu")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def record_event(self, event=None):
        event = event or _Event()
        event.record()
        return event

    def wait_stream(self, stream):
        return None

    def wait_event(self, event):
        return None

    def synchronize(self):
        return None

    def query(self):
        return True


class _Event:
    """An event on a machine without one: it keeps the time."""

    def __init__(self, *args, **kwargs):
        self.at = time.perf_counter()

    def record(self, stream=None):
        self.at = time.perf_counter()

    def elapsed_time(self, end):
        return (end.at - self.at) * 1000.0

    def synchronize(self):
        return None

    def wait(self, stream=None):
        return None

    def query(self):
        return True


class _Block(contextlib.ContextDecorator):
    """A `with` block that changes nothing: `device(...)` and `stream(...)` without cards."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


def _constant(value):
    return lambda *args, **kwargs: value


_ON_NPU = {"CUDAGraph": "NPUGraph", "CUDAPluggableAllocator": "NPUPluggableAllocator"}
_ON_CPU = {
    "Event": _Event,
    "Stream": _Stream,
    "StreamContext": _Block,
    "amp": torch.cuda.amp,
    "current_stream": _Stream,
    "default_generators": (),
    "default_stream": _Stream,
    "device": _Block,
    "device_of": _Block,
    "get_device_capability": _constant((0, 0)),
    "get_device_name": _constant("cpu"),
    "get_rng_state": lambda *args, **kwargs: torch.get_rng_state(),
    "get_rng_state_all": list,
    "is_available": _constant(False),
    "is_bf16_supported": _constant(True),
    "is_current_stream_capturing": _constant(False),
    "is_initialized": _constant(False),
    "mem_get_info": _constant((0, 0)),
    "memory_snapshot": lambda *args, **kwargs: [],
    "memory_stats": lambda *args, **kwargs: {},
    "memory_stats_as_nested_dict": lambda *args, **kwargs: {},
    "memory_summary": _constant(""),
    "stream": _Block,
}
for _name in [
    "current_device",
    "device_count",
    "get_sync_debug_mode",
    "initial_seed",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "utilization",
]:
    _ON_CPU[_name] = _constant(0)
for _name in [
    "_lazy_init",
    "empty_cache",
    "init",
    "ipc_collect",
    "manual_seed",
    "manual_seed_all",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "synchronize",
]:
    _ON_CPU[_name] = _constant(None)
_IN_AMP = ("autocast", "GradScaler", "custom_fwd", "custom_bwd")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    kind, module = _find()
    if name == "DEVICE":
        return kind
    if name == "ACCELERATOR":
        return "cuda" if module is None else kind
    if name in _IN_AMP:
        return getattr(__getattr__("amp"), name)
    spelled = _ON_NPU.get(name, name) if kind == "npu" else name
    if module is not None and hasattr(module, spelled):
        return getattr(module, spelled)
    if name in _ON_CPU:
        return _ON_CPU[name]
    if name.endswith(("Tensor", "Storage")) and hasattr(torch, name):
        return getattr(torch, name)
    raise AttributeError(f"there is no counterpart of `torch.cuda.{name}` on `{kind}`")
