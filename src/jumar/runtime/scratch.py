"""A temporary folder that goes when the block ends, and also when this process is killed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from jumar.runtime import process

_KEEPER = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


@contextmanager
def folder(prefix: str) -> Iterator[str]:
    """Its path. A process of its own holds the other end of a pipe, and removes the folder when ours closes."""
    path = os.path.realpath(tempfile.mkdtemp(prefix=prefix))
    keeper = process.start(
        [sys.executable, "-I", "-S", "-c", _KEEPER, path], stdin=process.PIPE, stdout=process.DEVNULL,
        stderr=process.DEVNULL, cwd="/",
    )  # fmt: skip
    assert keeper.stdin is not None
    try:
        yield path
    finally:
        keeper.stdin.close()
        keeper.wait()
