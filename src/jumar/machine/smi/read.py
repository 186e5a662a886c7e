"""Asks npu-smi, and the host about the processes it names."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path

from jumar.core.errors import UserError
from jumar.machine.parse import npu_smi
from jumar.machine.parse.layout import UnknownLayout
from jumar.machine.probe import LATE, Ran
from jumar.machine.probe.local import run
from jumar.machine.smi.result import Card, Process, View

TIMEOUT = 10.0
"""Seconds; a healthy npu-smi answers in one or two."""
EMULATE = 'eval "$(jumar emulate env)" puts an emulated npu-smi on the path'


def ask() -> Ran:
    """Run `npu-smi info`."""
    return run(["npu-smi", "info"], TIMEOUT, {**os.environ, "LC_ALL": "C"})


def view(asked: Callable[[], Ran] = ask, proc: Path = Path("/proc")) -> View:
    """The cards now; what npu-smi does not say clearly is an error, never a guess."""
    ran = asked()
    if ran.problem == LATE:
        raise UserError(
            f"`npu-smi info` did not answer within {TIMEOUT:g} seconds",
            "a card or the driver hangs: `dmesg -T | tail -50`, `jumar doctor`",
        )
    if ran.problem:
        raise UserError("cannot run `npu-smi`: is the driver installed?", EMULATE)
    try:
        info = npu_smi.info(ran.out)
    except npu_smi.SmiFailed as error:
        raise UserError(f"npu-smi failed: {error.message}", _hint(error.code)) from error
    except UnknownLayout as error:
        what = (ran.err.strip() or ran.out.strip()).partition("\n")[0] if ran.code else str(error)
        raise UserError(
            f"npu-smi printed an unknown layout: {what}",
            "send the output of `npu-smi info` with a bug report; no number is shown that might be wrong",
        ) from error
    return View(info.tool, _cards(info, proc), info.notes)


def _hint(code: int | None) -> str:
    return f"`jumar explain 'dcmi module initialize failed. ret is {code}'`" if code else "`jumar doctor` explains more"


def _cards(info: npu_smi.Info, proc: Path) -> tuple[Card, ...]:
    found = []
    for number, chip in enumerate(info.chips):
        memory = chip.memory
        processes = None
        if info.processes is not None:
            own = [item for item in info.processes if (item.npu, item.chip) == (chip.npu, chip.chip)]
            processes = tuple(_process(item, proc) for item in own)
        found.append(
            Card(
                number=number,
                npu=chip.npu,
                chip=chip.chip,
                name=chip.name,
                health=chip.health,
                bus=chip.bus,
                busy=chip.busy,
                used_mib=memory.used if memory else None,
                total_mib=memory.total if memory else None,
                power=chip.power,
                temp=chip.temp,
                processes=processes,
            )
        )
    return tuple(found)


def _process(item: npu_smi.Process, proc: Path) -> Process:
    """User and command from /proc; in a container, processes of others are not there."""
    folder = proc / str(item.pid)
    try:
        words = [word for word in (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0") if word]
        user = _user(folder.stat().st_uid)
    except OSError:
        return Process(item.pid, item.name, item.memory_mib, "", "", "")
    return Process(item.pid, item.name, item.memory_mib, user, " ".join(words), script_of(words))


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def script_of(words: list[str]) -> str:
    """What a Python process runs: `train.py`, `-m package.train`, or nothing for `-c` and other programs."""
    if not words or "python" not in os.path.basename(words[0]):
        return ""
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c"):
        at += 2 if words[at] in ("-W", "-X") else 1
    if at + 1 < len(words) and words[at] == "-m":
        return f"-m {words[at + 1]}"
    return words[at] if at < len(words) and words[at] != "-c" else ""
