"""The variables and the library path of the emulated machine, as values: callers set or print them."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.tables import socs as soc_table
from jumar.tables.load import table

DEFAULT_SOC = "Ascend910B3"
DEFAULT_CARDS = 8
_CORE = "libjumar_ascend.so"


def environment(
    soc: str | None = None,
    cards: int | None = None,
    memory: str | None = None,
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """What to add to an environment so that programs started in it run on the emulated machine."""
    before = dict(base or {})
    values = {
        "JUMAR_EMULATE": "1",
        "JUMAR_SOC": check_soc(soc or before.get("JUMAR_SOC") or DEFAULT_SOC),
        "JUMAR_CARDS": _check_cards(str(cards if cards is not None else before.get("JUMAR_CARDS") or DEFAULT_CARDS)),
        "JUMAR_MODULES": str(modules_dir()),
        "LD_LIBRARY_PATH": ":".join([str(library_dir()), *_other_paths(before)]),
        **settings(before),
    }
    if size := memory or before.get("JUMAR_MEMORY"):
        values["JUMAR_MEMORY"] = _check_memory(size)
    return values


def memory_mib(values: Mapping[str, str]) -> int:
    """Memory per card that an environment means."""
    size = values.get("JUMAR_MEMORY")
    if not size:
        return int(socs()[values["JUMAR_SOC"]]["memory_mib"])
    return int(float(size.rstrip("KMGkmg")) * {"k": 1 / 1024, "m": 1, "g": 1024}.get(size[-1].lower(), 2**-20))


def base_version(version: str) -> str:
    """The release that a version of torch or torch_npu belongs to: 2.7.1 for 2.7.1.post2 and 2.7.1+cpu."""
    return re.split(r"\+|\.post|rc", version)[0]


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What torch_npu and torch themselves read, wherever the stand-ins were loaded from."""
    # The glue runs operators at once: a task queue would let copies overtake them.
    values = {"TASK_QUEUE_ENABLE": "0"}
    home = environ.get("ASCEND_HOME_PATH")
    if not home or not (Path(home) / "lib64" / _CORE).exists():
        home = values["ASCEND_HOME_PATH"] = str(library_dir().parent)
    # torch_npu refuses to start without a folder of operator packages.
    if not environ.get("ASCEND_OPP_PATH"):
        values["ASCEND_OPP_PATH"] = f"{home}/opp"
    return values


def wanted(environ: Mapping[str, str]) -> bool:
    """`JUMAR_EMULATE` decides; without it, a machine that has neither CANN nor a device is emulated."""
    choice = environ.get("JUMAR_EMULATE", "")
    if choice:
        return choice != "0"
    return not has_real_cann(environ)


def has_real_cann(environ: Mapping[str, str]) -> bool:
    """A driver's device file, or the vendor's runtime where the loader or CANN's own variable points to."""
    if glob.glob("/dev/davinci[0-9]*"):
        return True
    folders = [*_other_paths(environ)]
    if home := environ.get("ASCEND_HOME_PATH"):
        folders.append(f"{home}/lib64")
    return any(_is_vendor(Path(folder)) for folder in folders)


def library_dir() -> Path:
    return Path(__file__).parent / "lib64"


def modules_dir() -> Path:
    """The stand-ins of the vendor's Python modules."""
    return Path(__file__).parents[1] / str(table("emulated_tools.toml")["modules"])


def libraries() -> list[Path]:
    """The stand-ins in the order they can be loaded: the one with the code first."""
    found = sorted(library_dir().glob("lib*.so"), key=lambda path: (path.name != _CORE, path.name))
    if not found:
        raise UserError(
            f"the stand-in libraries are missing: {library_dir()}",
            hint="install jumar again from a wheel or with `pip install .`",
        )
    return found


def socs() -> dict[str, dict[str, Any]]:
    """Chips by SoC name."""
    return soc_table.socs()


def check_soc(name: str) -> str:
    """The SoC name as the vendor spells it: `910b3` means Ascend910B3."""
    return soc_table.known(name)


def _check_cards(cards: str) -> str:
    if not cards.isdecimal() or not 1 <= int(cards) <= 64:
        raise UserError(f"`{cards}` is not a number of cards", hint="take 1 to 64")
    return cards


def _check_memory(memory: str) -> str:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?[KMGkmg]?", memory) or float(memory.rstrip("KMGkmg")) == 0:
        raise UserError(f"`{memory}` is not a memory size", hint="write it as `32G` or `21534M`")
    return memory


def _other_paths(environ: Mapping[str, str]) -> list[str]:
    own = str(library_dir())
    return [path for path in environ.get("LD_LIBRARY_PATH", "").split(":") if path and path != own]


def _is_vendor(folder: Path) -> bool:
    return (folder / "libascendcl.so").exists() and not (folder / _CORE).exists()
