"""torch and torch_npu: a pair, and one that belongs to this CANN (data/torch_npu_versions.json)."""

from __future__ import annotations

from jumar.core.finding import Finding
from jumar.machine import pairs
from jumar.machine.check import Check, Report, Skip, error, note, warning
from jumar.machine.host import Host, Python, Unknown
from jumar.machine.pairs import Fit
from jumar.tables import tested

CHECK = Check("DR503", "torch-pair", "torch and torch_npu fit each other and CANN")
FIX = "jumar plan   # a set that fits"


def run(host: Host) -> Report:
    python = host.python()
    torch, plugin = python.version_of("torch"), python.version_of("torch-npu")
    if torch is None and plugin is None:
        raise Skip("torch is not installed in this Python")
    told = f"torch {torch or 'missing'}, torch_npu {plugin or 'missing'}"
    if plugin is None:
        return Report(told, tuple(_no_plugin(host, python, str(torch))))
    if torch is None:
        rows = pairs.torch_npu(plugin)
        fix = f"{python.executable} -m pip install torch=={rows[0].torch if rows else pairs.base(plugin)}"
        return Report(told, (error(CHECK, f"torch_npu {plugin} is installed without torch", fix),))
    pair = pairs.torch_and_torch_npu(torch, plugin, str(python.facts.get("builds", {}).get("torch", "")))
    if pair.fit is Fit.DOES_NOT:
        return Report(told, (error(CHECK, pair.why, _other(python, torch, plugin)),))
    report = _against_cann(host, told, plugin)
    if pair.fit is Fit.UNKNOWN:
        return report._replace(unknown=(warning(CHECK, pair.why, FIX), *report.unknown))
    return report


def _other(python: Python, torch: str, plugin: str) -> str:
    match, rows = pairs.torch_npu_for(torch), pairs.torch_npu(plugin)
    wanted = rows[0].torch if rows else pairs.base(plugin)
    words = f"torch_npu=={match}" if match else f"torch=={wanted} torch_npu=={plugin}"
    return f"{python.executable} -m pip install {words}"


def _no_plugin(host: Host, python: Python, torch: str) -> list[Finding]:
    if not host.has_npus():
        return []
    match = pairs.torch_npu_for(torch)
    if match is None:
        return [
            warning(
                CHECK,
                f"torch {torch} has no torch_npu: programs will not see the NPUs",
                "jumar plan   # a pair that fits",
            )
        ]
    return [
        warning(
            CHECK,
            f"torch {torch} is installed without torch_npu",
            f"{python.executable} -m pip install torch_npu=={match}",
        )
    ]


def _against_cann(host: Host, told: str, plugin: str) -> Report:
    rows = pairs.torch_npu(plugin)
    try:
        installed = host.toolkit().version
    except Unknown as unknown:
        if not rows:
            return Report(told, (note(CHECK, f"torch_npu {plugin} is not in the tables: its CANN is not known"),))
        why = f"torch_npu {plugin} belongs to CANN {rows[0].cann}; which one is installed is not known: {unknown}"
        return Report(told, unknown=(warning(CHECK, why, FIX),) if host.has_npus() else ())
    if host.prefix and (plugin, installed) == (tested.pair().torch_npu, tested.pair().cann):
        return Report(told)
    answer = pairs.framework_and_cann("torch_npu", plugin, rows, installed)
    if answer.fit is Fit.FITS:
        return Report(told)
    if answer.fit is Fit.DOES_NOT:
        return Report(told, (error(CHECK, answer.why, FIX),))
    return Report(told, unknown=(warning(CHECK, answer.why, FIX),))
