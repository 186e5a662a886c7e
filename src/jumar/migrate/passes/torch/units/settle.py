"""Decides what of a file's findings belongs together, after all rules have spoken.

A guard and what it guards are one unit: `torch.cuda.is_available() and torch.cuda.get_device_capability() >= (7, 5)`
with only its first half rewritten would run on an NPU machine and fail there. So all of a unit is rewritten or none of
it; where it stays, NPUs take the other path, as a machine without CUDA did before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jumar.core.compat import dataclass
from jumar.core.edit import Edit, OverlapError, apply
from jumar.core.finding import Finding, Level, Safety, State
from jumar.migrate.document import Span
from jumar.migrate.passes.torch import context, kernels, targets
from jumar.migrate.passes.torch.python import cuda_extension_guard
from jumar.migrate.passes.torch.units import foreign, reach, twins
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Style

_ASKING = {
    "torch.cuda.is_available",
    "torch.cuda.device_count",
    "torch.cuda.is_bf16_supported",
    "torch.cuda.is_initialized",
    "torch.distributed.is_nccl_available",
}
_NAMES = {"PT102", "PT151", "PT161", "PT167"}
_STRINGS, _TENSORS, _PACKAGES = "PT101", "PT106", "PT200"
_CAUGHT = {"Exception", "BaseException", "RuntimeError", "AssertionError", ""}
_BUILDER = "torch.utils.cpp_extension.CUDAExtension"
_MANY = 6
"""A variable that decides about more rewritten places than this is the program's choice of a device."""


@dataclass(slots=True)
class Guard:
    """A question about CUDA that a rule wants to rewrite, and the code behind it."""

    finding: Finding
    question: ast.expr
    behind: reach.Reach
    spans: list[Span]


def settle(file: PyFile, found: list[Finding]) -> list[Finding]:
    if file.settings.to is Style.IMPORT or not any(_is_written(one) for one in found):
        return found
    kept: dict[int, Finding] = {}
    if file.settings.facts.npu_twins or twins.OTHERS.search(file.source.data.decode("utf-8", "replace")):
        _settle_twins(file, found, kept)
    _settle_literals(file, found, kept)
    _settle_foreign(file, found, kept)
    _settle_guards(file, [one for one in found if id(one) not in kept], kept)
    if any(one.subject == _BUILDER for one in found) and file.source.path.endswith("setup.py"):
        _keep_questions(file, found, kept)
    return [kept.get(id(one), one) for one in found]


def _settle_twins(file: PyFile, found: list[Finding], kept: dict[int, Finding]) -> None:
    """Keep every place that has its counterpart for NPUs beside it."""
    edits: dict[ast.stmt, list[Edit]] = {}
    for one in found:
        node = file.nodes.get(id(one))
        if not one.edits or node is None or one.state is State.UNSUPPORTED:
            continue
        why = twins.reason(node, file)
        if why:
            kept[id(one)] = _left(one, node, file, why)
        elif isinstance(statement := file.statement(node), (ast.Assign, ast.Expr, ast.AugAssign)):
            edits.setdefault(statement, []).extend(one.edits)
    doubles = twins.doubles({statement: _edited(statement, made, file) for statement, made in edits.items()}, file)
    for one in found:
        node = file.nodes.get(id(one))
        if one.edits and id(one) not in kept and node is not None and file.statement(node) in doubles:
            kept[id(one)] = _left(one, node, file, "stays: the same for NPUs stands beside it")


def _edited(statement: ast.stmt, edits: list[Edit], file: PyFile) -> str:
    """The new text of a statement, spelled in one way; empty when it is not one statement any more."""
    start, end = file.source.span(statement)
    inner = [Edit(one.start - start, one.end - start, one.new) for one in edits if start <= one.start <= one.end <= end]
    try:
        return ast.unparse(ast.parse(apply(file.source.data[start:end], inner)).body[0])
    except (OverlapError, SyntaxError, ValueError, IndexError):
        return ""


def _settle_literals(file: PyFile, found: list[Finding], kept: dict[int, Finding]) -> None:
    """A table whose key "cuda" stays keeps what belongs to it: `{"cuda": torch.cuda.Stream, "hip": "cuda"}`."""
    strings = [(one, node) for one in found if one.id == _STRINGS and (node := file.nodes.get(id(one))) is not None]
    tables: list[ast.Dict] = []
    behind: list[ast.AST] = []
    for one, node in strings:
        table = file.parent(node)
        if not one.edits and isinstance(table, ast.Dict) and node in table.keys:
            tables.append(table)
            behind.append(table.values[table.keys.index(node)])
    for one, node in strings:
        table = file.parent(node)
        if (
            one.edits
            and isinstance(table, ast.Dict)
            and node in table.values
            and any(table is other for other in tables)
        ):
            behind.append(node)
    _keep_inside(_spans(behind, file), found, kept, file, "stays with the other words of this table")


