"""The report files of a result: SARIF, CSV and HTML, rendered and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.emulate.proof.result import Proof
    from jumar.migrate.result import ProjectResult


def of_project(
    result: ProjectResult,
    *,
    sarif: Path | None,
    html: Path | None,
    csv: Path | None,
    proof: Proof | None = None,
    analysis: bool = False,
) -> dict[Path, bytes]:
    """The files that were asked for, by path; `csv` is a folder, `proof` is what running the project showed."""
    if sarif is html is csv is None:
        return {}
    from jumar.migrate.rule import all_rules

    rules = {unit.rule.id: unit for unit in all_rules()}
    found: dict[Path, bytes] = {}
    if sarif is not None:
        from jumar.report import sarif as sarifs
        from jumar.tables import pages

        found[sarif] = sarifs.render(result, rules, pages.pages()).encode()
    if csv is not None:
        from jumar.report import csv as tables

        found |= {csv / name: text.encode() for name, text in tables.render(result, rules).items()}
    if html is not None:
        from jumar.report.pages import migrate

        found[html] = migrate.of_result(result, rules, proof, diff=not analysis).html().encode()
    return found


def sarif_of(findings: Iterable[Finding], path: Path) -> bytes:
    """Findings about one file that is no text."""
    from jumar.migrate.result import FileResult, ProjectResult
    from jumar.migrate.settings import Settings
    from jumar.report import sarif
    from jumar.tables import pages

    # A text of its own keeps the result from reading the file for exact edits.
    file = FileResult(str(path), b"\n", b"\n", tuple(findings))
    return sarif.render(ProjectResult(".", (file,), Settings()), {}, pages.pages()).encode()


def write(files: Mapping[Path, bytes], root: str | Path | None = None) -> None:
    """Each as a whole or not at all; missing folders are made. No link of the project `root` leads out of it."""
    from jumar.core import write

    for path, data in files.items():
        with write.inside(path.parent, root=root):
            write.replace(path, data, root)
