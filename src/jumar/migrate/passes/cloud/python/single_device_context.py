"""A MindSpore program for one device: with more of them it trains data-parallel and averages the gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.cloud import helper, paths
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA108",
    name="single-device-context",
    summary="a MindSpore context for one device",
    keywords=("set_context",),
)
FIX = "call `init()` and `set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True)`"


def finish(file: PyFile) -> Iterator[Finding]:
    assert file.settings.cloud is not None
    if file.settings.cloud.many_devices or b"set_auto_parallel_context" in file.source.data:
        return
    calls = [call for call in paths.of(file).flow.calls if _is_context(file, call)]
    if not calls:
        return
    spelled = file.text(calls[0].func)
    prefix = spelled.rpartition(".")[0]
    statement = file.statement(calls[0])
    new = lines.after(file, statement, _block(prefix)) if prefix and isinstance(statement, ast.Expr) else None
    if len(calls) > 1 or new is None:
        yield file.report(RULE, calls[0], State.HAND, "this program trains on one device only", FIX)
        return
    message = "with more than one device the program trains data-parallel and averages the gradients"
    yield file.rewrite(RULE, calls[0], message, new, needs=helper.NEEDS)


def _is_context(file: PyFile, call: ast.Call) -> bool:
    name = file.name(call.func) or ""
    if not name.startswith("mindspore.") or not name.endswith(".set_context"):
        return False
    return any(keyword.arg in ("mode", "device_target") for keyword in call.keywords)


def _block(prefix: str) -> list[str]:
    return [
        f"if {helper.NAME}.device_count() > 1:",
        "    from mindspore.communication.management import init as init_devices",
        "    init_devices()",
        f"    {prefix}.set_auto_parallel_context(",
        f"        device_num={helper.NAME}.device_count(),",
        f"        parallel_mode={prefix}.ParallelMode.DATA_PARALLEL,",
        "        gradients_mean=True,",
        "    )",
    ]
