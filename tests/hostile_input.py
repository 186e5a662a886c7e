"""Texts, files and judgements that the tests of hostile files share."""

from __future__ import annotations

import json
import os
import signal
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

Run = Callable[..., Any]
DEEP = "[" * 100_000 + "]" * 100_000
OBJECTS = '{"a":' * 50_000 + "1" + "}" * 50_000
LONG = "9" * 50_000
"""A number that Python refuses to read since 3.11."""
LIMIT = 60
"""Seconds after which a call counts as waiting for something; none takes a tenth of it."""


class Late(BaseException):
    """The command waits for something."""


@contextmanager
def alarm() -> Iterator[None]:
    """What waits inside is ended."""

    def late(*_: object) -> NoReturn:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refused(done: Any) -> str:
    """It ended with one clear error."""
    assert done.code == 2, done
    return harmless(done)


def harmless(done: Any) -> str:
    """It ended with a verdict or a clear error; what it said."""
    assert done.code in (0, 1, 2, 3), done
    assert "Traceback" not in done.err and "unexpected " not in done.err, done.err
    return str(done.err)


class Evil:
    """What unpickling runs."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def archive(path: Path, members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return path


def lying(path: Path) -> Path:
    """The sizes in the headers are smaller than what is packed."""
    raw = bytearray(archive(path, {"selftest.json": bytes(8 << 20)}).read_bytes())
    struct.pack_into("<I", raw, raw.rfind(b"PK\x01\x02") + 24, 100)
    struct.pack_into("<I", raw, raw.find(b"PK\x03\x04") + 22, 100)
    path.write_bytes(raw)
    return path


def dump(folder: Path, name: str) -> Path:
    """A dump of the vendor's tool with one saved tensor, whose file is to be written."""
    place = folder / "dump" / "step0" / "rank0"
    (place / "dump_tensor_data").mkdir(parents=True, exist_ok=True)
    out = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "data_name": name}
    document = {"data": {"Torch.add.0.forward": {"input_args": [], "output": [out]}}}
    (place / "dump.json").write_text(json.dumps(document))
    return place / "dump_tensor_data" / name
