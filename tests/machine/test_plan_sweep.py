"""Every install script that the tables can give is clean bash: chips, architectures, frameworks and CANN releases."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumar.machine.plan import build, shell
from jumar.machine.plan.build import Plan
from jumar.machine.plan.candidates import candidates
from jumar.machine.plan.host import Host
from jumar.machine.plan.request import PlanRequest
from jumar.tables import chips

BATCH = 40
KINDS = ({}, {"no_root": True})
"""With and without root: other steps."""


def _scripts() -> Iterator[str]:
    """Those with a line that no script before them has; the numbers in it aside."""
    seen: set[str] = set()
    every = {
        (one.family, one.arch, one.framework, one.version, one.cann)
        for framework in ("torch", "mindspore", "none")
        for one in candidates(framework)
    }
    for family, arch, framework, version, cann in sorted(every):
        for kind in KINDS:
            wish = f"{framework}=={version}" if version else framework
            asked = PlanRequest(chip=_chip(family), arch=arch, framework=wish, cann=cann, **kind)
            made = build.make(asked, Host(), build.PlanOptions(extras=build.EXTRAS))
            assert isinstance(made, Plan), (asked, made)
            text = shell.script(made)
            lines = {re.sub(r"\d+(\.\w+)*", "N", line) for line in text.splitlines()}
            if not lines <= seen:
                seen |= lines
                yield text


def _chip(family: str) -> str:
    return next(chip for chip, name in chips.chips().items() if name == family)


@pytest.mark.slow
def test_every_script_is_clean_bash(tmp_path: Path, shellcheck: str) -> None:
    for number, text in enumerate(_scripts()):
        (tmp_path / f"{number}.sh").write_text(text)
    files = sorted(tmp_path.glob("*.sh"))
    assert len(files) > 100
    for start in range(0, len(files), BATCH):
        checked = subprocess.run([shellcheck, *map(str, files[start : start + BATCH])], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout[-3000:]
