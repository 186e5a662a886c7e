"""The model that is trained: wrapped in `DistributedDataParallel`, which also takes the place of `DataParallel`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import models, text
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT304",
    name="trained-model",
    summary="the model that is trained",
    keywords=("backward",),
)
_OLD = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for model in script.models:
        edit = lines.after(file, model.behind, text.wrap(file, model.spelling))
        assert edit is not None
        _, end = file.source.span(model.behind)
        yield file.rewrite(RULE, (end, end), f"`{model.spelling}` is wrapped in `DistributedDataParallel`", edit)
        if b"device" not in file.source.data and not models.on_card(script, model.home):
            message = f"`{model.spelling}` is never moved to a card, but the process group needs it there"
            fix = f'move it and its batches: `{model.spelling}.to(torch.device("npu", LOCAL_RANK))`'
            yield file.report(RULE, model.behind, State.HAND, message, fix)
    for call in script.flow.calls:
        name = file.name(call.func)
        if name in _OLD:
            yield _unwrap_old(file, call)
        elif name == "torch.nn.parallel.data_parallel":
            message = "each process uses one card: this branch must not run"
            yield file.report(RULE, call, State.HAND, message, "call the module itself here")


def _unwrap_old(file: PyFile, call: ast.Call) -> Finding:
    statement = file.statement(call)
    module = file.argument(call, 0, "module")
    if module is None:
        return file.report(RULE, call, State.HAND, "`DataParallel` must go", "leave the module as it is here")
    new = file.text(module)
    message = "`DataParallel` is removed: each process uses one card"
    same = isinstance(statement, ast.Assign) and statement.value is call and file.text(statement.targets[0]) == new
    if same:
        return file.rewrite(RULE, call, message, file.replace(statement, "pass"))
    simple = isinstance(module, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return file.rewrite(RULE, call, message, file.replace(call, new if simple else f"({new})"))
