"""Execution providers of onnxruntime: `CUDAExecutionProvider` becomes `CANNExecutionProvider`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import shapes, targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT206",
    name="onnxruntime-provider",
    summary="an execution provider of onnxruntime for CUDA",
    keywords=("executionprovider",),
)
_OLD, _NEW = "CUDAExecutionProvider", "CANNExecutionProvider"


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    if node.value == "TensorrtExecutionProvider":
        fix = "leave it out: `CANNExecutionProvider` is the one for NPUs"
        yield file.report(RULE, node, State.UNSUPPORTED, "TensorRT is for CUDA only", fix, subject=node.value)
        return
    if node.value != _OLD or shapes.is_text(node, file):
        return
    up = file.parent(node)
    has_options = isinstance(up, ast.Tuple) and any(isinstance(item, ast.Dict) and item.keys for item in up.elts)
    edits = file.in_string(node, _OLD, _NEW)
    message = f"`{_OLD}` becomes `{_NEW}`"
    if has_options:
        fix = (
            f"write `{_NEW}`, keep `device_id`, and rename `gpu_mem_limit` to `npu_mem_limit`; other options are CUDA's"
        )
        yield file.report(RULE, node, State.HAND, message, fix, subject=_OLD)
    elif targets.is_agnostic(file) and isinstance(up, (ast.List, ast.Tuple)):
        known = any(isinstance(item, ast.Constant) and item.value == _NEW for item in up.elts)
        start, _ = file.source.span(node)
        both = () if known else (Edit(start, start, f'"{_NEW}", '.encode()),)
        yield file.rewrite(RULE, node, f"`{_NEW}` is put before `{_OLD}`", *both, subject=_OLD, styles=WRITTEN_STYLES)
    elif edits is None or targets.is_agnostic(file):
        yield file.report(RULE, node, State.HAND, message, "choose it by device", subject=_OLD)
    else:
        yield file.rewrite(RULE, node, message, *edits, subject=_OLD, styles=WRITTEN_STYLES)
