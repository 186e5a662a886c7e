"""Arguments of MindSpore's calls that got another name or are gone (rows: data/mindspore_names.toml, `keywords`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables import mindspore_names

RULE = Rule(
    id="MS117",
    name="renamed-argument",
    summary="a renamed or removed argument of a MindSpore call",
    keywords=(),
    words=tuple(sorted({name.rpartition(".")[2].lower() for name in mindspore_names.keywords()})),
    beside=("mindspore",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not node.keywords:
        return
    name = file.name(node.func) or ""
    known = mindspore_names.arguments(name) if name.startswith("mindspore.") else {}
    for keyword in node.keywords:
        row = known.get(keyword.arg or "")
        if row is None or keyword.arg is None:
            continue
        if row.fix:
            message = f"`{keyword.arg}` of `{name}` is gone"
            yield file.report(RULE, keyword, State.HAND, message, row.fix, keyword.arg)
        elif row.now:
            edit = file.replace(keyword, f"{row.now}={file.text(keyword.value)}")
            yield file.rewrite(RULE, keyword, f"`{keyword.arg}` is `{row.now}` today", edit)
        else:
            yield _gone(node, keyword, keyword.arg, file)


def _gone(call: ast.Call, keyword: ast.keyword, name: str, file: PyFile) -> Finding:
    edits = calls.without(file, call, [keyword])
    if edits is None:
        return file.report(RULE, keyword, State.HAND, f"`{name}` is gone", "take it out", name)
    return file.rewrite(RULE, keyword, f"`{name}` is removed: the argument no longer exists", *edits)
