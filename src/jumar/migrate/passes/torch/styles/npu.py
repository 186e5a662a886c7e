"""`--to npu`: explicit `torch.npu` and `torch_npu`."""

from __future__ import annotations

import ast

from jumar.core.edit import Edit
from jumar.migrate.document import Change
from jumar.migrate.passes.torch.styles.change import Use, respell
from jumar.migrate.pyfile import PyFile
from jumar.tables.apis import Row

IMPORT = "import torch_npu"


def needs(file: PyFile) -> tuple[str, ...]:
    """The import that loads the NPU back-end, where torch itself is imported."""
    return (IMPORT,) if file.imports("torch") else ()


def spelling(row: Row, file: PyFile) -> str | None:
    return row.npu


def origin(name: str, file: PyFile) -> tuple[str, str]:
    """Module and name for a `from … import …` of a dotted name.

    `torch.npu` is an alias that exists once torch_npu is loaded, and its modules would be loaded twice under that
    name, so imports name `torch_npu.npu` (torch_npu 2.13: `_init/registry/backend.py`).
    """
    module, _, last = name.rpartition(".")
    if module == "torch" and last == "npu":
        return "torch_npu", "npu"
    if module == "torch.npu" or module.startswith("torch.npu."):
        module = module.replace("torch.npu", "torch_npu.npu", 1)
    return module, last


def device(file: PyFile, node: ast.Constant | ast.JoinedStr, use: Use) -> Change | None:
    edits = respell(file, node, "cuda", "npu")
    return Change(edits, needs(file)) if edits else None


def device_call(file: PyFile, whole: ast.expr, node: ast.Constant | ast.JoinedStr, index: ast.expr) -> Change | None:
    return device(file, node, Use.MAKE)


def move(file: PyFile, call: ast.Call, func: ast.Attribute) -> Change | None:
    edit = file.rename_attr(func, "npu")
    return Change((edit,), needs(file)) if edit else None


def is_on_device(file: PyFile, node: ast.Attribute) -> Change | None:
    edit = file.rename_attr(node, "is_npu")
    return Change((edit,), needs(file)) if edit else None


def type_string(file: PyFile, node: ast.Constant) -> Change | None:
    edits = respell(file, node, "torch.cuda.", "torch.npu.")
    return Change(edits, needs(file)) if edits else None


def index(file: PyFile, node: ast.expr) -> Change | None:
    """A bare number already means the card: torch asks the registered back-end."""
    return Change(())


def keyword(file: PyFile, name: str) -> tuple[str, tuple[str, ...]]:
    """The text for an added keyword that would mean CUDA by default."""
    return f'{name}="npu"', needs(file)


def attribute(file: PyFile, node: ast.Attribute, new: str) -> Change | None:
    edit = file.rename_attr(node, new)
    return Change((edit,)) if edit else None


def argument(file: PyFile, node: ast.keyword, new: str) -> Change | None:
    start, _ = file.source.span(node)
    assert node.arg is not None
    return Change((Edit(start, start + len(node.arg.encode()), new.encode()),))
