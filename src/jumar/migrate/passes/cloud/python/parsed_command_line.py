"""The place where a script reads its command line: it learns `--data_url` and `--train_url`, and paths become local.

ModelArts hands both to the boot file and may add arguments of its own, so `parse_args` becomes `parse_known_args`
(support.huaweicloud.com, "Using a Custom Script", 2026-11-15).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding
from jumar.migrate import lines
from jumar.migrate.passes.cloud import helper, options
from jumar.migrate.passes.cloud.options import KINDS, CommandLine
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA101",
    name="parsed-command-line",
    summary="a command line without job arguments",
    keywords=("parse_args", "parse_known_args"),
)
WIDTH = 110


def finish(file: PyFile) -> Iterator[Finding]:
    line = options.of(file)
    for call in line.sites:
        if line.is_staged(call):
            continue
        edits = _edits(file, line, call)
        message = "the script takes `--data_url` and `--train_url`; in a job it ignores other arguments of the platform"
        yield file.rewrite(RULE, call, message, *edits, needs=helper.NEEDS, subject="parse_args")


def _edits(file: PyFile, line: CommandLine, call: ast.Call) -> list[Edit]:
    assert isinstance(call.func, ast.Attribute)
    parser = call.func.value
    start, end = file.source.span(call)
    _, last = file.source.span(parser)
    was_known = call.func.attr == "parse_known_args"
    edits = [Edit(start, start, b"jumar_cloud.stage(")]
    if not was_known:
        rename = file.rename_attr(call.func, "parse_known_args")
        assert rename is not None
        edits.append(rename)
    edits.append(Edit(end, end, b", unknown_ok=True)" if was_known else b")[0]"))
    added = None
    if isinstance(parser, (ast.Name, ast.Attribute)):
        added = lines.before(file, file.statement(call), _call(file.text(parser), line))
    if added is not None and _is_plain(file, call):
        return [added, *edits]
    inner = ", ".join(["", *_arguments(line)])
    edits[0] = Edit(start, start, b"jumar_cloud.stage(jumar_cloud.add_arguments(")
    return [*edits, Edit(last, last, f"{inner})".encode())]


def _is_plain(file: PyFile, call: ast.Call) -> bool:
    """Is the statement of the call one that runs as a whole, not the head of a block?"""
    return isinstance(file.statement(call), (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr))


def _call(parser: str, line: CommandLine) -> list[str]:
    arguments = [parser, *_arguments(line)]
    whole = f"jumar_cloud.add_arguments({', '.join(arguments)})"
    if len(whole) <= WIDTH:
        return [whole]
    return ["jumar_cloud.add_arguments(", *(f"    {argument}," for argument in arguments), ")"]


def _arguments(line: CommandLine) -> list[str]:
    kinds = line.hidden_kinds if line.is_hidden else line.kinds
    found = []
    for kind in KINDS:
        names = [name for name, its in kinds.items() if its == kind]
        if names:
            found.append(f"{kind}=[{', '.join(_quoted(name) for name in names)}]")
    if line.is_hidden:
        if line.words:
            found.append(f"words=[{', '.join(_quoted(name) for name in line.words)}]")
        return [*found, "by_name=True"]
    if line.devices:
        pairs = ", ".join(f"{_quoted(name)}: {_quoted(its)}" for name, its in line.devices.items())
        found.append(f"devices={{{pairs}}}")
    return found


def _quoted(name: str) -> str:
    return f'"{name}"'
