"""`torch.set_default_tensor_type("torch.cuda.FloatTensor")`: torch refuses the tensor types of NPUs there.

torch_npu 2.13.0: `TypeError: invalid type object: only floating-point types are supported as the default type`, for the
name and for the type. `torch.set_default_device` does the same for the device, `torch.set_default_dtype` for the type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.compat import zip
from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT113",
    name="default-tensor-type",
    summary="a CUDA tensor type as the default type",
    keywords=("set_default_tensor_type",),
)
CALL = "torch.set_default_tensor_type"
_TYPES = {"FloatTensor": "float32", "HalfTensor": "float16", "DoubleTensor": "float64", "BFloat16Tensor": "bfloat16"}


def is_default_type(node: ast.expr, file: PyFile) -> bool:
    """Is this a tensor type that is handed to `set_default_tensor_type`?"""
    at: ast.AST = node
    up = file.parent(at)
    while isinstance(up, ast.BoolOp) or (isinstance(up, ast.IfExp) and at is not up.test):
        at, up = up, file.parent(up)
    return isinstance(up, ast.Call) and at in up.args and file.name(up.func) == CALL


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if file.name(node.func) != CALL or not node.args or not _uses_cuda(file):
        return
    leaves = _leaves(node.args[0])
    types = [_type(leaf, file) for leaf in leaves]
    what = "`set_default_tensor_type` refuses the tensor types of NPUs"
    fix = 'call `torch.set_default_device("npu")`, and `torch.set_default_dtype` for another type than float32'
    edits, needs = _edits(node, leaves, types, file)
    if not edits:
        yield file.report(RULE, node, State.HAND, what, fix, subject=CALL)
        return
    message = f"{what}: `set_default_device` takes its place"
    yield file.rewrite(
        RULE,
        node,
        message,
        *edits,
        needs=needs,
        subject=CALL,
        styles=WRITTEN_STYLES,
        otherwise=fix.replace("npu", "cuda"),
    )


def _uses_cuda(file: PyFile) -> bool:
    """Does some call in the file ask for CUDA? One that asks for the CPU then has to undo it."""
    text = file.source.data
    return b"torch.cuda." in text and any(
        b"cuda" in file.source.text(up)
        for name in file.index.nodes[ast.Attribute]
        if isinstance(name, ast.Attribute) and name.attr == "set_default_tensor_type"
        if isinstance(up := file.parent(name), ast.Call)
    )


def _leaves(node: ast.expr) -> list[ast.expr]:
    return [*_leaves(node.body), *_leaves(node.orelse)] if isinstance(node, ast.IfExp) else [node]


def _type(node: ast.expr, file: PyFile) -> tuple[str, str] | None:
    """The device and the type that a tensor type stands for."""
    name = node.value if isinstance(node, ast.Constant) else file.name(node)
    if not isinstance(name, str) or node in file.lost:
        return None
    place, _, last = name.rpartition(".")
    if last not in _TYPES or place not in ("torch", "torch.cuda"):
        return None
    return ("cuda" if place == "torch.cuda" else "cpu"), _TYPES[last]


def _edits(
    node: ast.Call, leaves: list[ast.expr], types: list[tuple[str, str] | None], file: PyFile
) -> tuple[list[Edit], tuple[str, ...]]:
    func = node.func
    known = [one for one in types if one is not None]
    dtypes = {dtype for _, dtype in known}
    edit = file.rename_attr(func, "set_default_device") if isinstance(func, ast.Attribute) else None
    if edit is None or len(known) != len(types) or len(dtypes) != 1 or not isinstance(func, ast.Attribute):
        return [], ()
    text, needs = targets.style(file).keyword(file, "device")
    device = text.partition("=")[2] or '"cuda"'
    edits = [
        edit,
        *(file.replace(leaf, device if one[0] == "cuda" else '"cpu"') for leaf, one in zip(leaves, known, strict=True)),
    ]
    if dtypes != {"float32"} or _changes_type(file):
        root = file.text(func.value)
        before = lines.before(file, file.statement(node), [f"{root}.set_default_dtype({root}.{dtypes.pop()})"])
        if before is None:
            return [], ()
        edits.insert(0, before)
    return edits, needs


def _changes_type(file: PyFile) -> bool:
    """Is another type than float32 the default somewhere in the file?"""
    return any(name.encode() in file.source.data for name, dtype in _TYPES.items() if dtype != "float32") or (
        b"set_default_dtype" in file.source.data
    )
