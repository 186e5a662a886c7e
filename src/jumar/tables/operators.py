"""What the emulator knows about operators beyond their schemas: the rows of `operators.toml`, checked."""

from __future__ import annotations

import re
from dataclasses import fields
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from jumar.core.compat import dataclass
from jumar.tables.load import table

CARRIED = ("torch_npu", "reference", "softmax", "python", "refused")
COMPANIONS = ("_C_ascend",)
"""Namespaces of packages beside torch_npu, here vllm-ascend's: their operators are there once the package is loaded."""
SPACES = ("aten", "atb", "npu", *COMPANIONS)
CHIPS = ("older", "910B", "950")
"""Groups of chips that torch_npu's code tells apart: those before the 910B, those from it on, the 950 and its kin."""
TYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
         "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16")  # fmt: skip
"""In the order of torch's `ScalarType`, whose numbers are the bits of the C++ rows."""
MOST = 4
"""Arguments that one column may name: the C++ rows have room for as many."""
_NAME = re.compile(r"[\w*]+(\.\w+)?")
_OPERATOR = re.compile(r"\w+::\w+")


@dataclass(frozen=True, slots=True)
class Row:
    """One row; the head of the table says what the columns mean."""

    name: str
    """With its namespace: `aten::one_hot`."""
    why: str
    carried: str = ""
    calls: str = ""
    autograd: str = ""
    index: tuple[str, ...] = ()
    index_result: bool = False
    rounding: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    float32_results: tuple[int, ...] = ()
    statistics: bool = False
    host_work: bool = False
    integers: bool = False
    written: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    host_results: tuple[int, ...] = ()
    devices: str = ""
    random: bool = False
    refuses: tuple[str, ...] = ()
    refusal: str = ""
    error: str = ""
    warns: str = ""
    warns_for: tuple[str, ...] = ()
    cpu_for: tuple[str, ...] = ()
    int32_results: tuple[int, ...] = ()
    transposed_results: tuple[int, ...] = ()
    transposed_unless: str = ""
    cut_integers: bool = False
    chips: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_pattern(self) -> bool:
        return "*" in self.name

    def matches(self, operator: str) -> bool:
        """`operator` is `aten::add.Tensor`, or without a dot where the overload's name is empty."""
        base, _, overload = operator.partition(".")
        if "." in self.name:
            return self.name == f"{base}.{overload or 'default'}"
        return fnmatchcase(base, self.name) if self.is_pattern else base == self.name


_COLUMNS = {field.name for field in fields(Row)} - {"name"}
_CHOICES = {"carried": CARRIED, "autograd": ("torch_npu",), "devices": ("mixed",)}
_WORDS = {
    "index": None, "written": None, "host": None, "parameters": None, "rounding": ("float16", "bfloat16"),
    "refuses": TYPES, "warns_for": TYPES, "cpu_for": TYPES, "chips": CHIPS,
}  # fmt: skip
_NUMBERS = ("float32_results", "host_results", "int32_results", "transposed_results")
_SOURCED = ("refuses", "refusal", "error", "warns", "warns_for", "cpu_for", "int32_results", "transposed_results",
            "transposed_unless", "cut_integers", "chips")  # fmt: skip
_NEEDED = {"warns_for": "warns", "cpu_for": "warns", "transposed_unless": "transposed_results"}
_SOURCE = re.compile(r"\w+\.(cpp|h):\d+")
_FLAGS = ("index_result", "statistics", "host_work", "integers", "random", "cut_integers")


@cache
def rows() -> tuple[Row, ...]:
    return parse(table("operators.toml"))


def matching(operator: str) -> list[Row]:
    """The rows of an operator, those without a `*` first."""
    return sorted((row for row in rows() if row.matches(operator)), key=lambda row: row.is_pattern)


def carrier(operator: str) -> Row | None:
    """The row that says how the operator is carried."""
    return next((row for row in matching(operator) if row.carried), None)


def parse(content: dict[str, Any]) -> tuple[Row, ...]:
    """Typed rows in the order of the file; a mistake is named with its row."""
    found = []
    for space, names in content.items():
        if space not in SPACES:
            raise ValueError(f"operators.toml: unknown namespace `{space}`; known: {', '.join(SPACES)}")
        if list(names) != sorted(names):
            raise ValueError(f"operators.toml: the rows of `{space}` are not sorted")
        found += [_row(f"{space}::{name}", columns) for name, columns in names.items()]
    return tuple(found)


def _row(name: str, columns: dict[str, Any]) -> Row:
    if not _NAME.fullmatch(name.partition("::")[2]):
        raise ValueError(f"operators.toml: `{name}`: not the name of an operator")
    if not str(columns.get("why", "")).strip():
        raise ValueError(f"operators.toml: `{name}`: `why` is missing")
    if columns.keys() == {"why"}:
        raise ValueError(f"operators.toml: `{name}`: says nothing but why")
    if problem := _unsourced(columns):
        raise ValueError(f"operators.toml: `{name}`: {problem}")
    for column, value in columns.items():
        if problem := _problem(column, value):
            raise ValueError(f"operators.toml: `{name}`: {problem}")
    typed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in columns.items()}
    return Row(name, **typed)


def _unsourced(columns: dict[str, Any]) -> str:
    """What torch_npu does of its own accord stands in its source; its words are those of the source."""
    if columns.keys() & set(_SOURCED) and not _SOURCE.fullmatch(str(columns.get("source", ""))):
        return "`source` is the file and line of torch_npu that says so, as `ToKernelNpu.cpp:40`"
    if ("refuses" in columns) != ("refusal" in columns):
        return "`refuses` and `refusal` come together"
    missing = (column for column, other in _NEEDED.items() if column in columns and other not in columns)
    column = next(missing, None)
    return f"`{column}` needs `{_NEEDED[column]}`" if column else ""


def _problem(column: str, value: Any) -> str:
    if column not in _COLUMNS:
        return f"unknown column `{column}`"
    if column in _CHOICES and value not in _CHOICES[column]:
        return f"`{column}` is one of {', '.join(_CHOICES[column])}, not `{value}`"
    if column == "calls" and not _OPERATOR.fullmatch(str(value)):
        return f"`calls` is an operator with its namespace, not `{value}`"
    if column in _FLAGS and value is not True:
        return f"`{column}` is true or left out"
    if column not in (*_WORDS, *_NUMBERS):
        return ""
    most = len(TYPES) if _WORDS.get(column) is TYPES else MOST
    if not isinstance(value, list) or not 0 < len(value) <= most:
        return f"`{column}` is a list of 1 to {most}"
    known = _WORDS.get(column)
    fits = all(isinstance(item, str if column in _WORDS else int) and (not known or item in known) for item in value)
    return "" if fits else f"`{column}` does not take {value}"
