"""Makes a machine differ on purpose: loaded by every Python that has this folder on its path.

`PLANTED` names the differences. They are put between torch and the card, where the driver, CANN or a chip would be
wrong; the emulator's side of a self-test has neither the variable nor the path.
"""

import ctypes
import os
import random
import signal
import time
import warnings

from jumar.runtime.hooks.imports import Hook, on_import

NAMES = set(os.environ.get("PLANTED", "").split(","))
PLANTS = {}


def plant(*operators):
    """A function that gets the call, the arguments and the result of these operators on a card."""

    def keep(function):
        if function.__name__ in NAMES:
            PLANTS.update(dict.fromkeys(operators, function))
        return function

    return keep


@plant("mm", "addmm", "bmm")
def coarse(torch, call, args, options, done):
    """Products with operands in bfloat16."""
    kept = [a.bfloat16().to(a.dtype) if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]
    return call(*kept, **options)


@plant("sqrt")
def truncated(torch, call, args, options, done):
    """Float16 is rounded towards 0."""
    if done.dtype is not torch.float16:
        return done
    wide = call(args[0].float())
    away = done.float().abs() > wide.abs()
    return torch.where(
        away, torch.nextafter(done.float(), torch.zeros_like(wide)).to(torch.float16) - done * 2**-11, done
    )


@plant("gelu")
def wrong(torch, call, args, options, done):
    """Another function than the one that was asked for."""
    return torch.nn.functional.silu(args[0])


@plant("cat")
def last_value(torch, call, args, options, done):
    """One value of a join is not written."""
    done.view(-1)[-1] = 0
    return done


@plant("mean")
def wider(torch, call, args, options, done):
    """Halves give float32."""
    return done.float()


@plant("tanh")
def not_a_number(torch, call, args, options, done):
    done.view(-1)[7] = float("nan")
    return done


@plant("cumsum")
def turned(torch, call, args, options, done):
    """Columns where rows should be."""
    return done.t().contiguous().t() if done.dim() == 2 else done


@plant("mul")
def trembling(torch, call, args, options, done):
    """Another result each time."""
    return done * (1 + random.random() * 1e-2) if done.is_floating_point() else done


@plant("npu_rms_norm")
def refused(torch, call, args, options, done):
    raise RuntimeError("npu_rms_norm: the operator package of this chip is missing")


@plant("sort")
def hangs(torch, call, args, options, done):
    time.sleep(3600)


@plant("topk")
def dies(torch, call, args, options, done):
    os.kill(os.getpid(), signal.SIGSEGV)


@plant("mm", "addmm", "bmm", "add")
def slow(torch, call, args, options, done):
    time.sleep(0.02)
    return done


@plant("mm", "addmm", "bmm")
def slow_second(torch, call, args, options, done):
    """Only the second card."""
    if done.device.index == 1:
        time.sleep(0.02)
    return done


@plant("floor")
def on_the_cpu(torch, call, args, options, done):
    warnings.warn("CAUTION: The operator 'aten::floor.out' is not currently supported on the NPU backend and will "
                  "fall back to run on the CPU. This may have performance implications.", stacklevel=2)  # fmt: skip
    return done


def changed(torch_npu):
    """Everything that runs on a card goes through here."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Changed(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            done = func(*args, **(kwargs or {}))
            name = func.__name__.split(".")[0].rstrip("_")
            function = PLANTS.get(name)
            if function is None or _device(done) != "npu":
                return done
            result = function(torch, func, args, kwargs or {}, done)
            return args[0].copy_(result) if func.__name__.split(".")[0].endswith("_") else result

    def _device(done):
        first = done[0] if isinstance(done, (tuple, list)) else done
        return first.device.type if isinstance(first, torch.Tensor) else ""

    if PLANTS:
        Changed().__enter__()
    if "counts_twice" in NAMES:
        count = torch.npu.memory_allocated
        torch.npu.memory_allocated = lambda *a: 2 * count(*a)
    if "sums_for_max" in NAMES:
        reduce = torch.distributed.all_reduce
        torch.distributed.all_reduce = lambda tensor, op=None, *a, **k: reduce(tensor)


def no_library(*_):
    raise ImportError("libhccl.so: cannot open shared object file: No such file or directory")


if "no_library" in NAMES:
    on_import("torch_npu._C", Hook(before=no_library))
if "no_opapi" in NAMES:
    opened = ctypes.CDLL

    def closed(name, *args, **options):
        if name == "libopapi.so":
            raise OSError("libopapi.so: cannot open shared object file: No such file or directory")
        return opened(name, *args, **options)

    ctypes.CDLL = closed
if NAMES:
    on_import("torch_npu", Hook(after=changed))
