"""`torch.load` without `map_location`: a checkpoint written on CUDA cannot be put back there on an NPU machine."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT171",
    name="torch-load-without-map-location",
    summary="torch.load that restores tensors to the device they were saved from",
    keywords=("torch.load", "torch.jit.load", "import load", "t.load("),
    beside=("torch",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    word = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if word != "load" or file.name(func) not in ("torch.load", "torch.jit.load", "torch.serialization.load"):
        return
    where = file.argument(node, 1, "map_location")
    if isinstance(where, ast.Dict):
        fix = "keep the `cuda` names as keys, map them to `npu` ones, and add the `npu` names of new checkpoints"
        yield file.report(RULE, where, State.HAND, "this maps the devices a checkpoint was saved on", fix)
    elif where is None and not file.has_stars(node):
        message = "without `map_location`, a checkpoint saved on CUDA does not load on an NPU machine"
        yield file.report(RULE, node, State.HAND, message, 'add `map_location="cpu"` and move the model afterwards')