def _settle_foreign(file: PyFile, found: list[Finding], kept: dict[int, Finding]) -> None:
    """Keep what a package with devices of its own gets."""
    for place, package in foreign.places(file):
        spans = _spans([place], file)
        for one in found:
            if one.id != _STRINGS or not _is_written(one) or not _is_inside(one, spans, file):
                continue
            node = file.nodes[id(one)]
            if not isinstance(file.parent(node), ast.IfExp):
                message = f"stays: `{package}` has devices of its own, and no NPU among them"
                kept[id(one)] = _left(one, node, file, message, State.HAND, "run this part on the CPU")
        _keep_inside(spans, found, kept, file, f"stays: `{package}` has devices of its own")


def _settle_guards(file: PyFile, found: list[Finding], kept: dict[int, Finding]) -> None:
    """Keep every guard that has something behind it which cannot be rewritten, the innermost first."""
    guards = sorted(_guards(file, found), key=lambda guard: sum(end - start for start, end in guard.spans))
    stuck = [(node, one) for one in found if (node := _stuck_at(one, file)) is not None]
    dead = list(_dead(file))
    _keep_inside(_spans(dead, file), found, kept, file)
    settled: list[list[ast.AST]] = [dead]
    for guard in guards:
        if id(guard.finding) in kept:
            continue
        reason = _reason(guard, stuck, _elsewhere(guard, settled), file)
        inside = sum(1 for one in found if one.edits and _is_inside(one, guard.spans, file))
        is_choice = guard.behind.is_kept or not guard.behind.has_way_out
        if reason is None or (is_choice and inside > _MANY):
            continue
        settled.append(guard.behind.nodes)
        kept[id(guard.finding)] = reason
        _keep_inside(guard.spans, found, kept, file)


def _keep_questions(file: PyFile, found: list[Finding], kept: dict[int, Finding]) -> None:
    """What a `setup.py` that compiles CUDA kernels asks about CUDA is about compiling them."""
    for guard in _guards(file, [one for one in found if id(one) not in kept]):
        node = file.nodes[id(guard.finding)]
        kept[id(guard.finding)] = _left(guard.finding, node, file, "stays: this file compiles CUDA kernels")


def _elsewhere(guard: Guard, settled: list[list[ast.AST]]) -> list[ast.AST]:
    """What other guards take care of; two in front of the same code are one unit."""
    mine = {id(node) for node in guard.behind.nodes}
    return [node for nodes in settled if not any(id(node) in mine for node in nodes) for node in nodes]


def _keep_inside(
    spans: list[Span],
    found: Iterable[Finding],
    kept: dict[int, Finding],
    file: PyFile,
    why: str = "stays with the test for CUDA around it",
) -> None:
    for one in found:
        if _is_written(one) and id(one) not in kept and _is_inside(one, spans, file):
            kept[id(one)] = _left(one, file.nodes[id(one)], file, why)


def _guards(file: PyFile, found: Iterable[Finding]) -> Iterable[Guard]:
    for one in found:
        node = file.nodes.get(id(one))
        asked = _question(one, node, file) if _is_written(one) and node is not None else None
        if asked is not None:
            question, yes = asked
            behind = reach.behind(question, file, yes=yes)
            yield Guard(one, question, behind, _spans(behind.nodes, file))


def _is_written(one: Finding) -> bool:
    """Does the place change, be it only because the import of its name does?"""
    return bool(one.edits) or (one.id in _NAMES and one.state is State.REWRITTEN)


def _question(one: Finding, node: ast.AST, file: PyFile) -> tuple[ast.expr, bool] | None:
    """The expression that is true on CUDA machines only (or false there only), when a finding is about one."""
    up = file.parent(node)
    if one.id == _TENSORS and isinstance(node, ast.expr):
        return node, True
    if one.id in _NAMES:
        is_asked = one.subject in _ASKING and isinstance(up, ast.Call) and up.func is node
        return (up, True) if is_asked and isinstance(up, ast.Call) else None
    if one.id != _STRINGS:
        return None
    while isinstance(up, (ast.List, ast.Tuple, ast.Set)):
        up = file.parent(up)
    if isinstance(up, ast.Compare) and len(up.ops) == 1:
        return up, not isinstance(up.ops[0], (ast.NotEq, ast.NotIn, ast.IsNot))
    if isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and up.func.attr == "startswith":
        return up, True
    return None


def _stuck_at(one: Finding, file: PyFile) -> ast.AST | None:
    """The node of a finding that says: this stays and fails, or means CUDA, on an NPU machine."""
    node = file.nodes.get(id(one))
    if node is None or _is_caught(node, file):
        return None
    if one.id in _NAMES:
        if one.subject == "torch.version.cuda" and _is_asked(node, file):
            return None
        return node if one.state in (State.UNSUPPORTED, State.HAND) else None
    if one.id == _PACKAGES:
        return node if one.state is State.UNSUPPORTED else None
    if one.id == _STRINGS and not one.edits and isinstance(node, ast.expr):
        return node if context.device_use(file, node)[1] in ("unsure", context.OWN_WORD) else None
    return None


