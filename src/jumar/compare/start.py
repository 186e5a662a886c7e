"""Runs at interpreter start (jumar_record.pth) in programs that `jumar compare record` started, and waits for torch."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

VARIABLE = "JUMAR_RECORD"


class _Watch:
    """An import hook that looks at one name and finds nothing itself."""

    busy = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "torch" or self.busy:
            return None
        self.busy = True  # looking for torch below comes back here
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Recording(spec.loader)
        return spec


class _Recording(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        from jumar.compare import child

        child.begin(os.environ[VARIABLE])

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


if VARIABLE in os.environ:
    sys.meta_path.insert(0, _Watch())
