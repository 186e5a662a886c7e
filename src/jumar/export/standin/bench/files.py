"""Files in and files out: which make up one run, and how results are named."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from math import ceil
from typing import Any

from jumar.core.errors import reason
from jumar.export.standin.description import Description
from jumar.runtime import arrays

KINDS = (".npy", ".bin")
Run = list[list[str]]
"""For each input the files of one run, in the order of the batch; an empty name is padding."""


def runs(text: str, inputs: Sequence[Description], *, whole: bool) -> list[Run]:
    """The files for each run; with `whole` every file is a run of its own, whatever its size."""
    given = text.split(",")
    if os.path.isdir(given[0]):
        if len(given) != len(inputs):
            raise RuntimeError(f"{len(given)} folders were given, the model has {len(inputs)} inputs")
        lists = [_listed(folder) for folder in given]
    else:
        missing = next((name for name in given if not os.path.isfile(name)), None)
        if missing is not None:
            raise RuntimeError(f"no such file: `{missing}`")
        share = len(given) // len(inputs)
        if share * len(inputs) != len(given):
            raise RuntimeError(f"{len(given)} files do not go into {len(inputs)} inputs")
        lists = [given[share * index : share * (index + 1)] for index in range(len(inputs))]
    if len({len(files) for files in lists}) > 1:
        raise RuntimeError("the inputs have different numbers of files")
    together = 1 if whole else _together(lists[0][0], inputs[0])
    count = ceil(len(lists[0]) / together)
    padded = [[*files, *[""] * (count * together - len(files))] for files in lists]
    return [[files[together * run : together * (run + 1)] for files in padded] for run in range(count)]


def read(files: Sequence[str]) -> Any:
    """One array from the files of a batch; padding repeats the first."""
    import numpy

    parts = [content(name or files[0]) for name in files]
    return parts[0] if len(parts) == 1 else numpy.concatenate(parts)


def content(name: str) -> Any:
    import numpy

    try:
        return arrays.load_npy(name) if _is_npy(name) else numpy.fromfile(name, "int8")
    except OSError as error:
        raise RuntimeError(f"cannot read `{name}`: {reason(error)}") from error
    except ValueError as error:
        raise RuntimeError(f"`{name}` is not a file of numpy") from error


def save(outputs: Sequence[Any], run: Run, folder: str, form: str, axis: int) -> list[tuple[list[str], list[str]]]:
    """Write each output, one file for each file that went in; says which came from which."""
    import numpy

    pieces = len(run[0])
    made: list[list[str]] = [[] for _ in range(pieces)]
    for number, output in enumerate(outputs):
        if axis >= output.ndim or output.shape[axis] % pieces:
            raise RuntimeError(f"output {number} has shape {list(output.shape)}: axis {axis} is no batch of {pieces}")
        for piece, part in enumerate(numpy.array_split(output, pieces, axis)):
            first = run[0][piece]
            if first:
                stem = os.path.basename(first).split(".")[0]
                made[piece].append(os.path.join(folder, f"{stem}_{number}.{form.lower()}"))
                _write(made[piece][-1], part)
    return [([files[piece] for files in run], made[piece]) for piece in range(pieces) if run[0][piece]]


def _write(path: str, value: Any) -> None:
    import numpy

    if path.endswith(".npy"):
        numpy.save(path, value)
    elif path.endswith(".txt"):
        kind = "%f" if value.dtype.kind == "f" else "%d"
        numpy.savetxt(path, value.reshape(-1, value.shape[-1] if value.ndim else 1), fmt=kind)
    else:
        value.tofile(path)


def _together(first: str, port: Description) -> int:
    size = int(content(first).nbytes)
    if not size or port.realsize % size:
        raise RuntimeError(f"`{first}` has {size} bytes, the input `{port.name}` takes {port.realsize}")
    return port.realsize // size


def _listed(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        raise RuntimeError(f"no such folder: `{folder}`")
    found = [os.path.join(folder, name) for name in os.listdir(folder) if name.lower().endswith(KINDS)]
    if not found:
        raise RuntimeError(f"no .npy or .bin file in `{folder}`")
    return sorted(found, key=_natural)


def _natural(name: str) -> list[tuple[int, str]]:
    """Numbers in a name by their value."""
    return [(int(part), "") if part.isdecimal() else (-1, part.lower()) for part in re.split(r"(\d+)", name)]


def _is_npy(name: str) -> bool:
    return name.lower().endswith(".npy")
