"""`torch.cuda.…` used in code: renamed by the table, or reported where torch_npu has nothing of the kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.passes.torch import shapes, targets
from jumar.migrate.passes.torch.python.default_tensor_type import is_default_type
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Site
from jumar.migrate.settings import Style
from jumar.tables.apis import cuda_rows

RULE = Rule(
    id="PT102",
    name="torch-cuda-name",
    summary="a name of torch.cuda",
    keywords=("cuda", "autocast_gpu"),
    roots=("torch",),
    site=Site.IMPORTED_NAME,
)
_PATCHERS = {"object", "setattr", "delattr"}
"""`mock.patch.object`, `monkeypatch.setattr`, and Python's own."""
OTHER_RULES = ("torch.cuda.nvtx",)
"""Modules that have a rule of their own."""


def is_cuda_name(name: str) -> bool:
    if name == "torch.cuda" or name.startswith("torch.cuda."):
        return not name.startswith(OTHER_RULES)
    return name in cuda_rows()


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    if not is_cuda_name(name) or is_default_type(node, file):
        return
    context = node.ctx if isinstance(node, (ast.Name, ast.Attribute)) else None
    if not isinstance(context, ast.Load):
        if isinstance(node, ast.Attribute):
            fix = "patch `torch.npu` instead, and check whether the patch is still needed"
            yield file.report(RULE, node, State.HAND, f"`{name}` is replaced or deleted here", fix, name)
        return
    row = targets.row_for(name, file)
    new = targets.new_name(row, file)
    patched = _patched(node, name, file)
    if patched is not None:
        fix = "patch what the migrated code calls, once it is decided"
        yield file.report(RULE, node, State.HAND, f"`{patched}`, which is replaced here, stays", fix, patched)
    elif new is None:
        yield _left(node, name, file)
    elif new == name and file.settings.to is not Style.IMPORT:
        yield file.report(RULE, node, State.BENIGN, f"`{name}` works unchanged with torch {file.settings.torch}")
    else:
        what = f"`{name}` is replaced" if file.settings.to is Style.IMPORT else f"`{name}` becomes `{new}`"
        yield file.rewrite(
            RULE, node, what, targets.rename(file, node, new), otherwise=f"write `{new}` here", subject=name
        )


def _patched(node: ast.expr, name: str, file: PyFile) -> str | None:
    """The name that a test replaces, when code that calls it stays: `patch.object(torch.cuda, "get_arch_list")`."""
    call = file.parent(node)
    if file.settings.to is Style.IMPORT or not isinstance(call, ast.Call) or call.args[:1] != [node]:
        return None
    word = call.args[1] if len(call.args) > 1 else None
    if shapes.last_word(call.func) not in _PATCHERS or not isinstance(word, ast.Constant):
        return None
    if not isinstance(word.value, str):
        return None
    full = f"{name}.{word.value}"
    new = targets.new_name(targets.row_for(full, file), file)
    return full if new is None or new.rpartition(".")[2] != word.value else None


def _left(node: ast.expr, name: str, file: PyFile) -> Finding:
    row = targets.row_for(name, file)
    if row.npu is not None:
        fix = f"write `{row.npu}` here"
        return file.report(RULE, node, State.HAND, f"`{name}` is not patched by `transfer_to_npu`", fix, name)
    what = f"`{name}` has no {'direct counterpart' if row.state is State.HAND else 'counterpart on an NPU'}"
    found = file.report(RULE, node, row.state, what, row.note, name)
    kept = targets.rename(file, node, name) if file.settings.to is not Style.IMPORT else None
    if kept is None or not kept.edits:
        return found
    # `c.get_arch_list()` after `import torch.cuda as c`: the import moves, so the old name is written out.
    written = file.amended(found, edits=kept.edits, safety=Safety.SAFE)
    file.needs[id(written)] = kept.needs
    return written
