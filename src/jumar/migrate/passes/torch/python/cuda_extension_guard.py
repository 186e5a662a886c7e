"""`if x.is_cuda:` in front of a compiled CUDA kernel: with NPU tensors the branch must not be taken."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import kernels
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT174",
    name="cuda-extension-guard",
    summary="a test for CUDA tensors in front of a compiled CUDA kernel",
    keywords=("is_cuda",),
)


def visit_Attribute(node: ast.Attribute, file: PyFile) -> Iterator[Finding]:
    if node.attr != "is_cuda":
        return
    guard = kernels.guard_of(node, file)
    if guard is None:
        return
    if guard.has_way_out:
        message = f"stays: NPU tensors must not reach the CUDA kernel `{guard.kernel}`"
        fix = "nothing to do while the other branch is plain torch; for speed, port the kernel to Ascend C"
    else:
        message = f"NPU tensors fail here, in front of the CUDA kernel `{guard.kernel}`"
        fix = "give NPU tensors a branch in plain torch, or port the kernel to Ascend C"
    yield file.report(RULE, guard.test, State.HAND, message, fix, subject=guard.kernel)
