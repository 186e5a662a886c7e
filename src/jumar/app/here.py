"""What fits a folder: `jumar` without arguments looks around and names the commands to begin with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from jumar.core import read
from jumar.core.errors import UserError
from jumar.core.words import counted
from jumar.runtime import npus

_CUDA = (b"torch.cuda", b".cuda(", b'"cuda"', b"'cuda'", b"cuda:")
_MINDSPORE = (b"import mindspore", b"from mindspore")
_FILES = 4000
"""Names looked at, and below, how many Python files are opened and how much of each is read."""
_OPENED, _BYTES = 300, 1 << 16
_ASIDE = {"node_modules", "site-packages", "__pycache__", "build", "dist"}
_LOGS = (".log", ".err", ".out")
_FAILED = (b"Traceback", b"ERROR", b"rror:", b"rror code")


class Fit(NamedTuple):
    """A command, and why it fits."""

    command: str
    why: str


def fits(folder: Path) -> list[Fit]:
    """Commands for what the folder holds, the most telling first; empty where nothing is known."""
    found = list(islice(_walk(folder), _FILES))
    return [*_profiles(folder, found), *_logs(folder, found), *_code(found), *_models(folder, found), *_server()]


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _ASIDE)
        yield from (Path(place, name) for name in folders if name.endswith("_ascend_pt"))
        yield from (Path(place, name) for name in sorted(files))


def _profiles(folder: Path, found: list[Path]) -> Iterator[Fit]:
    for path in islice((path for path in found if path.name.endswith("_ascend_pt")), 1):
        yield Fit(f"jumar perf read {path.relative_to(folder)}", "a profile: where the time goes")


def _logs(folder: Path, found: list[Path]) -> Iterator[Fit]:
    """Not those deep below: they are samples of tests rather than what just happened."""
    for path in found:
        near = len(path.relative_to(folder).parts) <= 2
        if near and path.suffix in _LOGS and any(word in _end(path) for word in _FAILED):
            yield Fit(f"jumar explain {path.relative_to(folder)}", "a log with an error: what happened, what to do")
            return


def _code(found: list[Path]) -> Iterator[Fit]:
    texts = [_begin(path) for path in islice((path for path in found if path.suffix == ".py"), _OPENED)]
    cuda = sum(any(word in text for word in _CUDA) for text in texts)
    if cuda:
        yield Fit("jumar migrate .", f"{counted(cuda, 'Python file')} with CUDA: see what would change")
        return
    npu = sum(b"torch_npu" in text for text in texts)
    mindspore = sum(any(word in text for word in _MINDSPORE) for text in texts)
    if npu or mindspore:
        yield Fit("jumar run SCRIPT", "NPU code: run it, on emulated cards if there are no real ones")
    if mindspore and not npu:
        yield Fit("jumar migrate .", "MindSpore code: see what newer releases want otherwise")


def _models(folder: Path, found: list[Path]) -> Iterator[Fit]:
    for path in islice((path for path in found if path.suffix == ".onnx"), 1):
        yield Fit(f"jumar export check {path.relative_to(folder)}", "an ONNX model: can ATC convert it?")


def _server() -> Iterator[Fit]:
    count = len(npus.devices())
    if count:
        yield Fit("jumar doctor", f"a machine with {counted(count, 'NPU')}: check it")


def _begin(path: Path) -> bytes:
    try:
        with read.opened(path) as file:
            return file.read(_BYTES)
    except (OSError, UserError):
        return b""


def _end(path: Path) -> bytes:
    try:
        with read.opened(path) as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _BYTES, 0))
            return file.read(_BYTES)
    except (OSError, UserError):
        return b""
