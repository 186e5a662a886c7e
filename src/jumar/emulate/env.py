"""The variables and the library path of the emulated machine, as values: callers set or print them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.runtime import standins, variables
from jumar.tables import socs as soc_table

DEFAULT_SOC = variables.SOC.default


def environment(
    soc: str | None = None,
    cards: int | None = None,
    memory: str | None = None,
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """What to add to an environment so that programs started in it run on the emulated machine."""
    before = dict(base or {})
    values = {
        variables.EMULATE.name: "1",
        variables.SOC.name: check_soc(soc or variables.SOC.read(before)),
        variables.CARDS.name: str(variables.CARDS.read(before) if cards is None else _check_cards(cards)),
        "LD_LIBRARY_PATH": ":".join([str(library_dir()), *_other_paths(before)]),
        **settings(before),
    }
    if size := memory or variables.MEMORY.text(before):
        values[variables.MEMORY.name] = _check_memory(size)
    return values


def memory_mib(values: Mapping[str, str]) -> int:
    """Memory per card, in MiB, in an environment."""
    return variables.MEMORY.read(values) or int(socs()[variables.SOC.read(values)]["memory_mib"])


def base_version(version: str) -> str:
    """The release that a version of torch or torch_npu belongs to: 2.7.1 for 2.7.1.post2 and 2.7.1+cpu."""
    return re.split(r"\+|\.post|rc", version)[0]


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What torch_npu and torch themselves read, wherever the stand-ins were loaded from."""
    # The glue runs operators at once: a task queue would let copies overtake them.
    values = {"TASK_QUEUE_ENABLE": "0"}
    home = environ.get("ASCEND_HOME_PATH")
    if not home or not (Path(home) / "lib64" / standins.LIBRARY).exists():
        home = values["ASCEND_HOME_PATH"] = str(library_dir().parent)
    # torch_npu refuses to start without a folder of operator packages.
    if not environ.get("ASCEND_OPP_PATH"):
        values["ASCEND_OPP_PATH"] = f"{home}/opp"
    return values


def library_dir() -> Path:
    return Path(__file__).parent / "lib64"


def include_dir() -> Path:
    """Where the headers are that programs in C and C++ are compiled against."""
    return Path(__file__).parent / "include"


def libraries() -> list[Path]:
    """The stand-ins in the order they can be loaded: the one with the code first."""
    found = sorted(library_dir().glob("lib*.so"), key=lambda path: (path.name != standins.LIBRARY, path.name))
    if not found:
        raise UserError(
            f"the stand-in libraries are missing: {library_dir()}",
            hint="install jumar again from a wheel or with `pip install .`",
        )
    return found


def socs() -> dict[str, dict[str, Any]]:
    """Chips by SoC name."""
    return soc_table.socs()


def has_bfloat16() -> bool:
    """Whether the chip that this process emulates has bfloat16."""
    return bool(socs().get(variables.SOC.read(), {}).get("bf16", True))


def chip() -> str:
    """The group of that chip in the table of operators."""
    return str(socs().get(variables.SOC.read(), {}).get("operators", "910B"))


def check_soc(name: str) -> str:
    """The SoC name as the vendor spells it: `910b3` means Ascend910B3."""
    return soc_table.known(name)


def _check_cards(cards: int) -> int:
    if not 1 <= cards <= 64:
        raise UserError(f"`{cards}` is not a number of cards", hint="take 1 to 64")
    return cards


def _check_memory(memory: str) -> str:
    if not variables.MEMORY.kind.accepts(memory):
        raise UserError(f"`{memory}` is not a memory size", hint=variables.MEMORY.kind.hint)
    return memory


def _other_paths(environ: Mapping[str, str]) -> list[str]:
    own = str(library_dir())
    return [path for path in environ.get("LD_LIBRARY_PATH", "").split(":") if path and path != own]
