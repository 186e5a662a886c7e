"""The calls of a dump of the vendor's tool as entries of a record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumar.compare.result import Out, RecordEntry
from jumar.runtime import arrays
from jumar.runtime.hooks.alone import without_backends

_STATS = ("Min", "Max", "Mean", "Norm")
_PHASES = ("forward", "backward", "parameters_grad")


class Calls:
    """Entries and their numbers in the order of the dump."""

    def __init__(self, frames: dict[str, str], parents: dict[str, str], tensors: Path | None) -> None:
        self.entries: list[RecordEntry] = []
        self.rows: list[Any] = []
        self._frames = frames
        self._parents = parents
        self._tensors = tensors

    def add(self, name: str, item: Any) -> None:
        words = name.split(".")
        phase = next((word for word in _PHASES if word in words), "forward")
        at = words.index(phase) if phase in words else len(words)
        is_module = words[0] in ("Module", "Cell")
        forward = name.replace("backward", "forward")
        module = _module(name) if is_module else _module(self._parents.get(forward) or self._parents.get(name, ""))
        op = f"Module.{words[at - 1]}" if is_module else ".".join(words[: max(2, at - 1)])
        if phase == "parameters_grad":
            for key, values in item.items():
                for value in values if isinstance(values, list) else [values]:
                    self._tensor("grad", f"{module}.{key}", "backward", value)
            return
        for key, value in (item.get("parameters") or {}).items():
            self._tensor("weight", f"{module}.{key}", "forward", value)
        inputs: list[int] = []
        args: dict[str, Any] = {}
        given = item.get("input_args", item.get("input")) or []
        for key, value in (*((str(place), value) for place, value in enumerate(given)),
                           *(item.get("input_kwargs") or {}).items()):  # fmt: skip
            found = [self._tensor("arg", f"{name}.{key}", phase, part) for part in _flat(value)]
            inputs += [index for index in found if index >= 0]
            if not any(index >= 0 for index in found) and value is not None:
                args[key] = _plain(value)
        outs = tuple(out for out in map(self._out, _flat(item.get("output"))) if out is not None)
        line = self._frames.get(name) or self._frames.get(forward, "")
        self.entries.append(
            RecordEntry(len(self.entries), "op", op, name, phase, module, line, tuple(inputs), args, outs)
        )

    def _tensor(self, kind: str, name: str, phase: str, value: Any) -> int:
        out = self._out(value)
        if out is None:
            return -1
        self.entries.append(RecordEntry(len(self.entries), kind, "", name, phase, "", "", (), {}, (out,)))
        return len(self.entries) - 1

    def _out(self, value: Any) -> Out | None:
        if not isinstance(value, dict) or "shape" not in value:
            return None
        shape = tuple(int(size) for size in value["shape"])
        row = self._saved(value.get("data_name")) or _statistics(value, shape)
        if row:
            self.rows.append(row)
        dtype = str(value.get("dtype", "")).removeprefix("torch.").lower()
        return Out(dtype, shape, len(self.rows) - 1 if row else -1)

    def _saved(self, name: Any) -> list[float]:
        """The numbers of a tensor that was saved whole; a file that is not there or not readable leaves statistics."""
        file = self._tensors / Path(str(name)).name if self._tensors is not None and name else None
        if file is None or not file.is_file():
            return []
        with without_backends():
            import torch

        from jumar.compare.sketch import sketcher

        try:
            is_npy = file.suffix == ".npy"
            tensor = torch.from_numpy(arrays.load_npy(file)) if is_npy else arrays.load_tensor(file)
        except (OSError, TypeError, ValueError):  # torch has not all types of numpy
            return []
        taker = sketcher(torch.device("cpu"))
        taker.add(tensor)
        return list(taker.take()[0])


def _module(name: str) -> str:
    """`layer1.0.conv1` of `Module.layer1.0.conv1.Conv2d.forward.0`."""
    words = name.split(".")
    if words[0] not in ("Module", "Cell"):
        return ""
    at = next((place for place, word in enumerate(words) if word in _PHASES), len(words))
    return ".".join(words[1 : at - 1])


def _flat(value: Any) -> Iterator[Any]:
    """Tensors and scalars in lists, and in dictionaries by name."""
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, dict) and "type" not in value:
        for item in value.values():
            yield from _flat(item)
    else:
        yield value


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.get("value") if isinstance(value, dict) else value


def _statistics(value: dict[str, Any], shape: tuple[int, ...]) -> list[float]:
    if value.get("Norm") is None:
        return []
    low, high, mean, norm = (float(value[key]) if value.get(key) is not None else 0.0 for key in _STATS)
    bad = [any(test(part) for part in (low, high, norm)) for test in (math.isnan, math.isinf)]
    return [low, high, mean * max(1, math.prod(shape)), norm, float(bad[0]), float(bad[1])]
