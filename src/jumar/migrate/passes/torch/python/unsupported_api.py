"""Functions and layers of torch that are unsupported, or run on the CPU, for the chosen torch version and chip.

The vendor's table per torch version and product, the kernels of op-plugin, the operators of the published wheel, and
runs on the emulated card; where these disagree, the finding says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.support import Outcome, Support, Verdict, judge
from jumar.tables.torch_names import torch_name

RULE = Rule(
    id="PT250",
    name="unsupported-api",
    summary="an API of torch that the chip or torch version does not support",
    keywords=("torch",),
    roots=("torch",),
)
_MODULES = {"nn", "linalg", "fft", "special", "sparse", "nested", "func", "distributions", "optim", "export", "vmap"}
# Other rules speak of these; containers and loaders have limits that no operator has.
_ELSEWHERE = {"torch.nn.DataParallel", "torch.nn.parallel", "torch.nn.Module", "torch.from_dlpack", "torch.compile"}
_QUIET = tuple(
    f"torch.{name}"
    for name in (
        *("nn.init.", "nn.utils.prune.", "nn.Module", "nn.Parameter", "nn.Sequential", "nn.parameter", "nn.Identity"),
        *("nn.GroupNorm", "optim.", "softmax", "randn_like", "as_strided", "sym_", "result_type", "set_", "use_"),
    )
)
_STATES = {
    Support.UNSUPPORTED: State.UNSUPPORTED,
    Support.FALLBACK: State.FALLBACK,
    Support.PARTLY: State.BENIGN,
    Support.UNTRIED: State.BENIGN,
    Support.DISPUTED: State.BENIGN,
    Support.LIMITED: State.BENIGN,
}
_TYPES = {"float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32", "long": "int64", "int": "int32"}
_TYPES |= {name: name for name in ("uint8", "int8", "int16", "int32", "int64", "bool", "complex64")}
# Methods that only tensors have, so that the name alone says enough.
_METHODS = {"unique_consecutive", "sparse_mask", "index_reduce", "index_reduce_", "copysign", "heaviside", "sspaddmm"}
_METHODS |= {"to_sparse", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "to_mkldnn", "smm"}
_METHODS |= {"nextafter", "lgamma", "digamma", "polygamma", "igamma", "histogram", "frexp", "geqrf", "int_repr"}


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    words = name.split(".")
    if (len(words) > 2 and words[1] not in _MODULES) or name in _ELSEWHERE or not _is_used(node, file):
        return
    settings = file.settings
    verdict = judge(name, settings.torch, settings.chip)
    if verdict is None or torch_name(name) is not None:
        return
    if verdict.support in (Support.FULL, Support.LIMITED, Support.PARTLY):
        dtype = _evident_type(node, file)
        if verdict.dtypes and dtype and dtype not in verdict.dtypes:
            yield _wrong_type(node, name, dtype, verdict, file)
            return
        if verdict.support is Support.FULL or name.startswith(_QUIET):
            return
    yield _finding(node, name, verdict, file)


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _METHODS or file.name(func) is not None:
        return
    verdict = judge(f"Tensor.{func.attr}", file.settings.torch, file.settings.chip)
    if verdict is not None and verdict.support in (Support.UNSUPPORTED, Support.FALLBACK):
        yield _finding(node, f"Tensor.{func.attr}", verdict, file)


def _finding(node: ast.expr, name: str, verdict: Verdict, file: PyFile) -> Finding:
    said = {
        Support.UNSUPPORTED: "is not supported",
        Support.FALLBACK: "runs on the CPU",
        Support.PARTLY: "runs on the CPU for some data types",
        Support.UNTRIED: "is not listed as supported, though torch_npu has a kernel for it",
        Support.DISPUTED: "is not listed as supported, though it runs",
        Support.LIMITED: "has limits",
    }
    fix = {
        Support.UNSUPPORTED: "use another function, or do this part on the CPU (`.cpu()` before, `.to(device)` after)",
        Support.FALLBACK: "it works, but copies to the CPU and back: keep it out of the training loop",
        Support.UNTRIED: "compare its result with the CPU once",
        Support.DISPUTED: "confirm it on your card: compare its result with the CPU once",
        Support.LIMITED: "check the vendor's table before you rely on it",
    }
    message = f"`{name}` {said[verdict.support]} ({verdict.table} {verdict.claim}; {_experiment(verdict)})"
    return file.report(RULE, node, _STATES[verdict.support], message, fix.get(verdict.support), subject=name)


def _experiment(verdict: Verdict) -> str:
    """What a run on the emulated card adds to the claim of a table."""
    run = verdict.run
    if run is None:
        return "not tried on the emulator"
    with_version = f"on the emulator with torch_npu {run.torch_npu}"
    if run.outcome is Outcome.FAILED:
        return f"it also failed {with_version}: {run.words}"
    return f"it {'ran on the CPU' if run.outcome is Outcome.FELL_BACK else 'ran'} {with_version}"


def _wrong_type(node: ast.expr, name: str, dtype: str, verdict: Verdict, file: PyFile) -> Finding:
    message = f"`{name}` is not listed for {dtype} ({verdict.table})"
    fix = f"it is listed for {', '.join(verdict.dtypes)}"
    return file.report(RULE, node, State.HAND, message, fix, subject=name)


def _is_used(node: ast.expr, file: PyFile) -> bool:
    """Called, subclassed or a decorator: an annotation or `isinstance` runs nothing."""
    up = file.parent(node)
    if isinstance(up, ast.Call):
        return up.func is node
    if isinstance(up, ast.ClassDef):
        return node in up.bases
    return isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)) and node in up.decorator_list


def _evident_type(node: ast.expr, file: PyFile) -> str:
    """The data type that the call names itself; bfloat16 and float64 are not judged by the table."""
    call = file.parent(node)
    keyword = file.keyword(call, "dtype") if isinstance(call, ast.Call) and call.func is node else None
    name = (file.name(keyword.value) or "") if keyword is not None else ""
    return _TYPES.get(name.removeprefix("torch."), "") if name.startswith("torch.") else ""
