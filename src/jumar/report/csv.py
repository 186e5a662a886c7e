"""The tables that users of the vendor's migration tool know, with the same names and columns.

msFmkTransplt of the Ascend toolkit writes them; `unknown_api.csv` there has the columns of `unsupported_api.csv`,
and `cuda_op_list.csv` only a file and a name.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from jumar.core.finding import Finding, State
from jumar.core.printable import one_line

if TYPE_CHECKING:
    from jumar.migrate.result import ProjectResult
    from jumar.migrate.rule import Unit

CHANGES = ("File", "Start Line", "End Line", "Operation Type", "Message")
APIS = ("File", "Start Line", "End Line", "OP", "Tips")
KERNELS = ("File", "Api")


def render(result: ProjectResult, rules: Mapping[str, Unit]) -> dict[str, str]:
    """The text of each table by file name; paths are relative to the project."""
    found = list(result.findings())
    native = [item for item in found if _is_native(item, rules)]
    others = [item for item in found if not _is_native(item, rules)]
    unsupported = [item for item in others if item.state in (State.UNSUPPORTED, State.FALLBACK)]
    unknown = [item for item in others if item.state is State.HAND and item.subject]
    return {
        "change_list.csv": _table(CHANGES, (_change(item, result.root) for item in found if _made(item))),
        "unsupported_api.csv": _table(APIS, (_api(item, result.root) for item in unsupported)),
        "unknown_api.csv": _table(APIS, (_api(item, result.root) for item in unknown)),
        "cuda_op_list.csv": _table(KERNELS, _kernels(native, result.root)),
    }


def _is_native(item: Finding, rules: Mapping[str, Unit]) -> bool:
    return item.id in rules and rules[item.id].family == "native"


def _made(item: Finding) -> bool:
    return item.state is State.REWRITTEN and bool(item.edits)


def _change(item: Finding, root: str) -> tuple[str, ...]:
    if all(edit.start == edit.end for edit in item.edits):
        kind = "INSERT"
    elif all(not edit.new for edit in item.edits):
        kind = "DELETE"
    else:
        kind = "MODIFY"
    return (*_place(item, root), kind, item.message)


def _api(item: Finding, root: str) -> tuple[str, ...]:
    tips = f"{item.message}; {item.fix}" if item.fix else item.message
    return (*_place(item, root), item.subject or item.id, tips)


def _kernels(items: Iterable[Finding], root: str) -> Iterator[tuple[str, ...]]:
    for item in items:
        yield _place(item, root)[0], item.subject or item.message


def _place(item: Finding, root: str) -> tuple[str, str, str]:
    where = item.where
    if where is None:
        return "NA", "NA", "NA"
    line = str(where.line or "NA")
    return os.path.relpath(where.path, root), line, str(where.end_line or line)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(_harmless, row) for row in rows)
    return out.getvalue()


def _harmless(cell: str) -> str:
    """A spreadsheet takes a cell that begins with one of these signs for a formula; a quote before it makes it text."""
    cell = one_line(cell)
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t")) else cell
