"""`use_cuda=True` and `use_device="cuda"` of the older profiler in `torch.autograd`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT166",
    name="profiler-use-cuda",
    summary="the older profiler of torch.autograd with use_cuda",
    keywords=("use_cuda", "use_device"),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    keyword = file.keyword(node, "use_cuda") or file.keyword(node, "use_device")
    if keyword is None:
        return
    name = file.name(node.func) or ""
    if name == "torch.profiler.profile":
        message = "`use_cuda` has no effect: `torch_npu.profiler.profile` takes `activities`"
        yield file.report(RULE, keyword, State.HAND, message, "give `activities=[ProfilerActivity.NPU]` instead")
    elif name in ("torch.autograd.profiler.profile", "torch.autograd.profiler.emit_nvtx"):
        fix = "use `torch_npu.profiler.profile(activities=[torch_npu.profiler.ProfilerActivity.NPU])`"
        yield file.report(RULE, keyword, State.HAND, f"`{keyword.arg}` records CUDA events only", fix, subject=name)
