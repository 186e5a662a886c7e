"""The one line that torch_npu's own import error gets on a machine without CANN, where emulation was not asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec

from jumar.core.compat import add_note
from jumar.runtime.hooks.imports import Hook, Wrapped
from jumar.runtime.hooks.imports import find as find_by_others

HINT = "hint: no NPU or CANN here; `jumar run SCRIPT` runs on emulated NPUs, `jumar emulate status` tells more"


def find(name: str, path: object) -> ModuleSpec | None:
    """The module as it is, with a loader that adds the line to an error; called by jumar.pth's finder."""
    asking = next(one for one in sys.meta_path if getattr(one, "__name__", "") == "JumarHint")
    spec = find_by_others(name, path, asking)
    if spec is not None and spec.loader is not None:
        spec.loader = Wrapped(spec.loader, [Hook(around=_hinting)])
    return spec


@contextmanager
def _hinting() -> Iterator[None]:
    try:
        yield
    except (ImportError, OSError) as error:
        add_note(error, HINT)
        raise
