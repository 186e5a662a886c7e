"""The cases of a self-test that are commands of Jumar or of the vendor: this is where features are put together."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jumar.selftest import programs
from jumar.selftest.result import DEVICE_FAULT, EMULATOR_WRONG, UNKNOWN, Difference
from jumar.selftest.run import Check
from jumar.selftest.side import Side

_INSIDE = 'cd "$0" && exec "$@"'
"""A command in a folder of its own: ATC leaves files where it runs."""
_SILENT = 'exec "$@" > /dev/null 2>&1'


def checks() -> list[Check]:
    """All of them, in the order in which they run."""
    return [
        Check("commands/npu-smi", _smi, _smi_differs),
        Check("commands/doctor", _doctor, _doctor_differs),
        Check("commands/compare-record", _record, _record_differs),
        Check("commands/perf-profile", _profile, _facts_differ("commands/perf-profile")),
        Check("commands/export-atc", _atc, _facts_differ("commands/export-atc")),
        Check("commands/mindspore", _mindspore, _facts_differ("commands/mindspore")),
    ]


def _run(words: list[str], environ: dict[str, str], folder: Path, seconds: float) -> tuple[int | None, str]:
    """Exit code, None for one that took too long, and the end of what it printed."""
    from jumar.machine.probe.local import run

    done = run(["sh", "-c", _INSIDE, str(folder), *words], seconds, environ)
    text = (done.err.strip() or done.out.strip())[-400:]
    return (None if done.problem else done.code), text


def _smi(side: Side, seconds: float) -> dict[str, Any]:
    from jumar.app.selftest_sides import look
    from jumar.tables import socs

    view = look(side.environ)
    with tempfile.TemporaryDirectory(prefix="jumar-selftest-") as folder:
        code, said = _run(
            [sys.executable, str(programs.path("card_name.py"))], dict(side.environ), Path(folder), seconds
        )
    name = said.rpartition("\n")[2] if code == 0 else ""
    shown = [card.name for card in view.cards]
    return {
        "names": sorted(set(shown)), "cards": len(shown), "health": sorted({card.health for card in view.cards}),
        "torch": name, "known": sorted({_known(socs.known, one) for one in shown}), "memory": [
            card.total_mib for card in view.cards][:1],
    }  # fmt: skip


def _known(find: Callable[[str], str], name: str) -> str:
    from jumar.core.errors import UserError

    try:
        return find(name)
    except UserError:
        return ""


def _smi_differs(card: dict[str, Any], emulator: dict[str, Any]) -> list[Difference]:
    """The names first: npu-smi and torch_npu of one machine have to mean the same chip."""
    id_ = "commands/npu-smi"
    if "failed" in card or "failed" in emulator:
        return _failed(id_, card, emulator)
    found = []
    if card["names"] != emulator["names"]:
        what = f"npu-smi shows {_list(card['names'])} on the card's side, {_list(emulator['names'])} on the emulator's"
        own = card["torch"] and card["torch"] not in card["known"]
        verdict = DEVICE_FAULT if own else EMULATOR_WRONG if card["torch"] in card["known"] else UNKNOWN
        why = (f"torch_npu on the same machine says {card['torch']}" if own else
               f"npu-smi and torch_npu of the card agree on {card['torch'] or 'nothing'}")  # fmt: skip
        found.append(Difference(id_, "name", what, verdict, why, {"card": card, "emulator": emulator}))
    for part in ("health",):
        if card[part] != emulator[part]:
            what = f"npu-smi shows {part} {_list(card[part])}, the emulator {_list(emulator[part])}"
            found.append(Difference(id_, part, what, DEVICE_FAULT, "the driver reports it of its own cards"))
    return found


def _doctor(side: Side, seconds: float) -> dict[str, Any]:
    """Status of every check that concerns cards, CANN and frameworks."""
    from jumar.machine import check
    from jumar.machine.host import Host
    from jumar.machine.probe.local import Local

    host = Host(Local(dict(side.environ)), sys.executable, 15.0)
    outcomes = list(check.run(host, check.units(), min(45.0, seconds)))
    seen = {outcome.check.name: outcome.status.value for outcome in outcomes}
    said = {outcome.check.name: [f"{row.id} {row.message}" for row in outcome.findings][:2] for outcome in outcomes}
    return {"status": {name: status for name, status in seen.items() if status in ("error", "warning")}, "said": said}


def _doctor_differs(card: dict[str, Any], emulator: dict[str, Any]) -> list[Difference]:
    id_ = "commands/doctor"
    if "failed" in card or "failed" in emulator:
        return _failed(id_, card, emulator)
    found = []
    for name in sorted({*card["status"], *emulator["status"]}):
        mine, theirs = card["status"].get(name, "ok"), emulator["status"].get(name, "ok")
        if mine != theirs and mine in ("error", "warning"):
            said = "; ".join(card["said"].get(name, []))
            found.append(Difference(id_, "doctor", f"`{name}` is {mine} on the card's side: {said}", UNKNOWN,
                                    "`jumar doctor` names the cause and the fix"))  # fmt: skip
    return found


def _record(side: Side, seconds: float) -> dict[str, Any]:
    """A small training, recorded as `jumar compare record` does; its losses and operators."""
    from jumar.app import compare
    from jumar.compare import reader
    from jumar.compare.runs import RecordRequest

    with tempfile.TemporaryDirectory(prefix="jumar-selftest-") as folder:
        place = Path(folder) / "record"
        limit = ["timeout", "--kill-after=5", f"{seconds:.0f}"]  # a recorder has none of its own
        words = ["sh", "-c", _SILENT, "sh", *limit, *_in(side), sys.executable, str(programs.path("training.py"))]
        code = compare.record(words, place, RecordRequest(steps=2, floor=0))
        ranks = reader.ranks(place)
        step = reader.step(ranks[0], sorted(ranks[0].steps)[0])
        kept = sorted({entry.op for entry in step.entries if entry.kind == "op"})
        return {"code": code, "ranks": len(ranks), "steps": len(ranks[0].steps), "operators": kept}


def _record_differs(card: dict[str, Any], emulator: dict[str, Any]) -> list[Difference]:
    id_ = "commands/compare-record"
    if "failed" in card or "failed" in emulator:
        return _failed(id_, card, emulator)
    found = [Difference(id_, part, f"{part}: {card[part]} on the card, {emulator[part]} on the emulator", UNKNOWN,
                        "the recorder sees other work") for part in ("code", "ranks", "steps")
             if card[part] != emulator[part]]  # fmt: skip
    alone = sorted(set(card["operators"]) ^ set(emulator["operators"]))
    if alone:
        found.append(Difference(id_, "operators", f"only one side calls {_list(alone)}", UNKNOWN,
                                "torch_npu chooses other operators"))  # fmt: skip
    return found


def _in(side: Side) -> Iterable[str]:
    """A command that gives a program the variables of a side, and those of the recorder."""
    import os

    gone = [word for name in os.environ if name not in side.environ for word in ("-u", name)]
    return ["env", *gone, *(f"{name}={value}" for name, value in side.environ.items())]


def _profile(side: Side, seconds: float) -> dict[str, Any]:
    """A profile of a small training, and what `jumar perf read` makes of it."""
    from jumar.app import perf, profiling

    with tempfile.TemporaryDirectory(prefix="jumar-selftest-") as folder:
        environ = dict(side.environ)
        if side.emulated:
            environ.update(profiling.variables(Path(folder)))
        words = [sys.executable, str(programs.path("training.py")), *([] if side.emulated else ["--profile", folder])]
        code, said = _run(words, environ, Path(folder), seconds)
        if code != 0:
            return {"code": code, "said": said}
        report = perf.read(Path(folder)).report
        return {"code": 0, "ranks": len(report.ranks), "has-time": all(rank.split.total > 0 for rank in report.ranks)}


def _atc(side: Side, seconds: float) -> dict[str, Any]:
    """A small model through the ATC of the side: the vendor's, where CANN is there."""
    atc = shutil.which("atc", path=side.environ.get("PATH"))
    if atc is None:
        return {"skipped": "no `atc` on the path: CANN's toolkit is not installed"}
    if side.emulated and _lacks("onnx"):
        return {"skipped": "the emulated `atc` needs `onnx`: pip install 'jumar[export]'"}
    soc = str(_smi(side, seconds)["torch"] or "Ascend910B3")
    with tempfile.TemporaryDirectory(prefix="jumar-selftest-") as folder:
        model = programs.path("add_relu.onnx")
        words = [atc, f"--model={model}", "--framework=5", f"--output={folder}/made", f"--soc_version={soc}"]
        code, said = _run(words, dict(side.environ), Path(folder), seconds)
        made = sorted(path.suffix for path in Path(folder).glob("made*"))
        refused, _ = _run([*words[:-1], "--soc_version=AscendNone"], dict(side.environ), Path(folder), seconds)
    return {"code": code, "made": made, "refuses-an-unknown-chip": refused != 0, **({"said": said} if code else {})}


