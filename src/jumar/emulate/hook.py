"""What happens around `import torch` and `import torch_npu` on a machine without NPUs."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

from jumar.core.errors import UserError
from jumar.emulate import env
from jumar.tables import tested


def before_torch() -> None:
    """Loads the stand-ins when torch_npu is installed and nothing real is there."""
    if env.wanted(os.environ) and importlib.util.find_spec("torch_npu") is not None:
        prepare()


def prepare() -> None:
    """Sets what torch_npu reads at import, and loads every stand-in under the vendor's name."""
    import ctypes

    os.environ.update(env.settings(os.environ))
    for library in env.libraries():
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def find_torch() -> ModuleSpec | None:
    """The spec of torch; for `jumar run --cuda` or `--profile`, with a loader that does what comes after the import."""
    if os.environ.get("JUMAR_CUDA") != "1" and not os.environ.get("JUMAR_AFTER_TORCH") and not env.wanted(os.environ):
        return None
    spec = importlib.util.find_spec("torch")
    if spec is not None and spec.loader is not None:
        spec.loader = _AfterTorch(spec.loader)
    return spec


def find_torch_npu() -> ModuleSpec | None:
    """The spec of torch_npu, with a loader that connects the glue once the module has run."""
    if not env.wanted(os.environ):
        return None
    spec = importlib.util.find_spec("torch_npu")
    if spec is not None and spec.loader is not None:
        prepare()
        spec.loader = _Connecting(spec.loader)
    return spec


def _mismatch() -> UserError | None:
    """Wheels of two versions fail in many ways at import; this is the one thing worth saying about it."""
    torch, npu = metadata.version("torch").split("+")[0], metadata.version("torch_npu").split("+")[0]
    if env.base_version(npu) == env.base_version(torch):
        return None
    error = UserError(f"torch {torch} and torch_npu {npu} do not belong together", hint=tested.pair_hint())
    error.add_note(f"hint: {tested.pair_hint()}")
    return error


@contextmanager
def _uncollected() -> Iterator[None]:
    """torch and torch_npu make 270,000 objects that all stay: searching them for garbage takes half a second.

    They are not searched later either, as after `gc.freeze()` in the program itself.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()


class _Wrapped(Loader):
    """A loader that does something more once the module has run."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def __getattr__(self, name: str) -> object:
        # Resources and source of the package are asked of the real loader.
        return getattr(self._loader, name)


class _Connecting(_Wrapped):
    def exec_module(self, module: ModuleType) -> None:
        try:
            with _uncollected():
                self._loader.exec_module(module)
        except Exception as error:
            if mismatch := _mismatch():
                raise mismatch from error
            raise
        from jumar.emulate.glue import load

        load.connect()


class _AfterTorch(_Wrapped):
    """torch_npu's run-time migration, and a module that the command line wants imported in the program."""

    def exec_module(self, module: ModuleType) -> None:
        with _uncollected():
            self._loader.exec_module(module)
        if os.environ.get("JUMAR_CUDA") == "1":
            importlib.import_module("torch_npu.contrib.transfer_to_npu")
        if wanted := os.environ.get("JUMAR_AFTER_TORCH"):
            importlib.import_module(wanted)
