"""Runs a model with ONNX Runtime under limits of memory and time; a model that cannot run is one clear message."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.export import model as models
from jumar.export import shapes
from jumar.export.graph import Input, inputs
from jumar.export.model import INSTALL, first_line

SECONDS = 600.0
ELEMENTS = 2**31
"""More than this in one input is refused before anything is allocated."""
_TYPES = {
    "FLOAT": "float32", "DOUBLE": "float64", "FLOAT16": "float16", "INT8": "int8", "INT16": "int16", "INT32": "int32",
    "INT64": "int64", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64", "BOOL": "bool",
}  # fmt: skip


def runtime() -> Any:
    try:
        package = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise UserError("`onnxruntime` is not installed in this environment", INSTALL) from error
    package.set_default_logger_severity(4)
    return package


class Session:
    """A model that is ready to run."""

    def __init__(self, data: bytes, *, optimize: bool = True, seconds: float = SECONDS) -> None:
        package = runtime()
        options = package.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        if not optimize:
            options.graph_optimization_level = package.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.seconds = seconds
        with _limited():
            try:
                self.session = package.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            except Exception as error:
                raise UserError(f"ONNX Runtime cannot load the model: {_said(error)}") from error
        self.outputs = [value.name for value in self.session.get_outputs()]

    def run(self, feeds: Mapping[str, Any], names: Sequence[str] | None = None) -> list[Any]:
        package = runtime()
        options = package.RunOptions()
        options.log_severity_level = 4
        timer = threading.Timer(self.seconds, lambda: setattr(options, "terminate", True))
        timer.daemon = True
        timer.start()
        with _limited():
            try:
                found: list[Any] = self.session.run(None if names is None else list(names), dict(feeds), options)
                return found
            except Exception as error:
                if options.terminate:
                    raise UserError(f"the model ran for more than {self.seconds:.0f} s and was stopped") from error
                raise UserError(f"ONNX Runtime cannot run the model: {_said(error)}") from error
            finally:
                timer.cancel()


def dtype(element: str) -> str:
    """The numpy type of a type of ONNX."""
    if element not in _TYPES:
        raise UserError(f"an input of type {element} cannot be made here", "give it as a file")
    return _TYPES[element]


def random_feeds(rows: Sequence[Input], settled: Mapping[str, shapes.Shape], seed: int = 0) -> dict[str, Any]:
    """Seeded inputs: normal numbers, and 0 or 1 where the type is an integer."""
    import numpy

    source = numpy.random.default_rng(seed)
    feeds = {}
    for row in rows:
        shape = tuple(dim if isinstance(dim, int) and dim > 0 else 1 for dim in settled[row.name])
        size = 1
        for dim in shape:
            size *= dim
        if size > ELEMENTS:
            raise UserError(f"input `{row.name}` would have {size:,} elements", "give a smaller shape")
        kind = numpy.dtype(dtype(row.type.element))
        if kind.kind == "f":
            feeds[row.name] = source.standard_normal(shape).astype(kind)
        else:
            feeds[row.name] = source.integers(0, 2, shape).astype(kind)
    return feeds


def difference(before: Path, after: Path) -> float | str:
    """The largest difference of two models on one random input, or why they were not compared."""
    try:
        import numpy

        runtime()
        first, second = models.whole(before), models.whole(after)
        rows, others = inputs(first), inputs(second)
        settled = shapes.settle(rows, {}, batch=True)
        feeds = random_feeds(rows, settled)
        one = Session(first.SerializeToString()).run(feeds)
        names = dict(zip((row.name for row in rows), (row.name for row in others), strict=True))
        two = Session(second.SerializeToString()).run({names[name]: value for name, value in feeds.items()})
    except (UserError, ImportError, ValueError) as error:
        return error.message if isinstance(error, UserError) else first_line(error)
    worst = 0.0
    for left, right in zip(one, two, strict=True):
        if getattr(left, "dtype", None) is None or left.dtype.kind not in "fiub" or left.size == 0:
            continue
        if left.shape != right.shape:
            return "an output has another shape"
        gap = numpy.abs(left.astype("float64") - right.astype("float64"))
        gap = gap[~(numpy.isnan(left.astype("float64")) & numpy.isnan(right.astype("float64")))]
        worst = max(worst, float(gap.max(initial=0.0)))
    return worst


def _said(error: BaseException) -> str:
    """ONNX Runtime's message without the places in its own source."""
    text = first_line(error)
    for mark in (" Status Message: ", " : FAIL : ", " : INVALID_ARGUMENT : ", " : RUNTIME_EXCEPTION : "):
        text = text.rpartition(mark)[2]
    return text.removeprefix("[ONNXRuntimeError] : ")


@dataclass
class _Limit:
    """How many runs are under way, and the limit from before the first of them."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    runs: int = 0
    before: tuple[int, int] = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


_LIMIT = _Limit()


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Keep this process from taking the memory of the whole machine: what asks for more fails alone."""
    with _LIMIT.lock:
        if _LIMIT.runs == 0:
            _LIMIT.before = resource.getrlimit(resource.RLIMIT_AS)
            known = [limit for limit in _LIMIT.before if limit != resource.RLIM_INFINITY]
            resource.setrlimit(resource.RLIMIT_AS, (min([_used() + _available(), *known]), _LIMIT.before[1]))
        _LIMIT.runs += 1
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.runs -= 1
            if _LIMIT.runs == 0:
                resource.setrlimit(resource.RLIMIT_AS, _LIMIT.before)


def _used() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _available() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        kib = next((int(line.split()[1]) for line in file if line.startswith("MemAvailable")), 4 << 20)
    return int(kib * 1024 * 0.8)
