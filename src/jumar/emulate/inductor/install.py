"""Makes inductor generate code for emulated cards; jumar/start.py registers it around torch_npu's part of inductor.

torch_npu (`_inductor/__init__.py`) chooses one of its code generators by `TORCHINDUCTOR_NPU_BACKEND`. Its default
writes Triton; without triton-ascend it registers nothing. The emulator takes this branch and registers its own
generator; all that is no code generation stays torch_npu's. Releases before 2.12 have no such branch.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from jumar.emulate.inductor import refuse
from jumar.runtime import variables

_FIRST = (2, 12)
"""The first release of torch whose inductor is served."""


@contextmanager
def around() -> Iterator[None]:
    """While torch_npu's part of inductor is imported: as if triton-ascend were not installed."""
    if not _wanted():
        yield
        return
    if not _served():
        with refuse.older_release():
            yield
        return
    name = os.environ.get("TORCHINDUCTOR_NPU_BACKEND") or "default"
    if name != "default":
        refuse.generator(name)
    import torch.utils._triton as triton

    with mock.patch.object(triton, "has_triton", lambda: False), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="triton-ascend is not installed")
        yield


def after(module: Any) -> None:
    """The generator of the emulator takes the place of the default one, now and when a program comes back to it."""
    if not _wanted() or not _served():
        return
    loaders = getattr(module, "_BACKEND_LOADERS", {})
    for name in loaders:
        loaders[name] = load if name == "default" else functools.partial(refuse.generator, name)
    load()


def load() -> None:
    """Register C++ kernels for the device."""
    from torch._inductor.codegen.common import register_backend_for_device

    from jumar.emulate.inductor import flex, plan
    from jumar.emulate.inductor.codegen import CardScheduling, CardWrapper, NoCppWrapper

    plan.for_processor()
    flex.taken_apart()
    register_backend_for_device("npu", CardScheduling, CardWrapper, NoCppWrapper)


def _wanted() -> bool:
    return variables.EMULATE.text() != "0"


def _served() -> bool:
    import torch

    return tuple(int(part) for part in torch.__version__.split(".")[:2]) >= _FIRST
