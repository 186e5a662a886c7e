"""Applies a row of the table `torch_names` to the places where its name is used or imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import from_imports
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import targets
from jumar.migrate.passes.torch.styles.npu import IMPORT as IMPORT_NPU
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style
from jumar.tables.torch_names import TorchName, torch_name


def use(rule: Rule, node: ast.expr, name: str, row: TorchName, file: PyFile) -> Iterator[Finding]:
    """The finding for a name in an expression; one that an import brings as it is was settled there."""
    if isinstance(node, ast.Name) and row.npu is not None and file.settings.to is Style.NPU:
        yield file.rewrite(rule, node, f"`{node.id}` is `{row.npu}` after the import", subject=name)
        return
    if row.npu is None or targets.is_agnostic(file):
        yield _left(rule, node, name, row, file)
        return
    new = row.npu + name.removeprefix(row.name)
    message = f"`{name}` becomes `{new}`"
    edit = respell(file, node, new)
    if edit is None:
        yield file.report(rule, node, State.HAND, message, f"write `{new}` here", subject=name)
        return
    needs = (IMPORT_NPU, *edit.needs)
    yield file.rewrite(
        rule, node, message, *edit.edits, needs=needs, subject=name, at_run_time=row.at_run_time, styles=WRITTEN_STYLES
    )


def imported(
    rule: Rule, node: ast.ImportFrom, file: PyFile, prefix: str, but: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """The findings for `from torch.… import name` where a row under `prefix`, but not under `but`, fits the name."""
    if node.level or node.module is None or not node.module.startswith("torch"):
        return
    moved: dict[str, str] = {}
    for alias in node.names:
        name = f"{node.module}.{alias.name}"
        row = torch_name(name) if name.startswith(prefix) and not (but and name.startswith(but)) else None
        if row is None:
            continue
        if row.npu and row.name == name and file.settings.to is Style.NPU:
            moved[alias.name] = row.npu
        elif row.state is not State.BENIGN or row.name in (name, node.module):
            yield _left(rule, alias, name, row, file)
    if not moved:
        return
    edit = from_imports.move(file, node, moved)
    new = ", ".join(f"`{value}`" for value in moved.values())
    names = ", ".join(f"`{node.module}.{name}`" for name in moved)
    if edit is None:
        yield file.report(rule, node, State.HAND, f"{names} becomes {new}", f"import {new} here")
    else:
        yield file.rewrite(rule, node, f"{names} becomes {new}", edit, needs=(IMPORT_NPU,))


def _left(rule: Rule, node: ast.expr | ast.alias, name: str, row: TorchName, file: PyFile) -> Finding:
    """The finding for a site that stays as it is."""
    if file.settings.to is Style.IMPORT and row.at_run_time:
        return file.rewrite(rule, node, f"`{name}` is replaced at run time", subject=name)
    if row.npu is not None:
        fix = f"choose between it and `{row.npu}` by device"
        return file.report(rule, node, State.HAND, f"`{name}` is for CUDA only: {row.note}", fix, subject=name)
    return file.report(rule, node, row.state, f"`{name}`: {row.note}", row.fix, subject=name)


def respell(file: PyFile, node: ast.expr, new: str) -> targets.Change | None:
    """The edit that spells the chain `node` as `new`; None where a comment stands inside the chain."""
    return None if b"#" in file.source.text(node) else targets.rename(file, node, new)
