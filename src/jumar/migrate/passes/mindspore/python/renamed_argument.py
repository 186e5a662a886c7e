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
    keywords=("dataset_file", "vocab_cache_size", "argmax"),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    renamed = mindspore_names.keywords().get(file.name(node.func) or "", {})
    for keyword in node.keywords:
        if keyword.arg not in renamed:
            continue
        if new := renamed[keyword.arg]:
            edit = file.replace(keyword, f"{new}={file.text(keyword.value)}")
            yield file.rewrite(RULE, keyword, f"`{keyword.arg}` is `{new}` today", edit)
        else:
            yield _gone(node, keyword, keyword.arg, file)


def _gone(call: ast.Call, keyword: ast.keyword, name: str, file: PyFile) -> Finding:
    edits = calls.without(file, call, [keyword])
    if edits is None:
        return file.report(RULE, keyword, State.HAND, f"`{name}` is gone", "take it out", name)
    return file.rewrite(RULE, keyword, f"`{name}` is removed: the argument no longer exists", *edits)
