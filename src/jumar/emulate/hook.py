"""What happens around `import torch` and `import torch_npu` on the emulated machine; jumar/start.py registers it.

torch loads an installed torch_npu by itself and fails where CANN is missing; a library that is loaded already under the
same name satisfies the loader.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from jumar.core.compat import add_note
from jumar.runtime import variables


def before_torch() -> None:
    """Load the stand-ins where torch_npu is installed: torch imports it by itself."""
    if importlib.util.find_spec("torch_npu") is not None:
        before_torch_npu()
        if _wanted():
            from jumar.emulate import allocator_keys

            allocator_keys.keep()


def before_torch_npu() -> None:
    """Set what torch_npu reads at import, and load every stand-in under the vendor's name."""
    if not _wanted():
        return
    import ctypes

    from jumar.emulate import env

    os.environ.update(env.settings(os.environ))
    for library in env.libraries():
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def before_torch_npu_library() -> None:
    """The compiled part of torch_npu comes after torch, whichever of both a program imports first."""
    if _wanted():
        from jumar.emulate import allocator_keys

        allocator_keys.restore()


@contextmanager
def uncollected() -> Iterator[None]:
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


@contextmanager
def telling_mismatch() -> Iterator[None]:
    """Wheels of two versions fail in many ways at import: the error gets one line that names the cause."""
    try:
        with uncollected():
            yield
    except Exception as error:
        if mismatch := _mismatch():
            raise mismatch from error
        raise


def after_torch_npu(_: ModuleType) -> None:
    """Connect the glue, which is built and installed when a program first touches an NPU."""
    if _wanted():
        from jumar.emulate.glue import load

        load.connect()
        os.register_at_fork(after_in_child=_compute_alone)


def _compute_alone() -> None:
    """A child has none of the threads that its parent computed with, and kernels would wait for them for ever.

    A card computes by itself, so programs such as vLLM fork after they used torch on the CPU.
    """
    sys.modules["torch"].set_num_threads(1)


def _wanted() -> bool:
    """These hooks are there because emulation is on; a program can still switch it off before it imports torch."""
    return variables.EMULATE.text() != "0"


def _mismatch() -> Exception | None:
    from importlib import metadata

    from jumar.emulate import env, pair

    torch, npu = metadata.version("torch").split("+")[0], metadata.version("torch_npu").split("+")[0]
    if env.base_version(npu) == env.base_version(torch):
        return None
    error = pair.mismatch(torch, npu)
    add_note(error, f"hint: {error.hint}")
    return error


def find_vendor_modules(folder: str) -> None:
    """Let programs import the stand-ins of the vendor's Python modules, where no real one is found."""
    if not any(isinstance(finder, _Last) for finder in sys.meta_path):
        sys.meta_path.append(_Last(folder))


class _Last:
    """Asked after all other finders."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if path is not None or not _wanted():
            return None
        return PathFinder.find_spec(name, [self.folder])
