"""Arguments of MindSpore's calls that got another name (rows: data/mindspore_names.toml, `keywords`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables import mindspore_names

RULE = Rule(
    id="MS117",
    name="renamed-argument",
    summary="a renamed argument of a MindSpore call",
    keywords=("dataset_file",),
)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    renamed = mindspore_names.keywords().get(file.name(node.func) or "", {})
    for keyword in node.keywords:
        if keyword.arg in renamed:
            new = renamed[keyword.arg]
            edit = file.replace(keyword, f"{new}={file.text(keyword.value)}")
            yield file.rewrite(RULE, keyword, f"`{keyword.arg}` is `{new}` today", edit)
