"""The accelerator of Lightning in a dictionary of options: `config["accelerator"] = "gpu"`, then `Trainer(**config)`.

Lightning 2.6.6 raises `No supported gpu backend found!` for `gpu` on an NPU machine, and takes the CPU for `auto`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PK131",
    name="lightning-accelerator-key",
    summary="the accelerator of Lightning in a dictionary of options",
    keywords=(),
    words=("lightning", "pytorch_lightning", "lightning_fabric"),
)
_SAYS = {
    "gpu": "Lightning finds no GPU on an NPU machine and raises an error",
    "cuda": "Lightning finds no CUDA on an NPU machine and raises an error",
    "auto": "on an NPU machine Lightning's `auto` is the CPU",
}
_FIX = "register an `Accelerator` for `npu` and write `npu`, or use accelerate"


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    if node.value != "accelerator" or not any(
        map(file.imports, ("lightning", "pytorch_lightning", "lightning_fabric"))
    ):
        return
    value = _value(node, file)
    if isinstance(value, ast.Constant) and value.value in _SAYS:
        message = f"`accelerator` is `{value.value}`: {_SAYS[str(value.value)]}"
        yield file.report(RULE, value, State.HAND, message, _FIX, subject="accelerator")


def _value(key: ast.Constant, file: PyFile) -> ast.expr | None:
    """What is stored under the key."""
    up = file.parent(key)
    if isinstance(up, ast.Dict) and key in up.keys:
        return up.values[up.keys.index(key)]
    if isinstance(up, ast.Subscript) and isinstance(up.ctx, ast.Store):
        assign = file.parent(up)
        return assign.value if isinstance(assign, ast.Assign) else None
    return None
