"""What a case is, and how the cases of all families are found: by their place, with no list to edit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from jumar.core import discover

if TYPE_CHECKING:
    from jumar.selftest.given import Given

FLOAT, HALVES = ("float32",), ("float32", "float16", "bfloat16")
WHOLE = ("int64", "int32")
PLAIN = ""
"""The data type of a case that has none of its own."""


class Case(NamedTuple):
    """A small program: what it needs, what it may cost, and how its results are judged."""

    name: str
    run: Callable[[Given], Any]
    """Returns a tensor, a sequence of them, or results by name: tensors, and facts that are plain values."""
    types: tuple[str, ...] = (PLAIN,)
    exact: bool = False
    """Every bit is defined (IEEE 754 and torch): nothing is left to the card."""
    reference: bool = True
    """It runs on the CPU in float64 too."""
    cards: int = 1
    needs: tuple[str, ...] = ()
    """Attributes that torch_npu must have, as dotted names below `torch` or `torch_npu`."""
    seconds: float = 60.0
    memory_mib: int = 4096
    timed: bool = False
    """It measures the card; its results are rates, not facts."""
    raises: bool = False
    """An error is the right answer."""
    must: bool = False
    """Its facts that are True or False hold on every card by definition: False is a fault."""
    single: bool = False
    """One operator that rounds each value once: a shift of all of them shows how the card rounds."""
    rounding: str = ""
    """Data type whose rounding sets the floor, where that is not the one of the case."""


class Unit(NamedTuple):
    """A case with one data type: what is run, judged and reported."""

    family: str
    case: Case
    dtype: str

    @property
    def id(self) -> str:
        return "/".join(filter(None, (self.family, self.case.name, self.dtype)))

    @property
    def rounding(self) -> str:
        return self.case.rounding or self.dtype or "float32"


def rows(found: Mapping[str, Callable[[Given], Any]], **options: Any) -> list[Case]:
    """Cases of one line each, with the same options."""
    return [Case(name, run, **options) for name, run in found.items()]


@cache
def units() -> tuple[Unit, ...]:
    """All of them, by family."""
    families = [(module.__name__.rpartition(".")[2], module.CASES) for module in discover.modules(f"{_HERE}.cases")]
    return tuple(Unit(name, case, dtype) for name, cases in families for case in cases for dtype in case.types)


def chosen(only: Iterable[str], skip: Iterable[str]) -> list[Unit]:
    """The units that words of `--only` and `--skip` leave: families, ids, patterns such as `*/float16`."""
    names = {unit.id.lower(): unit.id for unit in units()}
    wanted, unwanted = (_meant(words, names) for words in (only, skip))
    return [unit for unit in units() if unit.id not in unwanted and (not wanted or unit.id in wanted)]


def _meant(words: Iterable[str], names: Mapping[str, str]) -> frozenset[str]:
    families = {unit.family for unit in units()}
    full = [f"{word}/*" if word in families else word for text in words for word in text.split(",")]
    below = {name.rpartition("/")[0] for name in names}
    wide = [f"{word}/*" if word.lower() in below and word.lower() not in names else word for word in full]
    return discover.ids(wide, names, "case", "`jumar selftest --list` names them")


_HERE = __name__.rpartition(".")[0]
