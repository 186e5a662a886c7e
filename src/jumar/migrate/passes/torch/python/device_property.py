"""Fields of `get_device_properties(...)` that NPUs do not have, or fill with other figures."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.support import device_properties

RULE = Rule(
    id="PT173",
    name="device-property",
    summary="a field of the device properties that NPUs do not have",
    keywords=("get_device_properties",),
)
_ASKING = ("torch.cuda.get_device_properties", "torch.npu.get_device_properties")
_SAME = {"name", "total_memory", "uuid", "L2_cache_size"}
_NEW = {"cube_core_num", "vector_core_num"}


def visit_Attribute(node: ast.Attribute, file: PyFile) -> Iterator[Finding]:
    if node.attr in _SAME or node.attr in _NEW or not _is_properties(node.value, file):
        return
    subject = f"device_properties.{node.attr}"
    if node.attr in device_properties():
        message = f"`{node.attr}` exists on NPUs but does not describe them"
        fix = "ask for what you need: `torch.npu.is_bf16_supported()`, `cube_core_num`, `vector_core_num`"
        yield file.report(RULE, node, State.HAND, message, fix, subject=subject)
    else:
        message = f"NPU properties have no `{node.attr}`"
        known = ", ".join(f"`{name}`" for name in sorted(_SAME | _NEW))
        yield file.report(RULE, node, State.UNSUPPORTED, message, f"they have {known}", subject=subject)


def _is_properties(node: ast.expr, file: PyFile) -> bool:
    """The call itself, or a variable that is given nothing else."""
    if isinstance(node, ast.Name):
        found = file.index.scope[node].lookup(node.id)
        values = [binding.value for binding in found[1]] if found else []
        return bool(values) and all(isinstance(value, ast.Call) and _is_properties(value, file) for value in values)
    return isinstance(node, ast.Call) and file.name(node.func) in _ASKING
