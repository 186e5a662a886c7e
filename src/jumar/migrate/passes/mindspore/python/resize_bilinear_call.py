"""`ResizeBilinear(size, …)(x)`: the operator is gone, `ResizeBilinearV2` computes the same and takes the size with x.

Source: mindspore 1.10 (`ops/operations/nn_ops.py`) and 2.10.0 (`ops/auto_generate/gen_ops_prim.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS118",
    name="resize-bilinear-call",
    summary="the operator ResizeBilinear, made and called at once",
    keywords=("resizebilinear",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    made = node.func
    if not isinstance(made, ast.Call) or calls.resized(file, made.func) is not node:
        return
    size = file.argument(made, 0, "size")
    if size is None or not isinstance(made.func, ast.Attribute):
        return
    given = [file.text(one) for one in made.args[1:]]
    given += [file.text(keyword) for keyword in made.keywords if keyword.arg != "size"]
    name = f"{file.text(made.func.value)}.ResizeBilinearV2"
    new = f"{name}({', '.join(given)})({file.text(node.args[0])}, {file.text(size)})"
    message = "`ResizeBilinear` becomes `ResizeBilinearV2`, which takes the size with the image"
    yield file.rewrite(RULE, node, message, file.replace(node, new))
