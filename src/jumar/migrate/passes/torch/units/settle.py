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
from jumar.migrate import rule
from jumar.migrate.document import Span
from jumar.migrate.passes.torch import context, kernels, targets
from jumar.migrate.passes.torch.python import cuda_extension_guard
from jumar.migrate.passes.torch.units import foreign, reach, twins
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Site
from jumar.migrate.settings import Style

_ASKING = {
    "torch.cuda.is_available",
    "torch.cuda.device_count",
    "torch.cuda.is_bf16_supported",
    "torch.cuda.is_initialized",
    "torch.distributed.is_nccl_available",
}
_NAMES = (Site.NAME, Site.IMPORTED_NAME)
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


def settle(file: PyFile, findings: list[Finding]) -> list[Finding]:
    if file.settings.to is Style.IMPORT or not any(_is_written(finding, file) for finding in findings):
        return findings
    replacements: dict[int, Finding] = {}
    if file.settings.facts.npu_twins or twins.OTHERS.search(file.source.data.decode("utf-8", "replace")):
        _settle_twins(file, findings, replacements)
    _settle_literals(file, findings, replacements)
    _settle_foreign(file, findings, replacements)
    _settle_guards(file, [finding for finding in findings if id(finding) not in replacements], replacements)
    if any(finding.subject == _BUILDER for finding in findings) and file.source.path.endswith("setup.py"):
        _keep_questions(file, findings, replacements)
    return [replacements.get(id(finding), finding) for finding in findings]


def _settle_twins(file: PyFile, findings: list[Finding], replacements: dict[int, Finding]) -> None:
    """Keep every place that has its counterpart for NPUs beside it."""
    edits: dict[ast.stmt, list[Edit]] = {}
    for finding in findings:
        node = file.nodes.get(id(finding))
        if not finding.edits or node is None or finding.state is State.UNSUPPORTED:
            continue
        why = twins.reason(node, file)
        if why:
            replacements[id(finding)] = _staying(finding, node, file, why)
        elif isinstance(statement := file.statement(node), (ast.Assign, ast.Expr, ast.AugAssign)):
            edits.setdefault(statement, []).extend(finding.edits)
    doubles = twins.doubles({statement: _edited(statement, made, file) for statement, made in edits.items()}, file)
    for finding in findings:
        node = file.nodes.get(id(finding))
        if finding.edits and id(finding) not in replacements and node is not None and file.statement(node) in doubles:
            replacements[id(finding)] = _staying(finding, node, file, "stays: the same for NPUs stands beside it")


def _edited(statement: ast.stmt, edits: list[Edit], file: PyFile) -> str:
    """The new text of a statement, spelled in one way; empty when it is not one statement any more."""
    start, end = file.source.span(statement)
    inner = [
        Edit(edit.start - start, edit.end - start, edit.new) for edit in edits if start <= edit.start <= edit.end <= end
    ]
    try:
        return ast.unparse(ast.parse(apply(file.source.data[start:end], inner)).body[0])
    except (OverlapError, SyntaxError, ValueError, IndexError):
        return ""


def _settle_literals(file: PyFile, findings: list[Finding], replacements: dict[int, Finding]) -> None:
    """A table whose key "cuda" stays keeps what belongs to it: `{"cuda": torch.cuda.Stream, "hip": "cuda"}`."""
    devices = [finding for finding in findings if _site(finding, file) is Site.DEVICE]
    strings = [(finding, node) for finding in devices if (node := file.nodes.get(id(finding))) is not None]
    tables: list[ast.Dict] = []
    behind: list[ast.AST] = []
    for finding, node in strings:
        table = file.parent(node)
        if not finding.edits and isinstance(table, ast.Dict) and node in table.keys:
            tables.append(table)
            behind.append(table.values[table.keys.index(node)])
    for finding, node in strings:
        table = file.parent(node)
        if (
            finding.edits
            and isinstance(table, ast.Dict)
            and node in table.values
            and any(table is other for other in tables)
        ):
            behind.append(node)
    _keep_inside(_spans(behind, file), findings, replacements, file, "stays with the other words of this table")


def _settle_foreign(file: PyFile, findings: list[Finding], replacements: dict[int, Finding]) -> None:
    """Keep what a package with devices of its own gets."""
    for place, package in foreign.places(file):
        spans = _spans([place], file)
        for finding in findings:
            if (
                _site(finding, file) is not Site.DEVICE
                or not _is_written(finding, file)
                or not _is_inside(finding, spans, file)
            ):
                continue
            node = file.nodes[id(finding)]
            if not isinstance(file.parent(node), ast.IfExp):
                message = f"stays: `{package}` has devices of its own, and no NPU among them"
                replacements[id(finding)] = _staying(
                    finding, node, file, message, State.HAND, "run this part on the CPU"
                )
        _keep_inside(spans, findings, replacements, file, f"stays: `{package}` has devices of its own")