def _is_caught(node: ast.AST, file: PyFile) -> bool:
    """Does a `try` catch what fails here?"""
    at = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Try) and at in up.body:
            for handler in up.handlers:
                types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                if any((getattr(one, "attr", "") or getattr(one, "id", "")) in _CAUGHT for one in types):
                    return True
        if isinstance(up, reach.DEFINITIONS):
            return False
        at = up
    return False


def _is_asked(node: ast.AST, file: PyFile) -> bool:
    """Is `torch.version.cuda` only asked whether it is there?"""
    up = file.parent(node)
    if isinstance(up, ast.Compare):
        return all(isinstance(side, ast.Constant) and side.value is None for side in up.comparators)
    if isinstance(up, (ast.If, ast.IfExp)):
        return up.test is node
    return isinstance(up, (ast.BoolOp, ast.UnaryOp))


def _dead(file: PyFile) -> Iterable[ast.AST]:
    """What runs only where CUDA is: `torch.version.cuda` is never set on an NPU machine, some questions stay."""
    for question, yes in twins.for_cuda_only(file):
        behind = reach.behind(question, file, yes=yes)
        yield from behind.nodes if behind.has_way_out else ()
    for node in file.index.nodes[ast.Attribute]:
        if isinstance(node, ast.Attribute) and node.attr == "cuda" and file.name(node) == "torch.version.cuda":
            found = reach.behind(node, file)
            yield from found.nodes if found.has_way_out else ()


def _reason(guard: Guard, stuck: list[tuple[ast.AST, Finding]], settled: list[ast.AST], file: PyFile) -> Finding | None:
    """What to say about a guard that has to stay; None when all behind it can be rewritten."""
    inner = _own_functions(guard.behind.nodes, file)
    resolved = _spans(settled, file)
    for node, one in stuck:
        start = file.source.span(node)[0]  # type: ignore[arg-type]
        if _holds(resolved, start):
            continue
        is_direct = _holds(guard.spans, start)
        if one.id == _STRINGS and not (is_direct and _is_next(node, guard.behind.nodes, file)):
            continue
        if is_direct or _holds(inner, start):
            what = one.subject or file.text(node)  # type: ignore[arg-type]
            message = f"stays: behind this test `{what}` is for CUDA only, so NPUs take the other path"
            fix = f"give NPUs their own branch, or change `{what}` and run `jumar migrate` again"
            return _left(guard.finding, file.nodes[id(guard.finding)], file, message, State.HAND, fix)
    kernel = kernels.first(guard.behind.nodes, file, settled)
    if kernel is None:
        return None
    return cuda_extension_guard.stays(file, guard.question, kernel, guard.behind.has_way_out)


def _own_functions(nodes: Iterable[ast.AST], file: PyFile, depth: int = 2) -> list[Span]:
    """The bodies of functions of this file that run behind a guard."""
    found: list[Span] = []
    for node in nodes:
        for call in ast.walk(node):
            for inner in reach.called(call, file) if isinstance(call, ast.Call) else ():
                found += _spans(inner.body, file)
                if depth:
                    found += _own_functions(inner.body, file, depth - 1)
    return found


def _spans(nodes: Iterable[ast.AST], file: PyFile) -> list[Span]:
    return [file.source.span(node) for node in nodes if isinstance(node, (ast.expr, ast.stmt))]


def _holds(spans: Iterable[Span], offset: int) -> bool:
    return any(start <= offset < end for start, end in spans)


def _is_inside(one: Finding, spans: list[Span], file: PyFile) -> bool:
    node = file.nodes.get(id(one))
    if not isinstance(node, (ast.expr, ast.stmt)):
        return False
    return _holds(spans, file.source.span(node)[0])


def _is_next(node: ast.AST, nodes: list[ast.AST], file: PyFile) -> bool:
    """Does a string stand right behind a guard: `"cuda" if … else …`, `if …: mode = "cuda"`?"""
    return node in nodes or file.statement(node) in nodes


def _left(
    one: Finding, node: ast.AST, file: PyFile, message: str, state: State = State.BENIGN, fix: str | None = None
) -> Finding:
    """The finding of a place that stays; a name whose import moves is written out."""
    edits: tuple[Edit, ...] = ()
    needs: tuple[str, ...] = ()
    if one.id == "PT102" and isinstance(node, ast.expr) and one.subject:
        old = targets.rename(file, node, one.subject)
        edits, needs = (old.edits, old.needs) if old is not None else ((), ())
    level = Level.WARNING if state is State.HAND else Level.NOTE
    safety = Safety.SAFE if edits else Safety.SHOW
    words = f"{one.message.partition(' becomes ')[0]} {message}" if state is State.BENIGN else message
    new = file.amended(one, message=words, state=state, level=level, safety=safety, edits=edits, fix=fix)
    if needs:
        file.needs[id(new)] = needs
    return new
