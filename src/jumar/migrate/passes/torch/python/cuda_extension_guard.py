"""A test for CUDA in front of a kernel that only CUDA has: with NPU tensors the branch must not be taken.

Which tests those are is decided in `units/settle.py`, when all rules have spoken.
"""

from __future__ import annotations

import ast

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT174",
    name="cuda-extension-guard",
    summary="a test for CUDA in front of a CUDA kernel",
    keywords=("cuda",),
)


def stays(file: PyFile, test: ast.expr, kernel: str, has_way_out: bool) -> Finding:
    """What to say about a test that is left as it is."""
    if has_way_out:
        message = f"stays: NPU tensors must not reach the CUDA kernel `{kernel}`"
        fix = "nothing to do while the other branch is plain torch; for speed, port the kernel to Ascend C"
    else:
        message = f"NPU tensors fail here, in front of the CUDA kernel `{kernel}`"
        fix = "give NPU tensors a branch in plain torch, or port the kernel to Ascend C"
    return file.report(RULE, test, State.HAND, message, fix, subject=kernel)
