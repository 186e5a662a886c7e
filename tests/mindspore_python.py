"""An interpreter with MindSpore, in an environment that is kept.

JUMAR_TEST_MINDSPORE names another one to use, or says 0: no MindSpore tests.
"""

from __future__ import annotations

import os
import platform
import sys

import kept_environments
from jumar.tables import tested

TESTED = tested.mindspore()
VERSION = TESTED.mindspore
_NEEDED = 6 << 30
"""Bytes: the wheel of 0.8 GB and the 2.6 GB it unpacks to, with room to spare."""


def find() -> tuple[str, str]:
    """The interpreter, or the reason why there is none."""
    choice = os.environ.get("JUMAR_TEST_MINDSPORE", "")
    if choice:
        return ("", "JUMAR_TEST_MINDSPORE=0") if choice == "0" else (choice, "")
    if "{}.{}".format(*sys.version_info) not in TESTED.python or platform.machine() != "x86_64":
        return "", f"mindspore {VERSION} has no wheel for Python {platform.python_version()} on {platform.machine()}"
    name = f"mindspore-{VERSION}-cp{sys.version_info[0]}{sys.version_info[1]}"
    wanted = [f"mindspore=={VERSION}", f"numpy{TESTED.numpy}"]
    return kept_environments.environment(name, sys.executable, wanted, _NEEDED)
