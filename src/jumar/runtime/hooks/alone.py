"""torch without torch_npu, for commands that need no card."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


@contextmanager
def without_backends() -> Iterator[None]:
    """Inside, `import torch` does not import torch_npu, which fails on a machine without CANN."""
    before = os.environ.get(_AUTOLOAD)
    os.environ[_AUTOLOAD] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_AUTOLOAD]
        else:
            os.environ[_AUTOLOAD] = before
