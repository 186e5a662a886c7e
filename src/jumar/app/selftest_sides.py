"""The two machines of a self-test as environments: the cards as this shell sees them, and a clean emulated one.

The emulator gets none of this shell's variables but a few: what is wrong with the machine (a variable, a path, a module
that is loaded at start) is then a difference, and not on both sides.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.machine.smi.result import View
    from jumar.selftest.side import Side

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
_KEPT = ("CONDA_PREFIX", "HOME", "JUMAR_CACHE", "LANG", "LANGUAGE", "LC_ALL", "LOGNAME", "OMP_NUM_THREADS", "PATH",
         "SHELL", "TERM", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_DATA_HOME")  # fmt: skip
_PACKAGES = ("jumar", "torch", "torch_npu", "numpy", "mindspore", "onnx")


class Cards(NamedTuple):
    """The cards that may be used, and why the others are not."""

    free: tuple[int, ...]
    taken: Mapping[int, str]


def card(*, emulated: bool, soc: str | None, cards: int | None) -> tuple[Side, Cards]:
    """The side of the cards: real ones that nobody uses, or emulated ones."""
    from jumar.selftest.side import CARD, Side

    if emulated:
        environ = _emulated(soc, cards)
        return Side(CARD, environ, True), Cards(tuple(range(int(environ["JUMAR_CARDS"]))), {})
    environ = _real()
    found = _free(environ, cards)
    return Side(CARD, {**environ, VISIBLE: ",".join(map(str, found.free))}, False), found


def emulator(machine: Mapping[str, Any], cards: int) -> Side:
    """A clean emulated machine with the same chip and as many cards."""
    from jumar.emulate import env, prefix
    from jumar.runtime import variables
    from jumar.selftest.side import EMULATOR, Side

    base = clean(os.environ)
    values = env.environment(_soc(machine), cards, None, base)
    prefix.prepare(values)
    environ = {**base, **prefix.environment(prefix.default_place(values), values, base)}
    own = {variables.MACHINE.name: f"selftest-emulator-{os.getpid()}", variables.ANNOUNCED.name: "1"}
    return Side(EMULATOR, {**environ, **own}, True)


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """A few variables of this shell; of its paths only what Python needs to find the packages."""
    kept = {name: environ[name] for name in _KEPT if environ.get(name)}
    places = {str(Path(spec.origin).parents[1]) for name in _PACKAGES
              if (spec := util.find_spec(name)) is not None and spec.origin}  # fmt: skip
    paths = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path in places]
    libraries = [path for path in environ.get("LD_LIBRARY_PATH", "").split(":") if path and not _is_of_cann(path)]
    more = {"PYTHONPATH": os.pathsep.join(paths), "LD_LIBRARY_PATH": ":".join(libraries)}
    return {**kept, **{name: value for name, value in more.items() if value}}


def _is_of_cann(folder: str) -> bool:
    return "ascend" in folder.lower() or any(
        (Path(folder) / name).exists() for name in ("libascendcl.so", "libdcmi.so")
    )


def _soc(machine: Mapping[str, Any]) -> str | None:
    """The chip that the card says it is; None where it says something unknown."""
    from jumar.tables import socs

    try:
        return socs.known(str(machine["name"]))
    except (KeyError, UserError):
        return None


def _emulated(soc: str | None, cards: int | None) -> dict[str, str]:
    from jumar.emulate import env, prefix
    from jumar.runtime import activation, variables

    base = dict(os.environ)
    if not (activation.decide(base).on and variables.PREFIX.text(base) and soc is None and cards is None):
        wanted = cards or (variables.CARDS.read(base) if variables.CARDS.text(base) else 2)
        values = env.environment(soc, wanted, None, base)
        prefix.prepare(values)
        added = prefix.environment(prefix.default_place(values), values, base)
        if shutil.which("npu-smi", path=base.get("PATH", os.defpath)):  # one of the user's own comes first
            added["PATH"] = f"{base['PATH']}:{added['PATH']}"
        base.update(added)
    base.setdefault(variables.MACHINE.name, f"selftest-card-{os.getpid()}")
    base[variables.ANNOUNCED.name] = "1"
    return base


def _real() -> dict[str, str]:
    from jumar.runtime import npus, variables

    if not npus.devices():
        raise UserError(
            "no NPU found on this machine",
            "`jumar selftest --emulated` runs the same cases on emulated cards; it proves the way, not a card",
        )
    if not npus.has_cann(os.environ):
        raise UserError("CANN is not in the environment of this shell",
                        "`source /usr/local/Ascend/ascend-toolkit/set_env.sh` and try again")  # fmt: skip
    return {**os.environ, variables.EMULATE.name: "0"}


def _free(environ: Mapping[str, str], wanted: int | None) -> Cards:
    """Cards that nobody uses, among those that the user made visible."""
    from jumar.machine.smi.free import why_not

    reasons = {one.number: why_not(one) for one in look(environ).cards}
    visible = environ.get(VISIBLE)
    if visible:
        chosen = [int(word) for word in visible.split(",") if word.strip().isdecimal()]
        reasons = {number: reasons.get(number, "npu-smi does not show it") for number in chosen}
    free = tuple(number for number, reason in reasons.items() if not reason)[: wanted or None]
    taken = {number: reason for number, reason in reasons.items() if reason}
    if not free or len(free) < (wanted or 0):
        told = "; ".join(f"card {number}: {reason}" for number, reason in taken.items())
        raise UserError(f"{len(free)} of the cards {'are' if len(free) != 1 else 'is'} free ({told})",
                        "wait, or name cards of yours: `ASCEND_RT_VISIBLE_DEVICES=2,3 jumar selftest`")  # fmt: skip
    return Cards(free, taken)


def look(environ: Mapping[str, str]) -> View:
    """What the npu-smi of a side shows."""
    from jumar.machine.probe.local import run
    from jumar.machine.smi import read

    return read.view(lambda: run(["npu-smi", "info"], read.TIMEOUT, {**environ, "LC_ALL": "C"}))
