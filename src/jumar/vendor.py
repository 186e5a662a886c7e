"""The vendor's programs on the emulated machine: its `bin/` scripts start them through here.

Part of no feature, because `atc` belongs to `export` and the others to `emulate`; each is imported when it is called.
"""

from __future__ import annotations

import sys

from jumar.core.errors import UserError


def run(name: str) -> int:
    """Run a program on the words of the command line; its exit code."""
    try:
        return _run(name)
    except UserError as error:
        sys.stderr.write(f"{name}: {error.message}\n")
        return 1


def _run(name: str) -> int:
    if name == "npu-smi":
        from jumar.emulate.smi import main as npu_smi

        return npu_smi.main()
    if name == "hccn_tool":
        from jumar.emulate import hccn_tool

        return hccn_tool.main()
    from jumar.export.standin import atc

    return atc.main()
