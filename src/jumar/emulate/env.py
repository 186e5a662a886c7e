"""The variables and the library path of the emulated machine, as values: callers set or print them."""

from __future__ import annotations

import difflib
import glob
import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError

DEFAULT_SOC = "Ascend910B3"
DEFAULT_CARDS = 8
TESTED = "the tested pair is torch 2.13.0 with torch_npu 2.13.0"
_CORE = "libjumar_cann.so"


def environment(
    soc: str | None = None,
    cards: int | None = None,
    memory: str | None = None,
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """What to add to an environment so that programs started in it run on the emulated machine."""
    before = dict(base or {})
    chosen = soc or before.get("JUMAR_SOC") or DEFAULT_SOC
    check_soc(chosen)
    if cards is not None and not 1 <= cards <= 64:
        raise UserError(f"`{cards}` is not a number of cards", hint="take 1 to 64")
    if memory is not None and not re.fullmatch(r"[0-9]+(\.[0-9]+)?[KMGkmg]?", memory):
        raise UserError(f"`{memory}` is not a memory size", hint="write it as `32G` or `21534M`")
    values = {
        "JUMAR_EMULATE": "1",
        "JUMAR_SOC": chosen,
        "JUMAR_CARDS": str(cards or before.get("JUMAR_CARDS") or DEFAULT_CARDS),
        "LD_LIBRARY_PATH": ":".join([str(library_dir()), *_other_paths(before)]),
        **settings(before),
    }
    if memory or before.get("JUMAR_MEMORY"):
        values["JUMAR_MEMORY"] = memory or before["JUMAR_MEMORY"]
    return values


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
    """Chips by SoC name, from data/emulated_socs.json."""
    text = (resources.files("jumar.data") / "emulated_socs.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, Any]] = json.loads(text)["socs"]
    return table


def check_soc(name: str) -> None:
    known = socs()
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = (
        "did you mean " + " or ".join(f"`{item}`" for item in near)
        if near
        else f"for example `{DEFAULT_SOC}`"
    )
    raise UserError(f"unknown SoC name: `{name}`", hint=hint)


def _other_paths(environ: Mapping[str, str]) -> list[str]:
    own = str(library_dir())
    return [path for path in environ.get("LD_LIBRARY_PATH", "").split(":") if path and path != own]


def _is_vendor(folder: Path) -> bool:
    return (folder / "libascendcl.so").exists() and not (folder / _CORE).exists()
