"""For `jumar run --on cpu`: lets MindSpore programs that name Ascend or GPU run on its CPU target, unedited.

Python reads this at start because its folder is first in PYTHONPATH; it belongs to the interpreter of the program, so
it uses the standard library only, and hands on to the `sitecustomize` it hides.
"""

import importlib.machinery
import importlib.util
import os
import sys

_TARGET = os.environ.get("JUMAR_MINDSPORE_TARGET", "")
_HERE = os.path.dirname(os.path.abspath(__file__))


def _hand_on():
    rest = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _map(context):
    """Replaces what MindSpore itself calls for each way to choose a device."""
    # A property of the class that set_context, set_device and __init__ of the context all go through.
    own = context._Context.set_device_target

    def set_device_target(self, target):
        own(self, _TARGET if target in ("Ascend", "GPU", "Davinci") else target)

    context._Context.set_device_target = set_device_target
    table = context._Context.setters
    if "device_target" in table:
        table["device_target"] = set_device_target


class _Loader:
    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        _map(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Watch:
    """Waits for the one module of MindSpore that knows the device."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "mindspore.context":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


if _TARGET:
    sys.meta_path.insert(0, _Watch)
_hand_on()
