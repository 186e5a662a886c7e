"""A semi-automatic or automatic parallel context: `AutoParallel` around the network, on request."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, Safety, State
from jumar.migrate import imports, lines
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS115",
    name="auto-parallel-context",
    summary="a parallel context that AutoParallel replaces",
    keywords=("set_auto_parallel_context",),
    safety=Safety.ASK,
)
IMPORT = "from mindspore.parallel.auto_parallel import AutoParallel"
_MODELS = ("mindspore.Model", "mindspore.train.Model", "mindspore.train.model.Model")
_SEARCHES = ("recursive_programming", "sharding_propagation")
_TRUE = {
    "gradients_mean": "enable_gradients_mean()",
    "enable_parallel_optimizer": "hsdp()",
    "full_batch": 'dataset_strategy("full_batch")',
    "force_fp32_communication": "enable_fp32_communication()",
}
"""Keys that are a call when true and nothing when false."""
_CALLS = {
    "pipeline_stages": "pipeline(stages={})",
    "comm_fusion": "comm_fusion({})",
    "dataset_strategy": "dataset_strategy({})",
    "strategy_ckpt_save_file": "save_param_strategy_file({})",
    "strategy_ckpt_load_file": "load_param_strategy_file({})",
}
_DROPPED = ("device_num", "global_rank")
"""`AutoParallel` takes them from the process group."""


def finish(file: PyFile) -> Iterator[Finding]:
    every = [node for node in ast.walk(file.tree) if isinstance(node, ast.Call)]
    found = [node for node in every if calls.is_call(file, node, calls.PARALLEL)]
    models = [node for node in every if calls.is_call(file, node, _MODELS)]
    for context in found:
        mode = _mode(context, file)
        if mode is None:
            continue
        edits = _edits(file, context, models[0], mode) if len(found) == len(models) == 1 else None
        if edits is None:
            message = "the parallel context still works; `AutoParallel` around the network is its successor"
            yield file.report(
                RULE, context, State.BENIGN, message, "see `mindspore.parallel.auto_parallel.AutoParallel`"
            )
        else:
            yield file.rewrite(RULE, context, "the network is wrapped in `AutoParallel`", *edits)


def _mode(context: ast.Call, file: PyFile) -> str | None:
    """The mode of `AutoParallel`; None for data parallel, stand alone and what is not seen here."""
    given = file.keyword(context, "parallel_mode")
    if given is None:
        return None
    value = given.value.value if isinstance(given.value, ast.Constant) else (file.name(given.value) or "").lower()
    if str(value).endswith("semi_auto_parallel"):
        return "semi_auto"
    if not str(value).endswith("auto_parallel"):
        return None
    search = file.keyword(context, "search_mode") or file.keyword(context, "auto_parallel_search_mode")
    if search is None:
        return _SEARCHES[0]
    return search.value.value if isinstance(search.value, ast.Constant) and search.value.value in _SEARCHES else None


def _edits(file: PyFile, context: ast.Call, model: ast.Call, mode: str) -> list[Edit] | None:
    network = model.args[0] if model.args else None
    statement, place = file.statement(context), file.statement(model)
    wanted = _calls(file, context)
    same = file.index.function_scope(statement) is file.index.function_scope(place)
    if not isinstance(network, ast.Name) or wanted is None or not same or statement.lineno >= place.lineno:
        return None
    if not isinstance(statement, ast.Expr) or statement.value is not context:
        return None
    made = [f'{network.id} = AutoParallel({network.id}, parallel_mode="{mode}")']
    before = lines.before(file, place, [*made, *(f"{network.id}.{call}" for call in wanted)])
    gone = calls.removed(file, statement)
    if before is None or gone is None:
        return None
    return [gone, before, *imports.insert(file, [IMPORT], after="mindspore")]


def _calls(file: PyFile, context: ast.Call) -> list[str] | None:
    """The calls that stand for the keys; None when a key or a value has no counterpart that is surely the same."""
    if context.args or file.has_stars(context):
        return None
    made: list[str] = []
    for keyword in context.keywords:
        key, value = keyword.arg or "", file.text(keyword.value)
        if key in ("parallel_mode", "search_mode", "auto_parallel_search_mode", *_DROPPED):
            continue
        if key in _CALLS and "\n" not in value:
            made.append(_CALLS[key].format(value))
        elif key in _TRUE and value in ("True", "False"):
            made += [_TRUE[key]] if value == "True" else []
        else:
            return None
    return made
