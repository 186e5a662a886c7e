"""Whether emulation was asked for in this process, and by what.

`JUMAR_EMULATE` decides; without it, a file in the virtual environment does, which `jumar emulate on` writes. Whoever
asks gets emulated cards, on a machine with real ones too. `jumar run`, `launch` and `emulate env` set the variable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple

from jumar.core.errors import UserError, cannot
from jumar.runtime import variables

MARKER = "jumar-emulate.pth"
"""Among the packages of the environment: Python runs it at every start there."""
_WHY = "# Programs of this environment get emulated NPUs; `jumar emulate off` removes this file.\n"
_LINE = 'import importlib.util as u; u.find_spec("jumar") and exec("import jumar.start; jumar.start.begin()")\n'
_FACT = "#: "
_KEPT = (variables.SOC, variables.CARDS, variables.MEMORY)


class Activation(NamedTuple):
    """The answer, and what gave it: `variable`, `environment` (the marker) or `nothing`."""

    on: bool
    by: str


def decide(environ: Mapping[str, str], prefix: str = sys.prefix) -> Activation:
    """Whether emulation is on, and what switched it on."""
    choice = variables.EMULATE.read(environ)
    if choice is not None:
        return Activation(choice, "variable")
    if os.path.exists(marker(prefix)):
        return Activation(True, "environment")
    return Activation(False, "nothing")


def marker(prefix: str = sys.prefix) -> str:
    """The path of the marker, whether or not it exists."""
    return os.path.join(prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages", MARKER)


def machine(prefix: str = sys.prefix) -> dict[str, str]:
    """The variables of the machine that `jumar emulate on` described; empty without a marker."""
    try:
        with open(marker(prefix), encoding="utf-8") as file:
            rows = [line[len(_FACT) : -1].partition("=") for line in file if line.startswith(_FACT)]
    except OSError:
        return {}
    return {name: value for name, equals, value in rows if equals}


def switch_on(values: Mapping[str, str], prefix: str = sys.prefix) -> str:
    """Write the marker of this virtual environment; returns its path."""
    if prefix == sys.base_prefix:
        raise UserError(
            "emulation is switched on per virtual environment, and this Python is not in one",
            "`python -m venv .venv`, or set `JUMAR_EMULATE=1` for one command",
        )
    kept = [f"{_FACT}{row.name}={values[row.name]}\n" for row in _KEPT if values.get(row.name)]
    try:
        with open(marker(prefix), "w", encoding="utf-8") as file:
            file.writelines([_WHY, *kept, _LINE])
    except OSError as error:
        raise cannot(f"write `{marker(prefix)}`", error, "is the environment yours?") from error
    return marker(prefix)


def switch_off(prefix: str = sys.prefix) -> bool:
    """Remove the marker; whether there was one."""
    try:
        os.unlink(marker(prefix))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise cannot(f"remove `{marker(prefix)}`", error, "is the environment yours?") from error
    return True
