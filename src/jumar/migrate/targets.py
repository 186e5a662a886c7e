"""How things are spelled in the output: explicit NPU code, code for any device, or the run-time import.

Rules find sites; this module says what stands there afterwards, so that a rule need not know the three styles.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from jumar.core.edit import Edit
from jumar.migrate.pyfile import PyFile
from jumar.tables.apis import Row, cuda_row

IMPORT_NPU = "import torch_npu"


class Change(NamedTuple):
    """The edits for one site, and the imports they need."""

    edits: tuple[Edit, ...]
    needs: tuple[str, ...] = (IMPORT_NPU,)


def new_name(row: Row, file: PyFile) -> str | None:
    """The dotted name that takes the place of a CUDA name in the chosen style."""
    return row.npu


def rename(file: PyFile, node: ast.AST, old: str, new: str) -> Change | None:
    """Spell the chain `node`, known as `old`, as `new`; the import rules change the imports behind it."""
    root: ast.AST = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or node in file.lost:
        return None
    base = file.name(root)
    if base is None:
        return None
    moved = imported_as(base, file)
    if new == moved:
        return Change((), (IMPORT_NPU,))
    if not new.startswith(moved + "."):
        return None
    words = new.removeprefix(moved + ".").split(".")
    return Change((file.replace(_span(file, node), ".".join([root.id, *words])),))


def imported_as(base: str, file: PyFile) -> str:
    """What an import of `base` brings after the import rules have run."""
    if base == "torch.cuda" or base.startswith("torch.cuda."):
        return new_name(cuda_row(base), file) or base
    return base


def device(file: PyFile, node: ast.Constant | ast.JoinedStr) -> Change | None:
    """The edits that turn the device string `node` into one for the chosen style."""
    edits = file.in_string(node, "cuda", "npu")
    return Change(tuple(edits)) if edits else None


def _span(file: PyFile, node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, ast.expr)
    return file.source.span(node)
