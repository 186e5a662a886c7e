"""A call whose device parameter means CUDA when it is not given: `torch.amp.GradScaler()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import targets
from jumar.migrate.passes.torch.styles import runtime
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style
from jumar.tables.apis import defaults

RULE = Rule(
    id="PT110",
    name="implicit-cuda",
    summary="a call that defaults to CUDA",
    keywords=("gradscaler", "fork_rng"),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    name = file.name(node.func)
    row = defaults().get(name) if name else None
    if row is None or file.keyword(node, row.keyword) is not None:
        return
    if len(node.args) > row.position and not file.has_stars(node):
        return
    what = f"`{name}` defaults to CUDA without `{row.keyword}`"
    if file.settings.to is Style.IMPORT:
        yield file.rewrite(RULE, node.func, what + "; it is replaced" + runtime.DONE.note)
        return
    text, needs = targets.style(file).keyword(file, row.keyword)
    if file.has_stars(node) or node in file.lost:
        yield file.report(RULE, node.func, State.HAND, what, f"add `{text}` unless the starred arguments hold it")
        return
    yield file.rewrite(RULE, node.func, what, _insert(node, text, file), needs=needs)


def _insert(node: ast.Call, text: str, file: PyFile) -> Edit:
    """The keyword behind the positional arguments."""
    if node.args:
        _, at = file.source.span(node.args[-1])
        end = file.source.data.find(b")", at)
        gap = file.source.data[at:end]
        while gap.strip() == b"" and len(node.args) == 1 and file.source.data[end + 1 : end + 2] == b")":
            at = end + 1
            break
        return Edit(at, at, f", {text}".encode())
    _, after = file.source.span(node.func)
    opening = file.source.data.index(b"(", after)
    return Edit(opening + 1, opening + 1, (text + (", " if node.keywords else "")).encode())
