"""Runs at interpreter start (jumar_emulate.pth): waits for `import torch`, then makes the stand-ins ready.

On the emulated machine it also finds stand-ins of the vendor's Python modules, after everything else.

torch loads an installed torch_npu by itself and fails where CANN is missing; a library that is loaded already
under the same name satisfies the loader. Nothing else is imported here: programs without torch must not
notice.
"""

from __future__ import annotations

import os
import sys


class _Watch:
    """An import hook that looks at two names and finds nothing itself."""

    busy = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name not in ("torch", "torch_npu") or self.busy:
            return None
        from jumar.emulate import hook

        self.busy = True  # looking for torch_npu below comes back here
        try:
            if name == "torch_npu":
                return hook.find_torch_npu()
            hook.before_torch()
            return hook.find_torch()
        finally:
            self.busy = False


class _Last:
    """Finds the vendor's modules in our folder, when no real one was found."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if path is not None or os.environ.get("JUMAR_EMULATE") == "0":
            return None
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, [self.folder])


if not any(isinstance(finder, _Watch) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Watch())  # type: ignore[arg-type]
if os.environ.get("JUMAR_MODULES") and not any(isinstance(finder, _Last) for finder in sys.meta_path):
    sys.meta_path.append(_Last(os.environ["JUMAR_MODULES"]))  # type: ignore[arg-type]
