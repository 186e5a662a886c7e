"""What transfers share: attempts, part sizes, ETags computed here and compared with the store's."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import TypeVar

from jumar.cloud import disk
from jumar.cloud.store import Transient
from jumar.cloud.store.folder import multipart_etag
from jumar.core.errors import UserError, cannot

MIB = 1 << 20
PART = 8 * MIB
MOST_PARTS = 9000
DELAYS = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts; jitter comes on top."""
Result = TypeVar("Result")


class Corrupt(Exception):
    """What arrived is not what was sent."""


def retried(call: Callable[[], Result]) -> Result:
    """Try again after failures that may pass; bodies are whole byte strings, so each attempt sends all of it."""
    for delay in DELAYS:
        try:
            return call()
        except (Transient, Corrupt):
            time.sleep(delay * (1 + random.random() / 2))
    try:
        return call()
    except (Transient, Corrupt) as error:
        raise UserError(f"{error}", f"gave up after {len(DELAYS) + 1} attempts; run it again to continue") from error


def part_size(size: int) -> int:
    """The same for the same size on every machine, so that ETags can be compared."""
    return max(PART, -(-size // MOST_PARTS // MIB) * MIB)


def etag_of(path: str, size: int, like: str) -> str:
    """What the ETag of a file would be, put together as another ETag was; empty if that cannot be known."""
    if "-" not in like:
        return disk.md5_of(path)
    length = part_length(size, int(like.rpartition("-")[2]))
    if not length:
        return ""
    return multipart_etag([disk.md5_of(path, start, min(length, size - start)) for start in range(0, size, length)])


def part_length(size: int, parts: int) -> int:
    """The part size that somebody used, from the number of parts; 0 if it cannot be told."""
    usual = (part_size(size), *(number * MIB for number in (8, 5, 9, 10, 16, 20, 32, 50, 64, 100, 128, 256, 512)))
    fits = [length for length in usual if -(-size // length) == parts]
    return fits[0] if fits else 0


def verified(found: str, right: str, what: str) -> str:
    if found != right:
        raise Corrupt(f"`{what}` arrived damaged: ETag {found}, expected {right}")
    return found


def read(path: str, start: int, size: int | None) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            wanted = os.fstat(file.fileno()).st_size if size is None else size
            file.seek(start)
            data = file.read(wanted)
    except OSError as error:
        raise cannot(f"read `{path}`", error) from error
    if data is None or len(data) != wanted:
        raise UserError(f"`{path}` became shorter while it was read", "send it again when no program writes to it")
    return data
