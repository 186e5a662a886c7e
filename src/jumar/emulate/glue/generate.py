"""Turns the table of operators into C++ for the glue: sorted rows by name, then the patterns."""

from __future__ import annotations

import json
from pathlib import Path

from jumar.core.errors import UserError
from jumar.tables import load, operators
from jumar.tables.operators import Row

HEADER = "operators.inc"
_NAMES = ("index", "written", "host", "parameters")
_MASKS = ("float32_results", "host_results")
_TYPES = {"refuses": "refused", "warns_for": "warned", "cpu_for": "on_cpu"}
_CHANGED = ("int32_results", "transposed_results")
_TEXTS = {"refusal": "refusal", "error": "error", "warns": "warning", "source": "source",
          "transposed_unless": "transposed_unless"}  # fmt: skip
_FLAGS = ("index_result", "statistics", "host_work")


def sources() -> tuple[bytes, ...]:
    """The bytes that the text depends on: part of the glue's name in the cache."""
    return (load.text("operators.toml"), Path(operators.__file__).read_bytes(), Path(__file__).read_bytes())


def header() -> str:
    """The text of `operators.inc`, which operators.cpp includes."""
    try:
        rows = operators.rows()
    except ValueError as error:
        raise UserError(f"the emulator cannot be built: {error}", "mend the row") from error
    plain = sorted((row for row in rows if not row.is_pattern), key=lambda row: row.name)
    patterns = [row for row in rows if row.is_pattern]
    lines = ["// Written by jumar/emulate/glue/generate.py from operators.toml; do not edit."]
    for name, part in (("kRows", plain), ("kPatterns", patterns)):
        lines += [f"constexpr Facts {name}[] = {{", *(f"    {_row(row)}," for row in part), "};"]
    return "\n".join([*lines, ""])


def _row(row: Row) -> str:
    """Designated initializers, in the order of `struct Facts`."""
    cells = [f".name = {json.dumps(row.name)}"]
    if row.carried:
        cells.append(f".carried = Carried::{_enumerator(row.carried)}")
    if row.calls:
        cells.append(f".calls = {json.dumps(row.calls)}")
    if row.autograd:
        cells.append(".keeps_autograd = true")
    cells += [
        f".{column} = {{{', '.join(map(json.dumps, value))}}}" for column in _NAMES if (value := getattr(row, column))
    ]
    if row.random:
        cells.append(".random = true")
    for field, inner in (("computing", _computing(row)), ("strictness", _strictness(row))):
        if inner:
            cells.append(f".{field} = {{{', '.join(inner)}}}")
    return f"{{{', '.join(cells)}}}"


def _computing(row: Row) -> list[str]:
    """Where a chip computes differently from the CPU."""
    cells = [f".{column} = {sum(1 << item for item in value)}u" for column in _MASKS if (value := getattr(row, column))]
    cells += [f".wide_{kind} = true" for kind in ("float16", "bfloat16") if kind in row.rounding]
    cells += [f".{column} = true" for column in _FLAGS if getattr(row, column)]
    cells += [".takes_integers = true"] if row.integers else []
    return [*cells, ".mixes_devices = true"] if row.devices else cells


def _strictness(row: Row) -> list[str]:
    """What torch_npu's own code refuses, says and narrows, by its source."""
    cells = [
        f".{field} = {' | '.join(f'1ull << {operators.TYPES.index(kind)}' for kind in kinds)}"
        for column, field in _TYPES.items()
        if (kinds := getattr(row, column))
    ]
    cells += [
        f".{column} = {sum(1 << item for item in value)}u" for column in _CHANGED if (value := getattr(row, column))
    ]
    if row.cut_integers:
        cells.append(".cut_integers = true")
    if row.chips:
        cells.append(f".chips = {sum(1 << operators.CHIPS.index(chip) for chip in row.chips)}")
    return cells + [
        f".{field} = {json.dumps(text)}" for column, field in _TEXTS.items() if (text := getattr(row, column))
    ]


def _enumerator(carried: str) -> str:
    return "k" + "".join(part.capitalize() for part in carried.split("_"))
