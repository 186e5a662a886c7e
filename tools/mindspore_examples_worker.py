"""Runs the examples in the documentation of MindSpore's own functions, each in a fork, and compares what they print.

Started by mindspore_examples.py with MindSpore's interpreter, which need not have Jumar: standard library, mindspore.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import importlib
import inspect
import io
import json
import linecache
import os
import re
import resource
import signal
import sys
import tempfile
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np

_MODULES = (
    "mindspore", "mindspore.ops", "mindspore.ops.auto_generate", "mindspore.nn", "mindspore.mint", "mindspore.mint.nn",
    "mindspore.mint.nn.functional", "mindspore.mint.linalg", "mindspore.mint.special", "mindspore.mint.optim",
    "mindspore.numpy", "mindspore.scipy.linalg", "mindspore.scipy.optimize", "mindspore.amp", "mindspore.train",
    "mindspore.nn.probability.distribution", "mindspore.nn.probability.bijector", "mindspore.common.initializer",
)  # fmt: skip
_METHODS = ("mindspore", "mindspore.nn", "mindspore.amp", "mindspore.train")
# What examples use without saying where it comes from; the network and the data set stand in for a tutorial's.
_BEFORE = """
import numpy as np
import mindspore
import mindspore as ms
import mindspore.dataset as ds
import mindspore.numpy as mnp
from mindspore import Parameter, ParameterTuple, Tensor, context, dtype as mstype, jit, mint, nn, ops
from mindspore.ops import operations as P

class LeNet5(nn.Cell):
    def __init__(self, num_class=10, num_channel=1):
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(num_channel, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten())
        self.fc = nn.SequentialCell(
            nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, num_class))

    def construct(self, x):
        return self.fc(self.features(x))

def create_dataset(*_, **__):
    rng = np.random.default_rng(0)
    images, labels = rng.normal(size=(64, 1, 32, 32)).astype(np.float32), rng.integers(0, 10, 64).astype(np.int32)
    return ds.NumpySlicesDataset((images, labels), ["image", "label"], shuffle=False).batch(32)
"""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf|nan)", re.IGNORECASE)
_NEAR = {"rtol": 2e-3, "atol": 1e-4}
_SECONDS = 60


def main(job: str) -> None:
    """`job` is a JSON file: filter, only (names, or null), done (names), out, memory in bytes, part, parts."""
    order = json.loads(Path(job).read_text(encoding="utf-8"))
    wanted = [name for name in sorted(examples()) if re.search(order["filter"], name) and name not in order["done"]]
    wanted = [name for name in wanted if order["only"] is None or name in order["only"]]
    for name in wanted[order["part"] :: order["parts"]]:
        text = examples()[name]
        rows = _alone(name, text, order["memory"])
        with open(order["out"], "a", encoding="utf-8") as out:
            out.write(json.dumps({"name": name, "source": text, "rows": rows}) + "\n")


@functools.lru_cache(maxsize=1)
def examples() -> dict[str, str]:
    """The documentation of what is there for Ascend and has an example, each under its first name."""
    found: dict[int, tuple[str, str, Any]] = {}
    for place in _MODULES:
        module = importlib.import_module(place)
        for name in sorted(vars(module)):
            value = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(value):
                continue
            _add(found, f"{place}.{name}", value)
            if inspect.isclass(value) and place in _METHODS:
                for part in sorted(vars(value)):
                    if not part.startswith("_"):
                        _add(found, f"{place}.{name}.{part}", getattr(value, part, None))
    return {name: text for name, text, _ in found.values()}


def _add(found: dict[int, tuple[str, str, Any]], name: str, value: Any) -> None:
    """Keeps the value, too: another one in its place would be taken for it."""
    text = inspect.getdoc(value) or ""
    platforms = text.partition("Supported Platforms")[2].partition("Examples")[0]
    if ">>>" in text and (not platforms or "Ascend" in platforms):
        found.setdefault(id(value), (name, text, value))


def _alone(name: str, text: str, memory: int) -> list[dict[str, str]]:
    """What differs, or the error that ended the example."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "rows"
        pid = os.fork()
        if pid == 0:
            try:
                _limit(memory)
                os.chdir(folder)
                log.write_text(json.dumps(_run(text)), encoding="utf-8")
            finally:
                os._exit(0)  # threads of what was run must not keep the process
        _, code = os.waitpid(pid, 0)
        if log.exists():
            return list(json.loads(log.read_text(encoding="utf-8")))
        return [{"state": "error", "source": "", "text": f"{name} ended with status {code}"}]


def _limit(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(5 * _SECONDS)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def _run(text: str) -> list[dict[str, str]]:
    module = types.ModuleType("documented")  # MindSpore reads the source of what it compiles
    module.__file__ = os.path.join(os.getcwd(), "documented.py")
    sys.modules[module.__name__] = module
    exec(_compiled(_BEFORE, "before", "exec"), vars(module))
    rows = []
    for at, example in enumerate(doctest.DocTestParser().get_examples(text)):
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(_compiled(example.source, str(at), "single"), vars(module))
        except BaseException as error:
            if example.exc_msg is None:
                said = "".join(traceback.format_exception_only(type(error), error))
                rows.append({"state": "error", "source": example.source, "text": said[:2000]})
                break
        else:
            if example.want and not same(example.want, printed.getvalue()):
                said = f"expected {example.want}got {printed.getvalue()[:1500]}"
                rows.append({"state": "differs", "source": example.source, "text": said})
    return rows


def _compiled(source: str, name: str, mode: str) -> Any:
    where = f"<documented {name}>"
    linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
    return compile(source, where, mode)


def same(expected: str, printed: str) -> bool:
    """The same words, and numbers that are near; documents set brackets and commas as they like."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(expected, printed, options):
        return True
    sides = [[float(one) for one in _NUMBER.findall(text)] for text in (expected, printed)]
    words = [re.findall(r"[^\W\d]+", _NUMBER.sub(" ", text)) for text in (expected, printed)]
    return words[0] == words[1] and len(sides[0]) == len(sides[1]) and np.allclose(*sides, **_NEAR, equal_nan=True)


if __name__ == "__main__":
    main(sys.argv[1])
