"""Whether the installed torch and torch_npu go together, were tested together, and which pair comes nearest."""

from __future__ import annotations

import platform
import sys

from packaging.version import Version

from jumar.core.errors import UserError
from jumar.emulate.env import base_version
from jumar.tables import tested, versions
from jumar.tables.versions import Release

INSTALL = "pip install 'jumar[emulator]'"
_OLDEST = Version("2.1.0")
"""Older torch has no place where a kernel of ours could stand in for torch_npu's."""


def check(torch: str, torch_npu: str) -> str:
    """Refuses a pair that cannot work; of one that works, a line if not all is known to, otherwise nothing."""
    if base_version(torch) != base_version(torch_npu):
        raise mismatch(torch, torch_npu)
    row = tested.find(torch, torch_npu)
    what = f"torch {torch} with torch_npu {torch_npu}"
    if row is None:
        return f"jumar: {what} is not a tested pair, it may fail; {_offer(nearest_tested(torch))}"
    if row.failed:
        return f"jumar: {what} was tested on {row.date} and failed in part: {', '.join(row.failed_checks)}"
    return ""


def mismatch(torch: str, torch_npu: str) -> UserError:
    """The error for a torch and a torch_npu of two releases."""
    found = nearest(torch)
    near = "" if found is None else f"the nearest pair is {_install(found.torch, found.torch_npu)}; "
    return UserError(f"torch {torch} and torch_npu {torch_npu} do not match", f"{near}{tested.pair_hint()}: {INSTALL}")


def missing(package: str, python: str = "", arch: str = "") -> UserError:
    """The error for a package that is not there: what to install on this Python."""
    default = versions.release_for(tested.pair().torch)
    python = python or _python()
    hint = INSTALL
    if default is not None and python not in default.pythons(arch or platform.machine()):
        found = nearest(default.torch, python, arch)
        why = f"torch {default.torch} has no wheel for Python {python}"
        hint = why if found is None else f"{why}; the nearest pair is {_install(found.torch, found.torch_npu)}"
    return UserError(f"`{package}` is not installed in this environment", hint)


def nearest(torch: str, python: str = "", arch: str = "") -> Release | None:
    """The released pair for the torch that is closest to this one and has wheels for this Python."""
    wanted = versions.public(torch)
    if wanted is None:
        return None
    python, arch = python or _python(), arch or platform.machine()
    names = {row.torch for row in versions.releases() if Version(row.torch) >= _OLDEST}
    best = [row for name in names if (row := versions.release_for(name)) is not None]
    rows = [row for row in best if row.published and python in row.pythons(arch)]
    return min(rows, key=lambda row: _distance(wanted, row.torch), default=None)


def nearest_tested(torch: str) -> tested.Pair:
    """The pair of the table whose torch is closest, one without failures first."""
    wanted = versions.public(torch) or Version(tested.pair().torch)
    return min(tested.pairs(), key=lambda row: (bool(row.failed), *_distance(wanted, row.torch)))


def _distance(wanted: Version, torch: str) -> tuple[int, int, bool]:
    """By minor release, then by patch; the newer one of two that are as close."""
    found = Version(torch)
    minor = abs((found.major - wanted.major) * 100 + found.minor - wanted.minor)
    return minor, abs(found.micro - wanted.micro), found < wanted


def _offer(row: tested.Pair) -> str:
    return f"the nearest tested one is torch {row.torch} with torch_npu {row.torch_npu}"


def _install(torch: str, torch_npu: str) -> str:
    return f"`pip install torch=={torch} torch_npu=={torch_npu}`"


def _python() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"