def _mindspore(side: Side, seconds: float) -> dict[str, Any]:
    """A small cell on MindSpore's Ascend target."""
    from importlib import metadata

    if _lacks("mindspore"):
        return {"skipped": "MindSpore is not installed in this environment"}
    environ = dict(side.environ)
    if side.emulated:
        from jumar.emulate import env, mindspore, prefix
        from jumar.runtime import variables

        values = env.environment(variables.SOC.text(environ) or None, 1, None, environ)
        version = metadata.version("mindspore")
        environ.update(mindspore.emulated(values, environ, sys.executable, version))
        prefix.prepare({**values, variables.CANN.name: environ[variables.CANN.name]})
    with tempfile.TemporaryDirectory(prefix="jumar-selftest-") as folder:
        code, said = _run([sys.executable, str(programs.path("mindspore_cell.py"))], environ, Path(folder), seconds)
    return {"code": code, "said": said.rpartition("\n")[2] if code == 0 else said}


def _facts_differ(id_: str) -> Callable[[dict[str, Any], dict[str, Any]], list[Difference]]:
    def differences(card: dict[str, Any], emulator: dict[str, Any]) -> list[Difference]:
        if "failed" in card or "failed" in emulator:
            return _failed(id_, card, emulator)
        names = [name for name in {**card, **emulator} if card.get(name) != emulator.get(name)]
        return [Difference(id_, "fact", f"{name}: card {card.get(name)}, emulator {emulator.get(name)}", UNKNOWN,
                           "there is no third computation to ask") for name in names]  # fmt: skip

    return differences


def _failed(id_: str, card: dict[str, Any], emulator: dict[str, Any]) -> list[Difference]:
    """One of the sides cannot do it, or both: both is no difference, but nothing was seen."""
    if card.get("failed") and emulator.get("failed"):
        return []
    mine, theirs = card.get("failed", "works"), emulator.get("failed", "works")
    verdict = UNKNOWN if card.get("failed") else EMULATOR_WRONG
    return [Difference(id_, "error", f"card: {mine}; emulator: {theirs}", verdict, "only one side can do it")]


def _lacks(package: str) -> bool:
    from importlib import util

    return util.find_spec(package) is None


def _list(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names)) or "nothing"
