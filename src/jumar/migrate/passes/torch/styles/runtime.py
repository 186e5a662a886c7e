"""`--to import`: nothing is written; `torch_npu.contrib.transfer_to_npu` patches torch when the program starts.

What it patches is in its source (torch_npu 2.13.0, `contrib/transfer_to_npu.py`): the public names of `torch_npu.npu`
are copied into `torch.cuda`, `.cuda()` and `.is_cuda` go to the NPU, and device arguments of the common functions are
translated. A comparison with "cuda" is not: the tensors then say "npu", while `torch.device("cuda")` keeps its name.
"""

from __future__ import annotations

import ast

from jumar.migrate.document import Change
from jumar.migrate.passes.torch import choices
from jumar.migrate.passes.torch.styles.change import Use
from jumar.migrate.pyfile import PyFile
from jumar.tables.apis import Row, exported

IMPORTS = ("import torch_npu", "from torch_npu.contrib import transfer_to_npu")
DONE = Change((), note=" at run time, by `transfer_to_npu`")
OWN = Change((), note=" stays: the program's own choice keeps its name at run time")
_PATCHED = {"torch.cuda": "torch.npu", "torch.cuda.amp": "torch.npu.amp", "torch.cuda.random": "torch.npu.random"}
_ALSO = {
    "torch.cuda", "torch.cuda.amp", "torch.cuda.random", "torch.cuda.CUDAGraph", "torch.cuda.default_generators",
    "torch.cuda.memory._record_memory_history", "torch.cuda.memory._snapshot", "torch.cuda.memory._dump_snapshot",
    "torch.Tensor.cuda", "torch.Tensor.is_cuda", "torch.nn.Module.cuda", "torch.get_autocast_gpu_dtype",
    "torch.set_autocast_gpu_dtype", "torch.cuda.OutOfMemoryError", "torch.cuda.AcceleratorError",
}  # fmt: skip


def needs(file: PyFile) -> tuple[str, ...]:
    return ()


def spelling(row: Row, file: PyFile) -> str | None:
    """The name itself when the patched torch answers to it."""
    if row.cuda in _ALSO:
        return row.cuda
    module, _, last = row.cuda.rpartition(".")
    if last in exported(_PATCHED.get(module, "")):
        return row.cuda
    outer = module.rpartition(".")[0]
    if module.rpartition(".")[2] in exported(_PATCHED.get(outer, "")):
        return row.cuda
    return None


def origin(name: str, file: PyFile) -> tuple[str, str]:
    module, _, last = name.rpartition(".")
    return module, last


def device(file: PyFile, node: ast.Constant | ast.JoinedStr, use: Use) -> Change | None:
    if use is Use.MAKE:
        return DONE
    up = file.parent(node)
    while isinstance(up, (ast.List, ast.Tuple, ast.Set)):
        up = file.parent(up)
    if isinstance(up, ast.Compare):
        sides = [side for side in (up.left, *up.comparators) if not _is_word(side)]
        return OWN if all(choices.is_own(side, file) for side in sides) else None
    if isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and use is Use.COMPARE:
        return OWN if choices.is_own(up.func.value, file) else None
    return OWN if use is Use.CHOICE else None


def _is_word(node: ast.expr) -> bool:
    return isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Set))


def device_call(file: PyFile, whole: ast.expr, node: ast.Constant | ast.JoinedStr, index: ast.expr) -> Change | None:
    return DONE


def move(file: PyFile, call: ast.Call, func: ast.Attribute) -> Change | None:
    return DONE


def is_on_device(file: PyFile, node: ast.Attribute) -> Change | None:
    return DONE


def type_string(file: PyFile, node: ast.Constant) -> Change | None:
    return None


def index(file: PyFile, node: ast.expr) -> Change | None:
    return Change(())


def keyword(file: PyFile, name: str) -> tuple[str, tuple[str, ...]]:
    return "", ()


def attribute(file: PyFile, node: ast.Attribute, new: str) -> Change | None:
    return None


def argument(file: PyFile, node: ast.keyword, new: str) -> Change | None:
    return None
