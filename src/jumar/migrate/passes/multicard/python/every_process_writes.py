"""Files, event logs and progress bars: every process would write them, only the first one shall."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.passes.multicard import text, writes
from jumar.migrate.passes.multicard.script import Script
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT307",
    name="every-process-writes",
    summary="work that only one process should do: save, log, show progress",
    keywords=("import",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for write in writes.find(script):
        if script.here(file, write.statements[0]):
            yield _guard(file, write)
    calls = script.calls_in(file)
    for call in calls:
        if file.name(call.func) in scripts.rows("progress") and file.keyword(call, "disable") is None:
            edit = lines.add_argument(file, call, "disable=RANK != 0")
            yield _argument(file, call, "only the first process shows this bar", edit, "disable=RANK != 0")
    for call in calls:
        name = file.name(call.func)
        if name == "wandb.init":
            extra = 'mode="online" if RANK == 0 else "disabled"'
            edit = None if file.keyword(call, "mode") else lines.add_argument(file, call, extra)
            yield _argument(file, call, "only the first process reports to wandb", edit, extra)
        elif name in ("os.makedirs", "os.mkdir") and not script.is_first_only(call):
            yield from _folder(file, call, name)
        elif name is None and _is_mkdir(call) and not script.is_first_only(call):
            yield from _path_folder(file, call)
        elif name in scripts.rows("writers"):
            yield from _writer(script, file, call)
    yield from _loads(script, file)


def _guard(file: PyFile, write: writes.Write) -> Finding:
    first = write.statements[0]
    if write.gathers is not None and not write.reason:
        message = "all processes gather the value of `torch.save`, the first one writes it"
        return file.rewrite(RULE, first, message, file.replace(write.gathers, "save_from_all"))
    edits = None if write.reason else lines.under(file, write.statements, text.IS_FIRST)
    if edits is None:
        reason = write.reason or "the line holds other code too"
        fix = f"compute on all processes, write under `{text.IS_FIRST}`"
        return file.report(RULE, first, State.HAND, f"`{write.what}` runs on every process: {reason}", fix)
    return file.rewrite(RULE, first, f"`{write.what}` only on the first process", *edits)


def _argument(file: PyFile, call: ast.Call, message: str, edit: Edit | None, extra: str) -> Finding:
    if edit is not None:
        return file.rewrite(RULE, call, message, edit)
    return file.report(RULE, call, State.HAND, f"{message}: not changed", f"give it `{extra}`")


def _folder(file: PyFile, call: ast.Call, name: str) -> Iterator[Finding]:
    """Two processes that make one folder at the same time: the second must not fail."""
    if file.keyword(call, "exist_ok") is not None:
        return
    edit = lines.add_argument(file, call, "exist_ok=True") if len(call.args) == 1 and not call.keywords else None
    if edit is None or not isinstance(call.func, ast.Attribute):
        yield file.report(RULE, call, State.HAND, f"`{name}` runs on every process", "give it `exist_ok=True`")
        return
    rename = file.rename_attr(call.func, "makedirs") if name == "os.mkdir" else None
    edits = [edit, rename] if rename is not None else [edit]
    yield file.rewrite(RULE, call, f"`{name}` may run on several processes at once", *edits)


def _is_mkdir(call: ast.Call) -> bool:
    """Is this `path.mkdir(parents=True)`?"""
    words = {keyword.arg for keyword in call.keywords}
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "mkdir"
    return is_method and not call.args and words <= {"parents", "exist_ok", "mode"}


def _path_folder(file: PyFile, call: ast.Call) -> Iterator[Finding]:
    given = file.keyword(call, "exist_ok")
    if given is not None and isinstance(given.value, ast.Constant) and given.value.value is True:
        return
    edit = lines.add_argument(file, call, "exist_ok=True")
    if given is not None:
        edit = file.replace(given.value, f"{file.text(given.value)} or WORLD_SIZE > 1")
    yield file.rewrite(RULE, call, "`mkdir` may run on several processes at once", edit)


def _writer(script: Script, file: PyFile, call: ast.Call) -> Iterator[Finding]:
    """A `SummaryWriter`: made on the first process, and so are the calls of its methods."""
    statement = file.statement(call)
    var = script.flow.var(statement.targets[0]) if isinstance(statement, ast.Assign) else None
    fix = "make it under `if RANK == 0:` and call its methods only there"
    if var is None or not isinstance(statement, ast.Assign) or statement.value is not call:
        yield file.report(RULE, call, State.HAND, "every process writes event files", fix)
        return
    statements: set[ast.stmt] = set()
    for alias in script.flow.aliases(var):
        for use in script.flow.uses.get(alias, ()):
            one = script.file.statement(use)
            if isinstance(getattr(use, "ctx", None), ast.Store) or script.is_first_only(use) or _is_handed(script, use):
                continue
            alike = isinstance(script.file.parent(use), ast.Attribute) and script.here(file, use)
            if not alike or not isinstance(one, ast.Expr):
                yield file.report(RULE, call, State.HAND, f"every process writes event files (line {one.lineno})", fix)
                return
            statements.add(one)
    alone = [writes.Write([one], "") for one in sorted(statements, key=lambda one: one.lineno)]
    groups = [lines.under(file, group.statements, text.IS_FIRST) for group in writes.grouped(script, alone)]
    if None in groups:
        yield file.report(RULE, call, State.HAND, "every process writes event files", fix)
        return
    _, end = file.source.span(call)
    guards = [edit for group in groups for edit in group or ()]
    yield file.rewrite(RULE, call, "only the first process writes event files", Edit(end, end, _ELSE), *guards)


_ELSE = b" if RANK == 0 else None"


def _is_handed(script: Script, use: ast.expr) -> bool:
    """Is the writer passed on as an argument to a function of this file?"""
    up = script.file.parent(use)
    call = script.file.parent(up) if isinstance(up, ast.keyword) else up
    return isinstance(call, ast.Call) and use is not call.func and bool(script.flow.callees(call))


def _loads(script: Script, file: PyFile) -> Iterator[Finding]:
    """A file loaded behind the training loop: the first process must have written it."""
    for epochs in script.epochs:
        owner = script.flow.owner(epochs.node)
        for call in script.calls_in(file):
            behind = call.lineno > (epochs.node.end_lineno or 0) and script.flow.owner(call) is owner
            if behind and file.name(call.func) == "torch.load":
                statement = _outermost_with(script, call)
                edit = lines.before(file, statement, text.BARRIER)
                if edit is not None and not script.is_first_only(call):
                    message = "all processes wait until the file is written"
                    yield file.rewrite(RULE, (edit.start, edit.start), message, edit)


def _outermost_with(script: Script, call: ast.Call) -> ast.stmt:
    found = script.file.statement(call)
    for up in script.file.ancestors(call):
        if isinstance(up, ast.With):
            found = up
    return found
