"""What exists already stays: a case for CUDA that has a case for NPUs beside it gets no twin.

The cases are branches of `if` and of ternaries, early returns, values that an `if` replaces, `or`, keys, members of
lists and enums, patterns of `match`, handlers of `try`, and functions or classes that are there once for each device.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterable, Iterator

from jumar.core.compat import Match, zip
from jumar.migrate.look import Text
from jumar.migrate.passes.torch import shapes
from jumar.migrate.passes.torch.units.reach import DEFINITIONS, block_of, exits
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Facts

NPU = re.compile(r"(?<![A-Za-z])(?:npus?|torch_?npu|hccl)(?![A-Za-z])|ascend", re.I)
_DEFINED = re.compile(
    rb"(?:^|\bdef )[ \t]*((?:[A-Za-z0-9]+_)*(?:npu|NPU)(?:_[A-Za-z0-9]+)*)[ \t]*(?:\(|=(?!=)|:[^\n=]{1,40}=)", re.M
)
_OTHERS_QUESTIONS = {"is_torch_cuda_available"}
"""Questions of well-known libraries that have one for NPUs beside them."""
_ROCM = re.compile(r"(?<![A-Za-z])(?:hip|rocm|rocr|amd)(?![A-Za-z])|is_?(?:hip|rocm|amd)", re.I)
OTHERS = re.compile(f"{NPU.pattern}|{_ROCM.pattern}", re.I)
"""A file without one of these words has no such case."""
_CUDA = re.compile(r"(?<![A-Za-z])(?:cuda|gpus?|nccl)(?![A-Za-z])|is_?cuda", re.I)


def prepare(facts: Facts, texts: Iterable[Text]) -> Facts:
    """The names for CUDA or GPUs that the project also defines for NPUs."""
    names = {name for text in texts for name in text.tells("names for NPUs", _defined)}
    found = {name.replace("npu", word).replace("NPU", word.upper()) for name in names for word in ("cuda", "gpu")}
    return dataclasses.replace(facts, npu_twins=frozenset(found - {"cuda", "gpu"}))


def _defined(raw: bytes) -> list[str]:
    if b"npu" not in raw and b"NPU" not in raw:
        return []
    lines = [line for line in raw.split(b"\n") if b"npu" in line or b"NPU" in line]
    return [match.group(1).decode() for match in _DEFINED.finditer(b"\n".join(lines))]


def for_cuda_only(file: PyFile) -> Iterator[tuple[ast.expr, bool]]:
    """The questions of a file that stay, because the project asks the same for NPUs: `is_cuda_available()`.

    With each goes whether it is true on CUDA machines, or false there.
    """
    names = file.settings.facts.npu_twins | _OTHERS_QUESTIONS
    if not any(name.encode() in file.source.data for name in names):
        return
    for node in [*file.index.nodes[ast.Name], *file.index.nodes[ast.Attribute]]:
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        if shapes.last_word(node) not in names or (file.name(node) or "").startswith("torch."):
            continue
        up = file.parent(node)
        if isinstance(up, ast.Call) and up.func is node:
            yield up, True
        elif isinstance(up, ast.Compare) and len(up.ops) == 1:
            yield up, isinstance(up.ops[0], (ast.Eq, ast.Is, ast.In))
        elif not isinstance(up, (ast.Attribute, ast.Subscript)):
            yield node, True


def reason(node: ast.AST, file: PyFile) -> str:
    """Why a place stays: NPUs have a case of their own beside it, or it is that of another vendor; else nothing."""
    at, up = node, file.parent(node)
    while up is not None:
        check = _CHECKS.get(type(up))
        if check is not None and check(up, at, file):
            return "stays: NPUs have a case of their own here"
        if isinstance(at, ast.stmt) and _beside(at, file):
            return "stays: NPUs have a case of their own here"
        if isinstance(up, (ast.If, ast.IfExp)) and at is not up.test:
            if _is_others(up, at, file):
                return "stays: this case is for the cards of another vendor"
            if _is_word_for_cuda(up, at, file):
                return "stays: NPUs have a name of their own here"
        at, up = up, file.parent(up)
    return ""


def doubles(groups: dict[ast.stmt, str], file: PyFile) -> set[ast.stmt]:
    """The statements whose new text already stands beside them: `seed_cuda(1); seed_npu(1)`."""
    found = set()
    for statement, new in groups.items():
        others = (one for one in block_of(statement, file) if one is not statement)
        if any(ast.unparse(other) == new for other in others if type(other) is type(statement)):
            found.add(statement)
    return found


def _is_word_for_cuda(up: ast.If | ast.IfExp, at: ast.AST, file: PyFile) -> bool:
    """`if device == "gpu": device = "cuda"` in a project and a file that know NPUs by their own name."""
    test = up.test
    body = up.body if isinstance(up.body, list) else [up.body]
    if not file.settings.facts.npu_twins or not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    is_asked = at in body and getattr(test.comparators[0], "value", None) in ("gpu", "GPU")
    return is_asked and bool(NPU.search(file.source.data.decode("utf-8", "replace")))


def _is_others(up: ast.If | ast.IfExp, at: ast.AST, file: PyFile) -> bool:
    """Is this the branch for ROCm, which torch also calls `cuda`?"""
    answer = _asks(_ROCM, up.test, file)
    body = up.body if isinstance(up.body, list) else [up.body]
    return answer is (at in body) if answer is not None else False


def _says(pattern: re.Pattern[str], node: ast.AST, file: PyFile) -> bool:
    return isinstance(node, (ast.expr, ast.stmt)) and node not in file.lost and bool(pattern.search(file.text(node)))


def _asks_npu(test: ast.expr, file: PyFile) -> bool | None:
    """Is a test true only on NPUs (True), only elsewhere (False), or does it not tell them apart?"""
    return _asks(NPU, test, file)


def _asks(pattern: re.Pattern[str], test: ast.expr, file: PyFile) -> bool | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = _asks(pattern, test.operand, file)
        return None if answer is None else not answer
    if isinstance(test, ast.BoolOp):
        answers = {_asks(pattern, value, file) for value in test.values}
        if isinstance(test.op, ast.And):
            return next((answer for answer in (True, False) if answer in answers), None)
        return True if answers == {True} else None
    if not _says(pattern, test, file) or _says(_CUDA, test, file):
        return None
    if isinstance(test, ast.Compare):
        if isinstance(test.ops[0], (ast.NotEq, ast.NotIn)):
            return False
        if isinstance(test.ops[0], ast.Is) and getattr(test.comparators[0], "value", 1) is None:
            return False
    return True


def _in_or(up: ast.AST, at: ast.AST, file: PyFile) -> bool:
    assert isinstance(up, ast.BoolOp)
    others = [value for value in up.values if value is not at]
    if isinstance(up.op, ast.Or):
        return any(_says(NPU, value, file) for value in others) and _says(_CUDA, at, file)
    return any(_asks_npu(value, file) is False or _asks(_ROCM, value, file) is True for value in others)


def _among(up: ast.AST, at: ast.AST, file: PyFile) -> bool:
    """`("cuda", "npu")`: is the new word there already?"""
    assert isinstance(up, (ast.List, ast.Tuple, ast.Set))
    return _is_listed(at, [item for item in up.elts if item is not at], file)


def _is_listed(at: ast.AST, others: list[ast.expr], file: PyFile) -> bool:
    if not _says(_CUDA, at, file):
        return False
    words = {item.value for item in others if isinstance(item, ast.Constant) and isinstance(item.value, str)}
    if isinstance(at, ast.Constant) and isinstance(at.value, str):
        return at.value.replace("cuda", "npu").replace("nccl", "hccl").replace("CUDA", "NPU") in words
    return any(_says(NPU, item, file) and not _says(_CUDA, item, file) for item in others)


def _in_dict(up: ast.AST, at: ast.AST, file: PyFile) -> bool:
    assert isinstance(up, ast.Dict)
    pairs = [(key, value) for key, value in zip(up.keys, up.values, strict=True) if key is not None]
    key = next((key for key, value in pairs if at in (key, value)), None)
    return key is not None and _is_listed(key, [other for other, _ in pairs if other is not key], file)


def _in_if(up: ast.AST, at: ast.AST, file: PyFile) -> bool:
    assert isinstance(up, (ast.If, ast.IfExp))
    answer = _asks_npu(up.test, file)
    other = up.orelse if isinstance(up.orelse, list) else [up.orelse]
    if at in other:
        return answer is True
    if at is not up.test and answer is not None:
        return answer is False
    return _says(_CUDA, up.test, file) and not _says(NPU, up.test, file) and _leads_to_npu(other, file)


def _leads_to_npu(other: list[ast.stmt] | list[ast.expr], file: PyFile) -> bool:
    """Does one of the further cases of a chain ask for NPUs, or the last one take them?"""
    while len(other) == 1 and isinstance(other[0], (ast.If, ast.IfExp)):
        chain = other[0]
        if _asks_npu(chain.test, file):
            return True
        other = chain.orelse if isinstance(chain.orelse, list) else [chain.orelse]
    return len(other) <= 3 and any(_says(NPU, one, file) and not _says(_CUDA, one, file) for one in other)


def _beside(at: ast.stmt, file: PyFile) -> bool:
    """Statements of the same block: `if npu: return …` before, `if npu: …` for `if cuda: …`, twin definitions."""
    block = block_of(at, file)
    if len(block) < 2:
        return False
    if isinstance(at, DEFINITIONS):
        names = {one.name for one in block if isinstance(one, DEFINITIONS)}
        new = re.sub("cuda", "npu", re.sub("Cuda", "Npu", at.name.replace("CUDA", "NPU")))
        return new != at.name and (new in names or at.name in file.settings.facts.npu_twins)
    if isinstance(at, (ast.Assign, ast.AnnAssign)):
        if isinstance(file.parent(at), ast.ClassDef):
            return _is_member(at, block, file)
        if _has_twin_name(at, block) or _is_overruled(at, block, file):
            return True
    place = block.index(at)
    is_cuda_case = isinstance(at, ast.If) and _says(_CUDA, at.test, file)
    for position, other in enumerate(block):
        if other is at or not isinstance(other, ast.If) or _asks_npu(other.test, file) is not True:
            continue
        if is_cuda_case or (position < place and exits(other.body) and not other.orelse):
            return True
    return False


def _is_overruled(at: ast.Assign | ast.AnnAssign, block: list[ast.stmt], file: PyFile) -> bool:
    """`amp = torch.cuda.amp`, and then `if npu: amp = torch.npu.amp`."""
    names = set(_targets(at))
    for other in block[block.index(at) + 1 :]:
        if isinstance(other, ast.If) and _asks_npu(other.test, file) is True:
            given = [one for one in other.body if isinstance(one, (ast.Assign, ast.AnnAssign))]
            if any(not names.isdisjoint(_targets(one)) and _says(NPU, one, file) for one in given):
                return True
    return False


def _has_twin_name(at: ast.Assign | ast.AnnAssign, block: list[ast.stmt]) -> bool:
    """`cuda_there = …` beside `npu_there = …`."""
    names = {name for one in block if isinstance(one, (ast.Assign, ast.AnnAssign)) for name in _targets(one)}
    return any(
        re.sub("cuda|gpu", "npu", re.sub("CUDA|GPU", "NPU", name)) in names - {name}
        for name in _targets(at)
        if _CUDA.search(name)
    )


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [shapes.last_word(target) for target in targets if shapes.last_word(target)]


def _is_member(at: ast.Assign | ast.AnnAssign, block: list[ast.stmt], file: PyFile) -> bool:
    """A member of an enumeration, or a constant of a class, that has an NPU sibling."""
    if not isinstance(at.value, ast.Constant):
        return False
    others = [one.value for one in block if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None]
    return _is_listed(at.value, others, file)


def _in_try(up: ast.AST, at: ast.AST, file: PyFile) -> bool:
    assert isinstance(up, ast.Try)
    return at in up.handlers and any(_says(NPU, one, file) and not _says(_CUDA, one, file) for one in up.body)


def _in_case(up: ast.AST, at: ast.AST, file: PyFile) -> bool:
    assert isinstance(up, Match)
    if not isinstance(at, ast.match_case) or not _CUDA.search(ast.unparse(at.pattern)):
        return False
    return any(NPU.search(ast.unparse(case.pattern)) for case in up.cases if case is not at)


_CHECKS = {
    ast.BoolOp: _in_or,
    ast.List: _among,
    ast.Tuple: _among,
    ast.Set: _among,
    ast.Dict: _in_dict,
    ast.If: _in_if,
    ast.IfExp: _in_if,
    ast.Try: _in_try,
    Match: _in_case,
}
