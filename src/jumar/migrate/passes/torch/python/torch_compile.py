"""`torch.compile` with a backend or mode made for CUDA.

Ascend/pytorch docs/zh/user_guide/torch_compile/overview.md: inductor, npugraphs, npugraph_ex, aot_eager; mode
None or reduce-overhead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import shapes, targets
from jumar.migrate.passes.torch.styles import npu
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT176",
    name="torch-compile",
    summary="torch.compile with a backend or mode made for CUDA",
    keywords=("torch.compile", "import compile", "max-autotune", "reduce-overhead", "cudagraphs", "dynamo"),
    roots=("torch",),
)
_BACKENDS = {"inductor", "npugraphs", "npugraph_ex", "aot_eager", "eager"}
_MODES = {"max-autotune", "max-autotune-no-cudagraphs", "reduce-overhead"}
_TRITON = "on NPUs inductor needs the package `triton-ascend` for its kernels"


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    if name not in ("torch.compile", "torch._dynamo.optimize"):
        return
    up = file.parent(node)
    backend: ast.expr | None = None
    if isinstance(up, ast.Call) and up.func is node:
        position = 0 if name == "torch._dynamo.optimize" else len(up.args)
        backend = file.argument(up, position, "backend")
    if not isinstance(backend, ast.Constant) or not isinstance(backend.value, str) or backend.value == "inductor":
        yield file.report(RULE, node, State.BENIGN, f"`torch.compile`: {_TRITON}", subject=name)
    else:
        yield from _backend(backend, backend.value, file)


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    if node.value not in _MODES or shapes.is_text(node, file):
        return
    if node.value == "reduce-overhead":
        message = "mode `reduce-overhead` becomes NPU graphs with inductor only"
        yield file.report(RULE, node, State.BENIGN, message, subject="torch.compile")
        return
    fix = "remove the mode; torch_npu knows only `reduce-overhead`"
    yield file.report(RULE, node, State.HAND, f"mode `{node.value}` tunes CUDA kernels", fix, subject="torch.compile")


def _backend(node: ast.Constant, value: str, file: PyFile) -> Iterator[Finding]:
    if value == "cudagraphs":
        edits = file.in_string(node, "cudagraphs", "npugraphs")
        message = "backend `cudagraphs` becomes `npugraphs`"
        if edits and not targets.is_agnostic(file):
            yield file.rewrite(RULE, node, message, *edits, needs=(npu.IMPORT,), styles=WRITTEN_STYLES)
        else:
            yield file.report(RULE, node, State.HAND, message, "choose the backend by device")
    elif value not in _BACKENDS:
        fix = "use `inductor`, `npugraphs`, `npugraph_ex` or a backend of torchair"
        yield file.report(RULE, node, State.UNSUPPORTED, f"backend `{value}` does not support NPUs", fix)
