"""`import torch.cuda`, `from torch.cuda import …`: the imports behind the names, changed together with their uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import targets
from jumar.migrate.passes.torch.python.torch_cuda_name import is_cuda_name
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Site
from jumar.migrate.settings import Style

RULE = Rule(
    id="PT103",
    name="torch-cuda-import",
    summary="an import of torch.cuda or from it",
    keywords=("cuda", "autocast_gpu"),
    site=Site.IMPORT,
)


def visit_Import(node: ast.Import, file: PyFile) -> Iterator[Finding]:
    for alias in node.names:
        if not is_cuda_name(alias.name):
            continue
        if file.settings.to is Style.IMPORT:
            yield file.rewrite(RULE, alias, f"`import {alias.name}` is replaced at run time, by `transfer_to_npu`")
        elif alias.asname is None:
            start, end = file.source.span(alias)
            edit = Edit(start, end, b"torch")
            needs = targets.style(file).needs(file)
            yield file.rewrite(RULE, alias, f"`import {alias.name}` becomes `import torch`", edit, needs=needs)
        else:
            yield _import_as(node, alias, file)


def _import_as(node: ast.Import, alias: ast.alias, file: PyFile) -> Finding:
    row = targets.row_for(alias.name, file)
    new = targets.new_name(row, file)
    if new is None:
        return file.report(RULE, alias, row.state, f"`{alias.name}` has no counterpart on an NPU", row.note, alias.name)
    if len(node.names) > 1:
        fix = f"put `{alias.name}` on its own import line and run `jumar migrate` again"
        return file.report(RULE, alias, State.HAND, f"`{alias.name}` is imported together with others", fix)
    module, last = targets.style(file).origin(new, file)
    text = f"from {module} import {last} as {alias.asname}" if module else f"import {last} as {alias.asname}"
    edit = file.replace(node, text)
    return file.rewrite(RULE, alias, f"`import {alias.name}` becomes `{text}`", edit, subject=alias.name)


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    if node.level or not node.module or node.module.split(".")[0] != "torch":
        return
    if node.module.startswith("torch.cuda") and any(alias.name == "*" for alias in node.names):
        fix = "name what is used, then run `jumar migrate` again"
        yield file.report(RULE, node, State.HAND, f"`from {node.module} import *` hides which names are used", fix)
        return
    goals: dict[ast.alias, tuple[str, str]] = {}
    for alias in node.names:
        name = f"{node.module}.{alias.name}"
        if not is_cuda_name(name):
            continue
        row = targets.row_for(name, file)
        new = targets.new_name(row, file)
        if new is None:
            yield file.report(RULE, alias, row.state, f"`{name}` has no counterpart on an NPU", row.note, name)
        elif file.settings.to is Style.IMPORT:
            file.covered.append(file.span(node))
            yield file.rewrite(RULE, alias, f"`{name}` is replaced at run time, by `transfer_to_npu`", subject=name)
        elif new == name:
            yield file.report(RULE, alias, State.BENIGN, f"`{name}` works unchanged")
        else:
            goals[alias] = targets.style(file).origin(new, file)
    if goals:
        yield _split(node, goals, file)


def _split(node: ast.ImportFrom, goals: dict[ast.alias, tuple[str, str]], file: PyFile) -> Finding:
    """Names that go to another module leave the statement; when all go to one, only the module's name changes."""
    modules = list(dict.fromkeys(module for module, _ in goals.values()))
    places = ", ".join(f"`{place}`" for place in sorted({module or last for module, last in goals.values()}))
    message = f"imports from `{node.module}` come from {places}"
    if len(goals) == len(node.names) and len(modules) == 1 and modules[0]:
        edits = [_module_edit(node, modules[0], file)]
        edits += [
            file.replace(alias, _spelled(alias, goals[alias][1])) for alias in goals if goals[alias][1] != alias.name
        ]
        return file.rewrite(RULE, node, message, *edits)
    lines = []
    for module in modules:
        names = [_spelled(alias, last) for alias, (where, last) in goals.items() if where == module]
        lines += [f"from {module} import {', '.join(names)}"] if module else [f"import {name}" for name in names]
    start, end = file.source.span(node)
    if len(goals) == len(node.names):
        if b"#" in file.source.data[start:end]:
            fix = "split the import by hand: " + "; ".join(lines)
            return file.report(RULE, node, State.HAND, message, fix)
        return file.rewrite(RULE, node, message, Edit(start, end, _joined(node, lines, file)))
    edits = [edit for alias in goals for edit in _without(node, alias, goals, file)]
    edits.append(Edit(end, end, _separator(node, file) + _joined(node, lines, file)))
    return file.rewrite(RULE, node, message, *edits)


def _spelled(alias: ast.alias, last: str) -> str:
    local = alias.asname or alias.name
    return last if local == last else f"{last} as {local}"


def _module_edit(node: ast.ImportFrom, module: str, file: PyFile) -> Edit:
    assert node.module is not None
    start, _ = file.source.span(node)
    at = file.source.data.index(node.module.encode(), start + len("from"))
    return Edit(at, at + len(node.module.encode()), module.encode())


def _separator(node: ast.stmt, file: PyFile) -> bytes:
    """A new line with the same indent, or `; ` where the statement shares its line."""
    start, end = file.source.span(node)
    line = file.source.line_of(start)
    before = file.source.data[file.source.starts[line - 1] : start]
    rest = file.source.data[
        end : file.source.starts[file.source.line_of(end) - 1] + len(file.source.line_text(file.source.line_of(end)))
    ]
    if before.strip() or rest.strip():
        return b"; "
    return file.source.newline + before


def _joined(node: ast.stmt, lines: list[str], file: PyFile) -> bytes:
    return _separator(node, file).join(line.encode() for line in lines)


def _without(
    node: ast.ImportFrom, alias: ast.alias, goals: dict[ast.alias, tuple[str, str]], file: PyFile
) -> Iterator[Edit]:
    """Take one name out of the list, with the comma that belongs to it; comments stay."""
    data = file.source.data
    start, end = file.source.span(alias)
    position = node.names.index(alias)
    later = [other for other in node.names[position + 1 :] if other not in goals]
    if later or position + 1 < len(node.names):
        following = file.source.span(node.names[position + 1])[0]
        gap = data[end:following]
        if later and b"#" not in gap and b"\n" not in gap and b"\r" not in gap:
            yield Edit(start, following, b"")
            return
        if later:
            comma = data.index(b",", end)
            yield Edit(start, comma + 1, b"")
            return
    kept = [other for other in node.names[:position] if other not in goals]
    if position and node.names[position - 1] in goals:
        previous = file.source.span(node.names[position - 1])[1]
    else:
        previous = file.source.span(kept[-1])[1]
    if b"#" in data[previous:start]:
        tail = data[end:].lstrip()[:1] == b","
        yield Edit(start, data.index(b",", end) + 1 if tail else end, b"")
    else:
        yield Edit(previous, end, b"")
