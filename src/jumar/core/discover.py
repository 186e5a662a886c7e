"""Imports the unit modules of a package, once: a new unit needs no list to be edited."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType


@cache
def modules(package: str) -> tuple[ModuleType, ...]:
    """Every module directly inside `package` whose name has no leading underscore, by name."""
    parent = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(parent.__path__) if not info.name.startswith("_"))
    return tuple(importlib.import_module(f"{package}.{name}") for name in names)