def _settle_guards(file: PyFile, findings: list[Finding], replacements: dict[int, Finding]) -> None:
    """Keep every guard that has something behind it which cannot be rewritten, the innermost first."""
    guards = sorted(_guards(file, findings), key=lambda guard: sum(end - start for start, end in guard.spans))
    stuck = [(node, finding) for finding in findings if (node := _stuck_at(finding, file)) is not None]
    dead = list(_dead(file))
    _keep_inside(_spans(dead, file), findings, replacements, file)
    settled: list[list[ast.AST]] = [dead]
    for guard in guards:
        if id(guard.finding) in replacements:
            continue
        reason = _reason(guard, stuck, _elsewhere(guard, settled), file)
        inside = sum(1 for finding in findings if finding.edits and _is_inside(finding, guard.spans, file))
        is_choice = guard.behind.is_kept or not guard.behind.has_way_out
        if reason is None or (is_choice and inside > _MANY):
            continue
        settled.append(guard.behind.nodes)
        replacements[id(guard.finding)] = reason
        _keep_inside(guard.spans, findings, replacements, file)


def _keep_questions(file: PyFile, findings: list[Finding], replacements: dict[int, Finding]) -> None:
    """What a `setup.py` that compiles CUDA kernels asks about CUDA is about compiling them."""
    for guard in _guards(file, [finding for finding in findings if id(finding) not in replacements]):
        node = file.nodes[id(guard.finding)]
        replacements[id(guard.finding)] = _staying(guard.finding, node, file, "stays: this file compiles CUDA kernels")


def _elsewhere(guard: Guard, settled: list[list[ast.AST]]) -> list[ast.AST]:
    """What other guards take care of; two in front of the same code are one unit."""
    mine = {id(node) for node in guard.behind.nodes}
    return [node for nodes in settled if not any(id(node) in mine for node in nodes) for node in nodes]


def _keep_inside(
    spans: list[Span],
    findings: Iterable[Finding],
    replacements: dict[int, Finding],
    file: PyFile,
    why: str = "stays with the test for CUDA around it",
) -> None:
    for finding in findings:
        if _is_written(finding, file) and id(finding) not in replacements and _is_inside(finding, spans, file):
            replacements[id(finding)] = _staying(finding, file.nodes[id(finding)], file, why)


def _guards(file: PyFile, findings: Iterable[Finding]) -> Iterable[Guard]:
    for finding in findings:
        node = file.nodes.get(id(finding))
        asked = _question(finding, node, file) if _is_written(finding, file) and node is not None else None
        if asked is not None:
            question, yes = asked
            behind = reach.behind(question, file, yes=yes)
            yield Guard(finding, question, behind, _spans(behind.nodes, file))


def _site(finding: Finding, file: PyFile) -> Site:
    unit = rule.find(finding.id, file.settings)
    return unit.rule.site if unit is not None else Site.OTHER


def _is_written(finding: Finding, file: PyFile) -> bool:
    """Does the place change, be it only because the import of its name does?"""
    return bool(finding.edits) or (finding.state is State.REWRITTEN and _site(finding, file) in _NAMES)


def _question(finding: Finding, node: ast.AST, file: PyFile) -> tuple[ast.expr, bool] | None:
    """The expression that is true on CUDA machines only (or false there only), when a finding is about one."""
    up, site = file.parent(node), _site(finding, file)
    if site is Site.TENSOR and isinstance(node, ast.expr):
        return node, True
    if site in _NAMES:
        is_asked = finding.subject in _ASKING and isinstance(up, ast.Call) and up.func is node
        return (up, True) if is_asked and isinstance(up, ast.Call) else None
    if site is not Site.DEVICE:
        return None
    while isinstance(up, (ast.List, ast.Tuple, ast.Set)):
        up = file.parent(up)
    if isinstance(up, ast.Compare) and len(up.ops) == 1:
        return up, not isinstance(up.ops[0], (ast.NotEq, ast.NotIn, ast.IsNot))
    if isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and up.func.attr == "startswith":
        return up, True
    return None


