"""One finding per site in each of the three styles, for rules whose edit is not a device or a `torch.cuda` name.

Explicit NPU code is edited. With the run-time import (`torch_npu.contrib.transfer_to_npu`) a site is either patched by
it when the program runs, or stays for a person.
"""

from __future__ import annotations

from jumar.core.edit import Edit
from jumar.core.finding import Finding, Safety, State
from jumar.core.source import HasSpan
from jumar.migrate.document import Span
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style

BY_HAND = "change it by hand, or use `--to npu`: the run-time import does not reach it"


def rewrite(
    file: PyFile,
    rule: Rule,
    at: HasSpan | Span,
    message: str,
    *edits: Edit,
    needs: tuple[str, ...] = (),
    subject: str = "",
    at_run_time: bool = False,
    safety: Safety | None = None,
) -> Finding:
    """The site is rewritten; in style `import` by torch_npu itself (`at_run_time`), or it is left with a report."""
    if file.settings.to is not Style.IMPORT:
        return file.rewrite(rule, at, message, *edits, needs=needs, subject=subject, safety=safety)
    if at_run_time:
        return file.rewrite(rule, at, f"{message} at run time", subject=subject)
    return file.report(rule, at, State.HAND, message, BY_HAND, subject=subject)


def is_agnostic(file: PyFile) -> bool:
    return file.settings.to is Style.AGNOSTIC
