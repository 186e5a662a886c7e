"""The cache: found again by another process, and of no effect on results."""

from __future__ import annotations

import os
import subprocess
import sys

_SALT = """
from jumar.migrate.cache import _salt
from jumar.migrate.settings import Facts, Settings
print(_salt(Settings(skip=frozenset("abcdefgh"), facts=Facts(own_methods=frozenset("ijklmnop")))).hex())
"""


def test_every_process_asks_for_the_same_entries() -> None:
    salts = {
        subprocess.run(
            [sys.executable, "-c", _SALT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(salts) == 1 and len(salts.pop().strip()) == 64
