"""`float64` on the device: NPUs have few kernels for it and compute the rest on slow cores or not at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT175",
    name="float64-dtype",
    summary="float64, for which NPUs have few kernels",
    keywords=("torch.float64", "torch.double", ".double()", "torch.cdouble", "torch.complex128", "import float64"),
    roots=("torch",),
)
_NAMES = {"torch.float64", "torch.double", "torch.complex128", "torch.cdouble", "torch.DoubleTensor"}
_MESSAGE = "`{}` has few NPU kernels: missing ones run slowly on the control cores or on the CPU, or fail"
_FIX = "use float32 on the device, and keep float64 for work on the CPU"


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    if name in _NAMES and not _is_on_cpu(node, file):
        yield file.report(RULE, node, State.FALLBACK, _MESSAGE.format(name), _FIX, subject=name)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "double" or node.args or node.keywords:
        return
    if file.name(func) is None and b"torch" in file.source.data and not _is_on_cpu(func.value, file):
        yield file.report(RULE, node, State.FALLBACK, _MESSAGE.format(".double()"), _FIX, subject="Tensor.double")


def _is_on_cpu(node: ast.AST, file: PyFile) -> bool:
    """Does the same line say `cpu` (`x.cpu().double()`, `device="cpu"`)?"""
    text = file.source.line_text(getattr(node, "lineno", 1))
    return any(word in text for word in (b".cpu()", b'"cpu"', b"'cpu'", b".numpy()"))
