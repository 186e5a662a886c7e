"""Units of a package (checks, analyzers, rules): found by their place, chosen by id or name; no list to edit."""

from __future__ import annotations

import fnmatch
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeVar

from jumar.core.compat import entry_points
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Unit = TypeVar("Unit")


class Declaration(Protocol):
    """What every unit says about itself."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


@cache
def modules(package: str) -> tuple[ModuleType, ...]:
    """Every module directly inside `package` whose name has no leading underscore, by name."""
    parent = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(parent.__path__) if not info.name.startswith("_"))
    return tuple(importlib.import_module(f"{package}.{name}") for name in names)


def plugins(group: str) -> list[EntryPoint]:
    """What installed packages offer under this name; a quick look tells when there is nothing to load."""
    return entry_points(group) if any(_may_offer(place or ".", group.encode()) for place in sys.path) else []


def _may_offer(place: str, group: bytes) -> bool:
    if not os.path.isdir(place):
        return os.path.exists(place)
    for name in os.listdir(place) if os.access(place, os.R_OK) else ():
        if name.endswith((".dist-info", ".egg-info", "EGG-INFO")):
            try:
                with open(os.path.join(place, name, "entry_points.txt"), "rb") as file:
                    if group in file.read():
                        return True
            except OSError:
                continue
    return False


def units(package: str, declaration: str) -> list[ModuleType]:
    """The modules of a package that declare a unit under this name, by its id."""
    found = [module for module in modules(package) if hasattr(module, declaration)]
    return sorted(found, key=lambda module: str(getattr(module, declaration).id))


def choose(
    known: Iterable[Unit],
    declared: Callable[[Unit], Declaration],
    only: Iterable[str],
    skip: Iterable[str],
    listing: str,
) -> list[Unit]:
    """The units that a user asked for, by id or name; `listing` is the hint for one that is not known."""
    rows = list(known)
    names = {key.lower(): declared(unit).id for unit in rows for key in (declared(unit).id, declared(unit).name)}
    wanted, unwanted = (ids(words, names, "check", listing) for words in (only, skip))
    return [unit for unit in rows if declared(unit).id not in unwanted and (not wanted or declared(unit).id in wanted)]


def ids(words: Iterable[str], names: Mapping[str, str], what: str, listing: str) -> frozenset[str]:
    """The ids that words of `--only` and `--skip` mean: ids, names and patterns such as `PT1*`, commas between them.

    `names` has the id of each id and name, in lower case. A word that means nothing is a mistake.
    """
    found: set[str] = set()
    for word in (part.strip() for text in words for part in text.split(",")):
        if not word:
            continue
        meant = {names[name] for name in fnmatch.filter(names, word.lower())}
        if not meant:
            near = dict.fromkeys([*names.values(), *(name for name in names if name.upper() not in names.values())])
            raise UserError(f"no such {what}: `{word}`", did_you_mean(word, near, listing))
        found |= meant
    return frozenset(found)
