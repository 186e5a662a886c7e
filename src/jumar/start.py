"""What an interpreter does at its start that was asked for emulation, recording or profiling (jumar.pth).

This is where the features are put together in the user's process: each tells what it does around an import, and is
itself imported only then. Programs that never import torch must not notice.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType

from jumar.core.errors import UserError
from jumar.runtime import activation, standins, variables
from jumar.runtime.hooks.imports import Hook, on_import
from jumar.runtime.tell import tell

_INDUCTOR = "jumar.emulate.inductor.install"


@functools.cache
def begin() -> None:
    """Register the hooks that the environment asks for, once."""
    try:
        if activation.decide(os.environ).on:
            emulate()
        if variables.CUDA.read():
            on_import("torch", Hook(after=_transfer_to_npu))
    except UserError as error:
        # The program starts all the same: it need not use a card.
        tell(f"{error.message}: {error.hint}")
    if variables.RECORD.text():
        on_import("torch", Hook(after=_record))
    if variables.PROFILE.text():
        on_import("torch", Hook(after=_profile))
    if variables.DRY.text() or variables.DRY_TRACE.text():
        on_import("torch", Hook(after=_dry))


def emulate() -> None:
    """From here on, torch_npu and the vendor's modules of this process find the stand-ins."""
    from jumar.emulate import companions, hook
    from jumar.emulate.inductor import refuse
    from jumar.export import standin

    if standins.are_waiting():
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not hasattr(finder, "jumar")]  # pth.py: no hint is needed
    for name, value in activation.machine().items():
        os.environ.setdefault(name, value)
    _announce_once()
    on_import("torch", Hook(before=hook.before_torch, around=hook.uncollected))
    on_import("torch_npu", Hook(hook.before_torch_npu, hook.telling_mismatch, hook.after_torch_npu))
    on_import("torch_npu._C", Hook(before=hook.before_torch_npu_library))
    on_import("torch_npu._inductor", Hook(around=_without_triton, after=functools.partial(_accompany, _INDUCTOR)))
    on_import("torch_npu.dynamo.torchair", Hook(around=refuse.graph_engine))
    for place in ("torchair", "torch_npu.dynamo.torchair"):
        on_import(f"{place}.core._backend", Hook(after=refuse.graph_compilation))
    hook.find_vendor_modules(standin.MODULES)
    for name, companion in companions.WAITED_FOR.items():
        on_import(name, Hook(after=functools.partial(_accompany, companion)))


def _accompany(companion: str, module: ModuleType) -> None:
    import importlib

    importlib.import_module(companion).after(module)


@contextlib.contextmanager
def _without_triton() -> Iterator[None]:
    import importlib

    with importlib.import_module(_INDUCTOR).around():
        yield


def _announce_once() -> None:
    """The first process of a tree gives it a name; the stand-ins say once for it that cards are emulated."""
    if variables.ANNOUNCED.text():
        return
    thread = f"/proc/self/task/{os.getpid()}/stat"  # as native/machine/process.cpp reads it
    with suppress(OSError), open(thread, encoding="utf-8", errors="replace") as file:
        tree = f"{os.getpid()}-{file.read().rpartition(')')[2].split()[19]}"
        os.environ[variables.ANNOUNCED.name] = tree
        atexit.register(_forget, tree, os.getpid())


def _forget(tree: str, process: int) -> None:
    """Remove what the stand-ins keep to know that it was said (native/machine/announce.cpp)."""
    with suppress(OSError):
        if os.getpid() == process:
            os.unlink(f"/dev/shm/jumar-{os.getuid()}-announced-{tree}")


def _transfer_to_npu(_: ModuleType) -> None:
    import importlib

    from jumar.runtime import noise

    with noise.folded_warnings("torch_npu puts its own functions in the place of torch.cuda's"):
        importlib.import_module("torch_npu.contrib.transfer_to_npu")


def _record(_: ModuleType) -> None:
    from jumar.compare import child

    child.begin(variables.RECORD.text())


def _profile(_: ModuleType) -> None:
    from jumar.perf.record import start

    start.begin()


def _dry(_: ModuleType) -> None:
    from jumar.emulate.dry import start

    start.begin()
