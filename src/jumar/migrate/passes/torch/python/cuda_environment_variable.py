"""Environment variables of a CUDA machine, set or read through `os`, in `env=` mappings and in tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jumar.core.compat import zip
from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate import around
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import shapes, targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.environment import Variable, convert, variable

RULE = Rule(
    id="PT155",
    name="cuda-environment-variable",
    summary="an environment variable of CUDA, NCCL or cuBLAS",
    keywords=(
        "cuda_",
        "triton_",
        "nccl_",
        "cublas",
        "cudnn_",
        "nvidia_",
        "nvte_",
        "nvshmem_",
        "torch_fr_",
        "force_cuda",
        "ds_acc",
    ),
)
_METHODS = {
    "get",
    "setdefault",
    "pop",
    "getenv",
    "putenv",
    "unsetenv",
    "setenv",
    "delenv",
    "__setitem__",
    "__getitem__",
}
_ENVIRONMENTS = ("os.environ", "os.environb")


class Use(NamedTuple):
    """How a variable is used here: `value` is what is given to it, or the answer when it is not set."""

    is_sure: bool
    value: ast.expr | None = None
    sets: bool = False


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    value = node.value
    if not isinstance(value, str) or "_" not in value or not value.isupper() or node in file.docstrings:
        return
    row = variable(value)
    found = _use(node, file) if row is not None else None
    if row is None or found is None:
        return
    if not row.is_renamed:
        fix = f"see `{row.npu}`" if row.npu else None
        yield file.report(RULE, node, row.state, f"`{row.name}`: {row.note}", fix, subject=row.name)
    elif targets.is_agnostic(file):
        yield from _agnostic(node, row, found, file)
    else:
        yield from _renamed(node, row, found, file)


def visit_keyword(node: ast.keyword, file: PyFile) -> Iterator[Finding]:
    """`dict(os.environ, CUDA_VISIBLE_DEVICES="0")`."""
    row = variable(node.arg) if node.arg and "_" in node.arg and node.arg.isupper() else None
    call = file.parent(node)
    if row is None or not isinstance(call, ast.Call):
        return
    where = call.args[0] if shapes.last_word(call.func) == "dict" and call.args else getattr(call.func, "value", None)
    if not row.is_renamed:
        yield file.report(RULE, node, row.state, f"`{row.name}`: {row.note}", subject=row.name)
        return
    changed = _value(node.value, row, file) if row.value != "same" else []
    message = f"`{row.name}` becomes `{row.npu}`"
    if changed is None or where is None or not _is_environment(where, file) or targets.is_agnostic(file):
        fix = f"set `{row.npu}` if this names an environment variable"
        yield file.report(RULE, node, State.HAND, message, fix, subject=row.name)
        return
    start, _ = file.source.span(node)
    edit = Edit(start, start + len(row.name), str(row.npu).encode())
    yield file.rewrite(RULE, node, message, edit, *changed, subject=row.name, styles=WRITTEN_STYLES)


def _renamed(node: ast.Constant, row: Variable, found: Use, file: PyFile) -> Iterator[Finding]:
    assert row.npu is not None
    message, edits = f"`{row.name}` becomes `{row.npu}`", file.in_string(node, row.name, row.npu)
    if edits is None or not found.is_sure:
        fix = f"write `{row.npu}` if this names an environment variable"
        yield file.report(RULE, node, State.HAND, message, fix, subject=row.name)
        return
    if row.value != "same" and found.sets:
        changed = _value(found.value, row, file)
        if changed is None:
            yield file.report(RULE, node, State.HAND, f"{message}: {row.note}", _advice(row), subject=row.name)
            return
        if changed:
            message += "; sorted, because the list must ascend: ranks may use other cards than before"
            edits += changed
    yield file.rewrite(RULE, node, message, *edits, subject=row.name, styles=WRITTEN_STYLES)


def _value(value: ast.expr | None, row: Variable, file: PyFile) -> list[Edit] | None:
    """Edits for the value that goes into the variable; None when it cannot be taken over."""
    if not isinstance(value, ast.Constant):
        # An expression: what the user passes today. Only the allocator refuses whole runs over one word.
        return [] if row.value == "devices" else None
    if not isinstance(value.value, str):
        return []
    new = convert(row, value.value)
    if new is None:
        return None
    return [] if new == value.value else file.in_string(value, value.value, new)


def _advice(row: Variable) -> str:
    if row.value == "devices":
        return f"set `{row.npu}` to ascending card numbers"
    return f"set `{row.npu}`; it knows expandable_segments, max_split_size_mb and garbage_collection_threshold"


def _agnostic(node: ast.Constant, row: Variable, found: Use, file: PyFile) -> Iterator[Finding]:
    """Both variables are set; a place that reads one is left to a person."""
    target = file.parent(node)
    assign = file.parent(target) if isinstance(target, ast.Subscript) else None
    changed = _value(found.value, row, file) if row.value != "same" and found.sets else []
    message = f"`{row.npu}` is set with `{row.name}`"
    is_plain = isinstance(assign, ast.Assign) and found.sets and found.is_sure and changed == []
    if not is_plain or not isinstance(assign, ast.Assign) or not isinstance(target, ast.Subscript):
        fix = f"make it work with `{row.npu}` too"
        yield file.report(RULE, node, State.HAND, f"`{row.name}` is for CUDA only: {row.note}", fix, subject=row.name)
        return
    other = f'{file.text(target.value)}["{row.npu}"]'
    if any(file.text(known).replace("'", '"') == other for known in assign.targets):
        yield file.rewrite(RULE, node, message, subject=row.name, styles=WRITTEN_STYLES)
        return
    end = file.source.span(target)[1]
    yield file.rewrite(
        RULE, node, message, Edit(end, end, f" = {other}".encode()), subject=row.name, styles=WRITTEN_STYLES
    )


def _use(node: ast.Constant, file: PyFile) -> Use | None:
    """What the string is to the program; None when it is no more than a word."""
    up = file.parent(node)
    if isinstance(up, ast.Subscript) and up.slice is node:
        assign = file.parent(up)
        is_target = isinstance(assign, ast.Assign) and up in assign.targets
        value = assign.value if isinstance(assign, ast.Assign) and is_target else None
        return Use(_is_environment(up.value, file), value, is_target)
    if isinstance(up, ast.Call):
        return _argument(node, up, file)
    if isinstance(up, ast.Dict) and node in up.keys:
        return Use(_is_env_mapping(up, file), up.values[up.keys.index(node)], sets=True)
    if isinstance(up, ast.Compare):
        return Use(any(_is_environment(side, file) for side in up.comparators))
    return None if shapes.is_text(node, file) else Use(False)


def _argument(node: ast.Constant, call: ast.Call, file: PyFile) -> Use | None:
    func = call.func
    word = shapes.last_word(func)
    if word not in _METHODS or call.args[0] is not node:
        return None if shapes.is_text(node, file) else Use(False)
    is_sure = word in ("setenv", "delenv") or (file.name(func) or "") in ("os.getenv", "os.putenv", "os.unsetenv")
    if isinstance(func, ast.Attribute) and word in _METHODS and _is_environment(func.value, file):
        is_sure = True
    value = call.args[1] if len(call.args) > 1 else None
    return Use(is_sure, value, sets=value is not None and word in ("setdefault", "putenv", "setenv", "__setitem__"))


def _is_environment(node: ast.expr, file: PyFile) -> bool:
    """`os.environ` itself, or a variable that by its name holds an environment."""
    if file.name(node) in _ENVIRONMENTS:
        return True
    return shapes.last_word(node).lower() in (
        "env",
        "environ",
        "environment",
        "env_vars",
        "envs",
        "new_env",
        "current_env",
        "my_env",
    )


def _is_env_mapping(node: ast.Dict, file: PyFile) -> bool:
    """Does the mapping reach a process or `os.environ`?"""
    if any(key is None and _is_environment(value, file) for key, value in zip(node.keys, node.values, strict=True)):
        return True
    up = file.parent(node)
    if isinstance(up, ast.keyword):
        return up.arg in ("env", "env_vars", "environment", "extra_env", "environ")
    if isinstance(up, ast.Call):
        func = up.func
        is_update = isinstance(func, ast.Attribute) and func.attr == "update" and _is_environment(func.value, file)
        return is_update or file.name(func) == "unittest.mock.patch.dict"
    if isinstance(up, ast.Assign):
        return any(_is_environment(target, file) for target in up.targets)
    if isinstance(up, ast.BinOp):
        return any(_is_environment(side, file) for side in (up.left, up.right))
    return False


def noise(finding: Finding, place: around.Place) -> str:
    return around.EXPORTED if around.is_export(place.string) else ""