def _stuck_at(finding: Finding, file: PyFile) -> ast.AST | None:
    """The node of a finding that says: this stays and fails, or means CUDA, on an NPU machine."""
    node = file.nodes.get(id(finding))
    if node is None or _is_caught(node, file):
        return None
    site = _site(finding, file)
    if site in _NAMES:
        if finding.subject == "torch.version.cuda" and _is_asked(node, file):
            return None
        return node if finding.state in (State.UNSUPPORTED, State.HAND) else None
    if site is Site.PACKAGE:
        return node if finding.state is State.UNSUPPORTED else None
    if site is Site.DEVICE and not finding.edits and isinstance(node, ast.expr):
        return node if context.device_use(file, node)[1] in ("unsure", context.OWN_WORD) else None
    return None


def _is_caught(node: ast.AST, file: PyFile) -> bool:
    """Does a `try` catch what fails here?"""
    at = node
    for up in file.ancestors(node):
        if isinstance(up, ast.Try) and at in up.body:
            for handler in up.handlers:
                types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                if any((getattr(kind, "attr", "") or getattr(kind, "id", "")) in _CAUGHT for kind in types):
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
            behind = reach.behind(node, file)
            yield from behind.nodes if behind.has_way_out else ()


def _reason(guard: Guard, stuck: list[tuple[ast.AST, Finding]], settled: list[ast.AST], file: PyFile) -> Finding | None:
    """What to say about a guard that has to stay; None when all behind it can be rewritten."""
    inner = _own_functions(guard.behind.nodes, file)
    resolved = _spans(settled, file)
    for node, finding in stuck:
        start = file.source.span(node)[0]  # type: ignore[arg-type]
        if _holds(resolved, start):
            continue
        is_direct = _holds(guard.spans, start)
        if _site(finding, file) is Site.DEVICE and not (is_direct and _is_next(node, guard.behind.nodes, file)):
            continue
        if is_direct or _holds(inner, start):
            what = finding.subject or file.text(node)  # type: ignore[arg-type]
            message = f"stays: behind this test `{what}` is for CUDA only, so NPUs take the other path"
            fix = f"give NPUs their own branch, or change `{what}` and run `jumar migrate` again"
            return _staying(guard.finding, file.nodes[id(guard.finding)], file, message, State.HAND, fix)
    kernel = kernels.first(guard.behind.nodes, file, settled)
    if kernel is None:
        return None
    return cuda_extension_guard.stays(file, guard.question, kernel, guard.behind.has_way_out)


def _own_functions(nodes: Iterable[ast.AST], file: PyFile, depth: int = 2) -> list[Span]:
    """The bodies of functions of this file that run behind a guard."""
    spans: list[Span] = []
    for node in nodes:
        for call in ast.walk(node):
            for inner in reach.called(call, file) if isinstance(call, ast.Call) else ():
                spans += _spans(inner.body, file)
                if depth:
                    spans += _own_functions(inner.body, file, depth - 1)
    return spans


def _spans(nodes: Iterable[ast.AST], file: PyFile) -> list[Span]:
    return [file.source.span(node) for node in nodes if isinstance(node, (ast.expr, ast.stmt))]


def _holds(spans: Iterable[Span], offset: int) -> bool:
    return any(start <= offset < end for start, end in spans)


def _is_inside(finding: Finding, spans: list[Span], file: PyFile) -> bool:
    node = file.nodes.get(id(finding))
    if not isinstance(node, (ast.expr, ast.stmt)):
        return False
    return _holds(spans, file.source.span(node)[0])


def _is_next(node: ast.AST, nodes: list[ast.AST], file: PyFile) -> bool:
    """Does a string stand right behind a guard: `"cuda" if … else …`, `if …: mode = "cuda"`?"""
    return node in nodes or file.statement(node) in nodes


def _staying(
    finding: Finding, node: ast.AST, file: PyFile, message: str, state: State = State.BENIGN, fix: str | None = None
) -> Finding:
    """The finding of a place that stays; a name whose import moves is written out."""
    edits: tuple[Edit, ...] = ()
    needs: tuple[str, ...] = ()
    if _site(finding, file) is Site.IMPORTED_NAME and isinstance(node, ast.expr) and finding.subject:
        old = targets.rename(file, node, finding.subject)
        edits, needs = (old.edits, old.needs) if old is not None else ((), ())
    level = Level.WARNING if state is State.HAND else Level.NOTE
    safety = Safety.SAFE if edits else Safety.SHOW
    words = f"{finding.message.partition(' becomes ')[0]} {message}" if state is State.BENIGN else message
    new = file.amended(finding, message=words, state=state, level=level, safety=safety, edits=edits, fix=fix)
    if needs:
        file.needs[id(new)] = needs
    return new
