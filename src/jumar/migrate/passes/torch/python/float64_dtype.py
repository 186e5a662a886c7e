"""`float64` on the device: NPUs have few kernels for it, and HCCL adds nothing up in it.

torch_npu 2.13.0: `HCCL allreduce: Unsupported data type at::kDouble`, also for `reduce` and `reduce_scatter`; the
collectives that only copy (`broadcast`, `all_gather`, …) take it. `x.npu().double()` and `model.npu().to(torch.double)`
are float32 (`Device do not support double dtype now, dtype cast replace with float`), while tensors that are made on
the card as float64, or moved to it, keep their type.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.compat import zip
from jumar.core.finding import Finding, State
from jumar.migrate.around import Chain, Place
from jumar.migrate.passes.torch import shapes
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT175",
    name="float64-dtype",
    summary="float64, for which NPUs have few kernels",
    keywords=("torch.float64", "torch.double", ".double()", "torch.cdouble", "torch.complex128", "import float64"),
    roots=("torch",),
)
_NAMES = {"torch.float64", "torch.double", "torch.complex128", "torch.cdouble", "torch.DoubleTensor"}
_MESSAGE = "`{}` has few NPU kernels: missing ones run slowly on the control cores or on the CPU, or fail"
_CAST = "a cast to `{}` on the card gives float32, and torch_npu only warns: mixed with float64 it fails"
_CASTS = {"double", "to", "type"}
_FIX = "use float32 on the device, and keep float64 for work on the CPU"
_ADDING = {"all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor", "_reduce_scatter_base"}
_ADDING |= {"all_reduce_coalesced", "all_reduce_multigpu", "reduce_scatter_tensor_coalesced"}
_DTYPES = {"float16", "half", "bfloat16", "float32", "float", "float64", "double", "complex64", "complex128", "uint8",
           "int8", "int16", "short", "int32", "int", "int64", "long", "bool"}  # fmt: skip
_TABLE = 2
"""So many data types side by side are a table."""
_NPU = re.compile(r"(?<![A-Za-z])npu(?![A-Za-z])", re.I)
_NOT = re.compile(r"\bnot\b|!=")


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    if name in _NAMES and not _is_on_cpu(node, file) and not _is_for_cpu(node, name, file):
        yield from _once(node, name, name, file)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "double" or node.args or node.keywords:
        return
    if file.name(func) is None and b"torch" in file.source.data and not _is_on_cpu(func.value, file):
        yield from _once(node, ".double()", "Tensor.double", file)


def _once(node: ast.expr, shown: str, subject: str, file: PyFile) -> Iterator[Finding]:
    """One finding for each name on a line: `a.to(torch.float64) / b.to(torch.float64)`."""
    key = f"{RULE.id} {node.lineno} {subject}"
    if key not in file.said:
        file.said.add(key)
        yield _finding(node, shown, subject, file)


def _finding(node: ast.expr, shown: str, subject: str, file: PyFile) -> Finding:
    collective = _collective(node, file)
    if collective:
        message = f"`{shown}` in `{collective}`: HCCL adds up no float64, the call fails"
        fix = "make the tensor float32, or add up on the CPU with a `gloo` group"
        return file.report(RULE, node, State.UNSUPPORTED, message, fix, subject=subject)
    message = _CAST if _is_cast(node) or _is_argument_of_cast(node, file) else _MESSAGE
    return file.report(RULE, node, State.FALLBACK, message.format(shown), _FIX, subject=subject)


def _is_cast(node: ast.AST | None) -> bool:
    """`x.double()`, `x.to(torch.float64)`, `x.type(torch.float64)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CASTS


def _is_argument_of_cast(node: ast.expr, file: PyFile) -> bool:
    up = file.parent(node)
    return _is_cast(file.parent(up) if isinstance(up, ast.keyword) else up)


def _collective(node: ast.expr, file: PyFile) -> str:
    """The collective that adds up what is made here; empty when none is seen."""
    at: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Call) and at is not up.func and _is_adding(up, file):
            return shapes.last_word(up.func)
        if isinstance(up, ast.stmt):
            targets = up.targets if isinstance(up, ast.Assign) else []
            return next((word for target in targets if (word := _used_in(target, file))), "")
        at = up
    return ""


def _is_adding(call: ast.Call, file: PyFile) -> bool:
    """A collective of torch, by its import or by the usual names of the module that wraps it."""
    if shapes.last_word(call.func) not in _ADDING:
        return False
    name = file.name(call.func) or ""
    if name:
        return name.startswith("torch.distributed.") or not name.startswith(("torch.", "functools.", "numpy."))
    return isinstance(call.func, ast.Attribute) and shapes.last_word(call.func.value) in ("dist", "distributed", "comm")


def _used_in(target: ast.expr, file: PyFile) -> str:
    """The collective that a variable is handed to."""
    if not isinstance(target, ast.Name):
        return ""
    owner = file.index.scope[target].lookup(target.id)
    for use in file.index.nodes[ast.Name]:
        if not isinstance(use, ast.Name) or use.id != target.id or use is target:
            continue
        call = shapes.call_of(use, file)
        there = file.index.scope[use].lookup(use.id)
        if (
            call is not None
            and owner is not None
            and there is not None
            and there[0] is owner[0]
            and _is_adding(call, file)
        ):
            return shapes.last_word(call.func)
    return ""


def _is_on_cpu(node: ast.AST, file: PyFile) -> bool:
    """Does the same line say `cpu` (`x.cpu().double()`, `device="cpu"`)?"""
    text = file.source.line_text(getattr(node, "lineno", 1))
    return any(word in text for word in (b".cpu()", b'"cpu"', b"'cpu'", b".numpy()"))


def _is_for_cpu(node: ast.expr, name: str, file: PyFile) -> bool:
    """A tensor of the CPU: `torch.DoubleTensor([1])`, or a device beside the data type that is the CPU."""
    up = file.parent(node)
    if name == "torch.DoubleTensor" and isinstance(up, ast.Call) and up.func is node:
        move = file.parent(up)
        return not (isinstance(move, ast.Attribute) and move.attr in ("cuda", "npu", "to"))
    if isinstance(up, ast.keyword):
        call = file.parent(up)
        devices = [one.value for one in getattr(call, "keywords", ()) if one.arg == "device"]
    elif isinstance(up, ast.arguments):
        devices = [default for arg, default in _defaults(up) if arg.arg.endswith("device")]
    else:
        devices = []
    return bool(devices) and all(_is_cpu(one, file) for one in devices)


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    named = [*arguments.posonlyargs, *arguments.args]
    yield from zip(named[len(named) - len(arguments.defaults) :], arguments.defaults)
    yield from ((arg, default) for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults) if default)


def _is_cpu(node: ast.expr, file: PyFile) -> bool:
    """`"cpu"`, `torch.device("cpu")`, or a name that is given nothing else."""
    if isinstance(node, ast.Constant):
        return node.value == "cpu"
    if isinstance(node, ast.Call):
        return file.name(node.func) == "torch.device" and bool(node.args) and _is_cpu(node.args[0], file)
    known = file.index.scope[node].lookup(node.id) if isinstance(node, ast.Name) else None
    values = [one.value for one in known[1]] if known is not None else []
    return bool(values) and all(isinstance(one, (ast.Constant, ast.Call)) and _is_cpu(one, file) for one in values)


def noise(finding: Finding, place: Place) -> str:
    """Is it in a table, in a comparison, or for other cards? Every mention on the line must be."""
    name = finding.subject.rpartition(".")[2]
    mentions = [chain for chain in place.chains if isinstance(chain[0], ast.Attribute) and chain[0].attr == name]
    reasons = [_table_or_question(chain) or _for_others(chain) for chain in mentions]
    return reasons[0] if reasons and all(reasons) else ""


def _table_or_question(chain: Chain) -> str:
    for outer in chain[1:3]:
        if isinstance(outer, ast.Compare):
            return "a question about a data type, not a request for one"
        values = [*outer.keys, *outer.values] if isinstance(outer, ast.Dict) else getattr(outer, "elts", [])
        if sum(1 for value in values if _is_dtype(value)) >= _TABLE:
            return "a table of data types"
    return ""


def _for_others(chain: Chain) -> str:
    """`torch.float32 if is_npu else torch.float64`"""
    for inner, outer in zip(chain, chain[1:]):
        test = ast.unparse(outer.test) if isinstance(outer, ast.IfExp) and inner is outer.orelse else ""
        if _NPU.search(test) and not _NOT.search(test):
            return "the data type where there is no NPU"
    return ""


def _is_dtype(node: object) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _DTYPES
