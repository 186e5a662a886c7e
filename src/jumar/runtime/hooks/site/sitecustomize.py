"""Changes MindSpore in the interpreter of the user's program; `jumar run` and the jobs of the cloud stand-in need it.

Python reads this at start because its folder is first in PYTHONPATH. The interpreter need not have Jumar, so the
modules beside it are loaded by their paths; then the `sitecustomize` that this one hides is run.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def _load(name: str) -> Any:
    path = os.path.join(os.path.dirname(_HERE), f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"jumar_{name}", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _hand_on() -> None:
    rest = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("JUMAR_MINDSPORE_TARGET"):
    _imports = _load("imports")
    _target, _changes = os.environ["JUMAR_MINDSPORE_TARGET"], _load("mindspore")
    _all = {**_changes.changes(_target), **_load("mindspore_sink").changes(_target, _changes.say)}
    for _name, _change in _all.items():
        _imports.on_import(_name, _imports.Hook(after=_change))
_hand_on()
