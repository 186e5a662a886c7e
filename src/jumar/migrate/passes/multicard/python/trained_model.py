"""The model that is trained: wrapped in `DistributedDataParallel`, which also takes the place of `DataParallel`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.flow import own_nodes
from jumar.migrate.passes.multicard import models, text, unused, uses
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT304",
    name="trained-model",
    summary="the model that is trained",
    keywords=("import",),
)
_SYNC = "torch.nn.SyncBatchNorm.convert_sync_batchnorm"
_OLD = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for model in script.models:
        if not script.here(file, model.behind):
            continue
        yield _shard(script, file, model) if script.sharded else _wrap(script, file, model)
        if b"BatchNorm" in file.source.data and not script.sharded:
            message = "batch normalisation counts on the samples of its own card only"
            fix = f"if batches are small: `{model.spelling} = {_SYNC}({model.spelling})` before it is wrapped"
            yield file.report(RULE, model.behind, State.BENIGN, message, fix)
        if b"device" not in file.source.data and not models.on_card(script, model.home):
            message = f"`{model.spelling}` is never moved to a card, but the process group needs it there"
            fix = f'move it and its batches: `{model.spelling}.to(torch.device("npu", LOCAL_RANK))`'
            yield file.report(RULE, model.behind, State.HAND, message, fix)
    for call in script.flow.calls:
        if not script.here(file, call):
            continue
        name = script.file.name(call.func)
        if name in _OLD:
            yield _unwrap_old(script, file, call)
        elif name == "torch.nn.parallel.data_parallel":
            message = "each process uses one card: this branch must not run"
            yield file.report(RULE, call, State.HAND, message, "call the module itself here")


def _wrap(script: scripts.Script, file: PyFile, model: models.Model) -> Finding:
    why = unused.reason(script, model)
    options = ", find_unused_parameters=True" if why else ""
    if _runs_twice(script, model) and b"BatchNorm" in file.source.data:
        options += ", broadcast_buffers=False"
    edit = lines.after(file, model.behind, text.wrap(file, model.spelling, options))
    assert edit is not None
    _, end = file.source.span(model.behind)
    message = f"`{model.spelling}` is wrapped in `DistributedDataParallel`"
    if why:
        message += f", which looks for unused parameters: {why}"
    return file.rewrite(RULE, (end, end), message, edit)


def _shard(script: scripts.Script, file: PyFile, model: models.Model) -> Finding:
    edit = lines.after(file, model.behind, text.shard(model.spelling, uses.methods_past(script, model)))
    assert edit is not None
    _, end = file.source.span(model.behind)
    message = f"the parameters of `{model.spelling}` are split over the cards, block by block"
    return file.rewrite(RULE, (end, end), message, edit)


def _runs_twice(script: scripts.Script, model: models.Model) -> bool:
    """Does one step run the model more than once before `backward`? Its buffers must not change in between."""
    for call in script.backwards:
        owner = script.flow.owner(call)
        calls = [node for node in own_nodes(owner) if isinstance(node, ast.Call)]
        if sum(script.flow.var(one.func) in model.aliases for one in calls) > 1:
            return True
    return False


def _unwrap_old(script: scripts.Script, file: PyFile, call: ast.Call) -> Finding:
    statement = script.file.statement(call)
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
