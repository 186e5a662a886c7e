"""`torch.profiler` records CUDA; NPUs are recorded by `torch_npu.profiler`, which has no `key_averages`.

torch_npu 2.13.0: torch_npu/profiler/profiler.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import from_imports
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import targets, torch_rows
from jumar.migrate.passes.torch.styles import npu
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style

RULE = Rule(
    id="PT165",
    name="torch-profiler",
    summary="torch.profiler, which records CUDA activity only",
    keywords=("profiler",),
    roots=("torch",),
)
_NAMES = ("profile", "ProfilerActivity", "ProfilerAction", "schedule", "tensorboard_trace_handler")
_MOVED = {name: f"torch_npu.profiler.{name}" for name in (*_NAMES, "supported_activities")}
# What torch's profile has and torch_npu's has not: a file that asks for it keeps torch's.
_BLOCKERS = ("key_averages", "export_to_tensorboard", "acc_events", "use_gzip", "experimental_config", ".events()")
_OTHER_ACTIVITY = re.compile(rb"ProfilerActivity\.(?!CPU\b|CUDA\b|NPU\b)\w+")
_COLUMNS = ("cuda_time", "self_cuda_", "cuda_memory")
_CUDA = "torch.profiler.ProfilerActivity.CUDA"


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    words = name.split(".")
    if words[:2] != ["torch", "profiler"] or len(words) < 3 or words[2] not in _MOVED:
        return
    blocker = _blocker(file)
    if blocker or targets.is_agnostic(file):
        if name in (_CUDA, "torch.profiler.profile"):
            yield _left(node, name, blocker, file)
        return
    new = ".".join([_MOVED[words[2]], *(["NPU"] if name == _CUDA else words[3:])])
    message = f"`{name}` becomes `{new}`"
    first = node
    while isinstance(first, ast.Attribute):
        first = first.value
    if file.settings.to is Style.NPU and file.name(first) == ".".join(words[:3]):
        yield _below_import(node, name, message, file)
        return
    change = torch_rows.respell(file, node, new)
    if change is None:
        yield file.report(RULE, node, State.HAND, message, f"write `{new}` here", subject=name)
        return
    needs = (npu.IMPORT,)
    yield file.rewrite(
        RULE, node, message, *change.edits, needs=needs, subject=name, at_run_time=True, styles=WRITTEN_STYLES
    )


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    if node.level or node.module != "torch.profiler" or file.settings.to is not Style.NPU or _blocker(file):
        return
    moved = {alias.name: _MOVED[alias.name] for alias in node.names if alias.name in _MOVED}
    if not moved:
        return
    message = f"`{'`, `'.join(moved)}` of `torch.profiler` come from `torch_npu.profiler`"
    edit = from_imports.move(file, node, moved)
    if edit is None:
        yield file.report(RULE, node, State.HAND, message, "import them from `torch_npu.profiler`")
    else:
        yield file.rewrite(RULE, node, message, edit)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if isinstance(func, ast.Attribute) and func.attr == "key_averages" and b"torch" in file.source.data:
        fix = "read the tables that torch_npu's `tensorboard_trace_handler` writes, or open them in MindStudio Insight"
        message = "`key_averages` does not exist in `torch_npu.profiler`"
        yield file.report(RULE, node, State.HAND, message, fix, subject="torch.profiler.profile.key_averages")


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    value = node.value
    if isinstance(value, str) and value.startswith(_COLUMNS) and value.isidentifier():
        fix = f"`{value.replace('cuda', 'device')}` is its general name; times of NPUs are in torch_npu's own tables"
        yield file.report(RULE, node, State.HAND, f"`{value}` is a column of CUDA figures", fix)


def visit_Attribute(node: ast.Attribute, file: PyFile) -> Iterator[Finding]:
    if "cuda" in node.attr and node.attr.startswith(_COLUMNS):
        fix = (
            f"`{node.attr.replace('cuda', 'device')}` is its general name; times of NPUs are in torch_npu's own tables"
        )
        yield file.report(RULE, node, State.HAND, f"`{node.attr}` holds CUDA figures", fix, subject=node.attr)


def _below_import(node: ast.expr, name: str, message: str, file: PyFile) -> Finding:
    """The import brings the name from its new place; only the activity is spelled anew."""
    if name != _CUDA or not isinstance(node, ast.Attribute):
        return file.rewrite(RULE, node, message, subject=name)
    edit = file.rename_attr(node, "NPU")
    if edit is None:
        return file.report(RULE, node, State.HAND, message, "write `ProfilerActivity.NPU` here", subject=name)
    return file.rewrite(RULE, node, message, edit, subject=name)


def _left(node: ast.expr, name: str, blocker: str, file: PyFile) -> Finding:
    message, fix = f"`{name}` records CUDA only", "choose `torch_npu.profiler` by device"
    if blocker:
        message += f"; torch_npu's profiler has no `{blocker.strip('.')}`, so it stays"
        fix = f"use `torch_npu.profiler` without `{blocker.strip('.')}`"
    return file.report(RULE, node, State.HAND, message, fix, subject=name)


def _blocker(file: PyFile) -> str:
    """What the file asks of its profile that torch_npu's does not have; empty when all is there."""
    data = file.source.data
    other = _OTHER_ACTIVITY.search(data)
    if other is not None:
        return other.group().decode()
    return next((word for word in _BLOCKERS if word.encode() in data), "")
