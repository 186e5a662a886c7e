"""For `jumar run`: what MindSpore programs must be spared, unedited, on a machine without an NPU.

With `--on cpu`, programs that name Ascend or GPU get the CPU target. On the emulated machine there is no queue from
the host's data set into the graph (data sinking): batches are handed over one by one; and there is no operator
compiler, whose package MindSpore misses in loud words whenever a device is chosen.

Python reads this at start because its folder is first in PYTHONPATH; it belongs to the interpreter of the program, so
it uses the standard library only, and hands on to the `sitecustomize` it hides.
"""

from __future__ import annotations

import atexit
import functools
import importlib.machinery
import importlib.util
import os
import sys
import time
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_TARGET = os.environ.get("JUMAR_MINDSPORE_TARGET", "")
_GRACE = 2.0
_HERE = os.path.dirname(os.path.abspath(__file__))


def _hand_on() -> None:
    rest = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _unsunk(module: Any) -> None:
    """What MindSpore itself does on its CPU target, with as many steps as `sink_size` asks for."""
    model = module.Model

    def train(
        self: Any, epoch: int, train_dataset: Any, list_callback: Any = None, cb_params: Any = None,
        sink_size: int = -1, initial_epoch: int = 0, valid_infos: Any = None,
    ) -> None:  # fmt: skip
        _say_unsunk()
        if sink_size > 0:
            size = train_dataset.get_dataset_size()
            epoch = initial_epoch + -(-(epoch - initial_epoch) * sink_size // size)
        self._train_process(epoch, train_dataset, list_callback, cb_params, initial_epoch, valid_infos)

    def evaluate(self: Any, valid_dataset: Any, *args: Any, **kwargs: Any) -> Any:
        _say_unsunk()
        return self._eval_process(valid_dataset, *args, **kwargs)

    model._train_dataset_sink_process, model._eval_dataset_sink_process = train, evaluate


def _no_compiler(module: Any) -> None:
    """The words come while MindSpore is imported, before anything of it could be changed."""
    missed = ("No module named 'te'", 'relies on whl package "te"')
    module._get_logger().addFilter(lambda record: not any(text in record.getMessage() for text in missed))


@functools.cache
def _say_unsunk() -> None:
    print(
        "jumar: data sinking is not emulated: batches are handed over one by one, and callbacks see every step",
        file=sys.stderr,
    )


def _target(name: str) -> str:
    return _TARGET if name in ("Ascend", "GPU", "Davinci") else name


def _context(module: Any) -> None:
    """`set_context` and `Context` both go through one setter of the class."""
    own = module._Context.set_device_target

    def set_device_target(self: Any, target: str) -> None:
        own(self, _target(target))

    module._Context.set_device_target = set_device_target
    module._Context.setters["device_target"] = set_device_target


def _device(module: Any) -> None:
    own = module.set_device

    @functools.wraps(own)
    def set_device(device_target: str, device_id: int | None = None) -> None:
        # The CPU has one device: the number of a card has no meaning there.
        own(_target(device_target), None if _target(device_target) == "CPU" else device_id)

    module.set_device = set_device


def _communication(module: Any) -> None:
    own = module.init

    @functools.wraps(own)
    def init(backend_name: str | None = None) -> None:
        own(None if backend_name in ("hccl", "nccl") else backend_name)
        # MindSpore has no barrier on the CPU: a rank that ends at once cuts off one that still receives.
        atexit.register(time.sleep, _GRACE)

    module.init = init


_CPU = {
    "mindspore.context": _context,
    "mindspore.device_manager": _device,
    "mindspore.communication.management": _communication,
}
_ASCEND = {"mindspore.log": _no_compiler, "mindspore.train.model": _unsunk}
_CHANGES = {"": {}, "CPU": _CPU}.get(_TARGET, _ASCEND)


class _Loader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _CHANGES[module.__name__](module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Watch:
    """Waits for the modules of MindSpore that are changed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _CHANGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


if _CHANGES:
    sys.meta_path.insert(0, _Watch)
_hand_on()
