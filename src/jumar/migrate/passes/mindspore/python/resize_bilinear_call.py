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
    new = f"{name}({', '.join(given)})({file.text(node.args[0])}, {_whole(size, file)})"
    message = "`ResizeBilinear` becomes `ResizeBilinearV2`, which takes the size with the image"
    yield file.rewrite(RULE, node, message, file.replace(node, new))


def _whole(size: ast.expr, file: PyFile) -> str:
    """The size as it is written, with `//` for `/`: 1.x made whole numbers of its parts."""
    parts = size.elts if isinstance(size, (ast.Tuple, ast.List)) else []
    divided = [one for one in parts if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div)]
    if not divided:
        return file.text(size)
    texts = [_floored(one, file) if one in divided else file.text(one) for one in parts]
    return f"({', '.join(texts)})"


def _floored(part: ast.expr, file: PyFile) -> str:
    assert isinstance(part, ast.BinOp)
    (start, end), sign, other = file.span(part), file.span(part.left)[1], file.span(part.right)[0]
    between = file.source.data[sign:other].decode().replace("/", "//", 1)
    return file.text((start, sign)) + between + file.text((other, end))
