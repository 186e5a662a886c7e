"""Loaded by every Python of a MindSpore job of the stand-in: with `--on cpu` a script gets MindSpore's CPU device.

This is the whole mapping, and it works only while `JUMAR_MINDSPORE_TARGET` is `CPU`: the device of `set_context` and
`set_device`; `init()`, which on the platform reads a rank table and here meets at MindSpore's own scheduler; mixed
precision, which the CPU device refuses. On `Ascend` too: the number of data workers, because the platform has more
cores than this machine. It needs nothing but Python 3.7.
"""

from __future__ import annotations

import atexit
import functools
import importlib.abc
import importlib.machinery
import os
import subprocess
import sys
import time
from types import ModuleType
from typing import Any

TARGET = os.environ.get("JUMAR_MINDSPORE_TARGET", "")
MEET = "JUMAR_MINDSPORE_MEET"
"""Folder in which the processes of a job say that they have ended; set where there is more than one."""
PORT = "JUMAR_MINDSPORE_PORT"
PATIENCE = 60.0


def patch_context(module: Any) -> None:
    real = module.set_context

    @functools.wraps(real)
    def set_context(**given: Any) -> Any:
        if given.get("device_target") in ("Ascend", "GPU", "Davinci"):
            given["device_target"] = TARGET
        return real(**given)

    module.set_context = set_context


def patch_device_manager(module: Any) -> None:
    real = module.set_device

    @functools.wraps(real)
    def set_device(device_target: str, device_id: int | None = None) -> Any:
        return real(TARGET, device_id)

    module.set_device = set_device


def patch_validators(module: Any) -> None:
    """`num_parallel_workers=8` is right on the platform; MindSpore refuses more than this machine has cores."""
    real = module.check_num_parallel_workers

    @functools.wraps(real)
    def check_num_parallel_workers(value: Any) -> Any:
        return None if isinstance(value, int) and value > 1 else real(value)

    module.check_num_parallel_workers = check_num_parallel_workers


def patch_datasets(module: Any) -> None:
    real = module.Dataset.__init__

    @functools.wraps(real)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:
        real(self, *arguments, **given)
        if self.num_parallel_workers:
            self.num_parallel_workers = min(self.num_parallel_workers, os.cpu_count() or 1)

    module.Dataset.__init__ = __init__


def patch_amp(module: Any) -> None:
    """`amp_level="O2"` is right on the platform; the CPU device computes in float32 and cannot skip steps."""
    real = module.build_train_network

    @functools.wraps(real)
    def build_train_network(network: Any, optimizer: Any, loss_fn: Any = None, *levels: Any, **given: Any) -> Any:
        return real(network, optimizer, loss_fn, **dict(_in_float32(given), level="O0"))

    module.build_train_network = build_train_network


def patch_model(module: Any) -> None:
    real = module.Model.__init__

    @functools.wraps(real)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:
        real(self, *arguments, **_in_float32(given))

    module.Model.__init__ = __init__


def _in_float32(given: dict[str, Any]) -> dict[str, Any]:
    """Without what belongs to mixed precision; a loss scale that skips steps is not needed there."""
    kept = {name: value for name, value in given.items() if name not in ("amp_level", "keep_batchnorm_fp32")}
    manager = kept.get("loss_scale_manager")
    if manager is not None and manager.get_drop_overflow_update():
        del kept["loss_scale_manager"]
    return kept


def patch_management(module: Any) -> None:
    real = module.init

    @functools.wraps(real)
    def init(backend_name: str | None = None) -> Any:
        role = os.environ.get("MS_ROLE")
        if role:
            if role == "MS_WORKER":
                atexit.register(_leave_together)
            return real()
        if os.environ.get("RANK_SIZE", "1") == "1":
            os.environ.update(_cluster(1, _free_port()))
            _start_scheduler()
            return real()
        os.environ.update(_cluster(int(os.environ["RANK_SIZE"]), os.environ[PORT]))
        if os.environ["RANK_ID"] == "0":
            _start_scheduler()
        atexit.register(_leave_together)
        return real()

    module.init = init


_WORKERS = {
    "mindspore.dataset.engine.datasets": patch_datasets,
    "mindspore.dataset.core.validator_helpers": patch_validators,
}
_CPU = {
    "mindspore.context": patch_context,
    "mindspore.device_manager": patch_device_manager,
    "mindspore.communication.management": patch_management,
    "mindspore.train.amp": patch_amp,
    "mindspore.train.model": patch_model,
}
PATCHES = {**_WORKERS, **_CPU} if TARGET == "CPU" else _WORKERS
"""On the emulated Ascend only the number of data workers is changed."""


def _cluster(count: int, port: object) -> dict[str, str]:
    return {
        "MS_WORKER_NUM": str(count),
        "MS_SCHED_HOST": "127.0.0.1",
        "MS_SCHED_PORT": str(port),
        "MS_NODE_ID": os.environ.get("RANK_ID", "0"),
        "MS_TOPO_TIMEOUT": "600",
        "MS_ROLE": "MS_WORKER",
    }


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start_scheduler() -> None:
    """In the process group of this rank, so that it ends with the job."""
    command = "from mindspore.communication import init; init()"
    environment = dict(os.environ, MS_ROLE="MS_SCHED")
    subprocess.Popen(
        [sys.executable, "-c", command], env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _leave_together() -> None:
    """MindSpore's CPU device has no barrier, and a rank fails when another leaves in the middle of an exchange."""
    folder = os.environ.get(MEET, "")
    if hasattr(sys, "last_type") or not os.path.isdir(folder):
        # After an error the platform ends the others.
        return
    with open(os.path.join(folder, os.environ["RANK_ID"]), "w"):
        pass
    end = time.time() + PATIENCE
    while len(os.listdir(folder)) < int(os.environ["RANK_SIZE"]) and time.time() < end:
        time.sleep(0.05)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        if name not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        real = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            real(module)
            PATCHES[name](module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if TARGET:
    sys.meta_path.insert(0, _Finder())
