"""Shapes as users and ATC write them: `x:1,3,224,224`, with -1 for a gear and 1~8 for a range."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Union

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.export.graph import Input, shown

FORM = 'write it as `--shape "x:1,3,224,224"`'


class Range(NamedTuple):
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}~{self.high}"


Dim = Union[int, Range]
Shape = tuple[Dim, ...]


def parse(given: Iterable[str]) -> dict[str, Shape]:
    """Shapes by input; several may stand in one text, separated by `;` as in ATC's option."""
    found: dict[str, Shape] = {}
    for text in (part for one in given for part in one.split(";")):
        name, colon, dims = text.rpartition(":")
        if not colon or not name.strip():
            raise UserError(f"`{text}` is not a shape", FORM)
        if name.strip() in found:
            raise UserError(f"input `{name.strip()}` has two shapes", "give one shape for each input")
        found[name.strip()] = tuple(_dim(dim, text) for dim in dims.split(",")) if dims.strip() else ()
    return found


def fixed(given: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Shapes that must be plain numbers."""
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in parse(given).items():
        numbers = tuple(dim for dim in shape if isinstance(dim, int) and dim > 0)
        if len(numbers) != len(shape):
            raise UserError(f"the shape of `{name}` must be numbers here: `{written(shape)}`", FORM)
        found[name] = numbers
    return found


def settle(inputs: Iterable[Input], given: Mapping[str, Shape], *, batch: bool = False) -> dict[str, Shape]:
    """A shape for every input: the one that was given, checked against the model, or the model's own.

    With `batch` a first axis without a number becomes -1; any other open axis must be given.
    """
    rows = list(inputs)
    names = [row.name for row in rows]
    for name in given:
        if name not in names:
            raise UserError(f"the model has no input `{name}`", did_you_mean(name, names, f"it has {_list(names)}"))
    return {row.name: _settled(row, given.get(row.name), batch) for row in rows}


def written(shape: Shape) -> str:
    return ",".join(str(dim) for dim in shape)


def _settled(row: Input, given: Shape | None, batch: bool) -> Shape:
    own = row.type.shape
    if given is not None:
        if own is not None:
            _check(row.name, given, own)
        return given
    if own is None:
        raise UserError(f"input `{row.name}` has no shape in the model", f'give it: `--shape "{row.name}:1,3,224,224"`')
    open_axes = [number for number, dim in enumerate(own) if not isinstance(dim, int) or dim < 0]
    if not open_axes:
        return tuple(dim for dim in own if isinstance(dim, int))
    if batch and open_axes == [0]:
        return (-1, *(dim for dim in own[1:] if isinstance(dim, int)))
    example = ",".join(str(dim) if isinstance(dim, int) and dim >= 0 else "N" for dim in own)
    raise UserError(
        f"input `{row.name}` has dynamic axes: {shown(own)}",
        f'give numbers for N: `--shape "{row.name}:{example}"`',
    )


def _check(name: str, given: Shape, own: tuple[int | str | None, ...]) -> None:
    if len(given) != len(own):
        raise UserError(f"`{name}` has {len(own)} axes {shown(own)}, the shape {len(given)}: `{written(given)}`")
    for number, (dim, mine) in enumerate(zip(given, own, strict=True)):
        if isinstance(mine, int) and mine >= 0 and dim != mine:
            raise UserError(
                f"axis {number} of `{name}` is {mine} in the model, `{dim}` was given",
                "only axes without a number can be chosen; export the model with a dynamic axis",
            )


def _dim(text: str, whole: str) -> Dim:
    text = text.strip()
    if found := re.fullmatch(r"(\d{1,12})~(\d{1,12})", text):
        low, high = int(found[1]), int(found[2])
        if low >= high:
            raise UserError(f"`{text}` in `{whole}` is not a range", "write the smaller number first")
        return Range(low, high)
    if not re.fullmatch(r"-1|\d{1,12}", text):
        raise UserError(f"`{text}` in `{whole}` is not a size", f"a number, -1 or a range such as 1~8; {FORM}")
    if int(text) == 0:
        raise UserError(f"an axis of `{whole}` is 0", "every axis needs at least one element")
    return int(text)


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
