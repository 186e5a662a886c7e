"""torch and torch_npu: a pair, and one that belongs to this CANN (data/torch_npu_versions.json)."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from jumar.core.finding import Finding
from jumar.machine import pairs
from jumar.machine.check import Check, Report, Skip, error, note, warning
from jumar.machine.host import Host, Python, Unknown

CHECK = Check("DR503", "torch-pair", "torch and torch_npu fit each other and CANN")


def run(host: Host) -> Report:
    python = host.python()
    torch, plugin = python.version_of("torch"), python.version_of("torch-npu")
    if torch is None and plugin is None:
        raise Skip("torch is not installed in this Python")
    told = f"torch {torch or 'missing'}, torch_npu {plugin or 'missing'}"
    if plugin is None:
        return Report(told, tuple(_no_plugin(host, python, str(torch))))
    row = pairs.torch_npu(plugin)
    if torch is None:
        fix = f"{python.executable} -m pip install torch=={row.torch if row else _base(plugin)}"
        return Report(told, (error(CHECK, f"torch_npu {plugin} is installed without torch", fix),))
    wanted = row.torch if row else _base(plugin)
    if _base(torch) != _base(wanted):
        match = pairs.torch_npu_for(torch)
        other = f"torch_npu=={match}" if match else f"torch=={wanted} torch_npu=={plugin}"
        message = f"torch_npu {plugin} belongs to torch {wanted}, installed is torch {torch}"
        return Report(told, (error(CHECK, message, f"{python.executable} -m pip install {other}"),))
    return Report(told, tuple(_against_cann(host, plugin, row)))


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


def _against_cann(host: Host, plugin: str, row: pairs.Row | None) -> list[Finding]:
    if row is None:
        return [note(CHECK, f"torch_npu {plugin} is not in the tables: its CANN is not known")]
    try:
        installed = host.toolkit().version
    except Unknown:
        return []
    order = pairs.compare(installed, row.cann)
    if order in (0, None):
        return []
    message = f"torch_npu {plugin} belongs to CANN {row.cann}, installed is {installed}"
    if order == -1:
        return [error(CHECK, f"{message}: functions may be missing", "jumar plan   # a set that fits")]
    return [warning(CHECK, f"{message}; newer ones mostly work", "jumar plan   # a set that fits")]


def _base(version: str) -> str:
    try:
        return Version(version).base_version
    except InvalidVersion:
        return version
