"""A self-test on emulated cards, on a machine that may differ on purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from machines import PLANTS, SelfTest, Tested


@pytest.fixture
def selftest(tmp_path: Path) -> SelfTest:
    """Run the command as a user does; `planted` names what is wrong with the card's side."""

    def run(*words: str, planted: str = "", **variables: str) -> Tested:
        archive = tmp_path / "selftest.zip"
        environ = {**os.environ, **variables}
        if planted:
            environ |= {"PLANTED": planted, "PYTHONPATH": str(PLANTS)}
        command = [sys.executable, "-m", "jumar.cli.main", "selftest", "--emulated", "-o", str(archive), *words]
        done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=1500)
        with zipfile.ZipFile(archive) as packed:
            document = json.loads(packed.read("selftest.json"))
        return Tested(done.returncode, document, done.stdout + done.stderr, archive)

    return run
