"""Prints results and writes what was asked for; the same for every verb that has them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.core.errors import EXIT_FINDINGS, EXIT_OK

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.migrate.result import ProjectResult


def rules(*, as_json: bool) -> int:
    """The list of rules."""
    from jumar.migrate.rule import all_rules
    from jumar.report import json, text

    rows = [(unit.rule.id, unit.rule.name, unit.rule.safety.value, unit.rule.summary) for unit in all_rules()]
    rows = sorted(dict.fromkeys(rows))
    if as_json:
        fields = ("id", "name", "safety", "summary")
        click.echo(json.dump({"rules": [dict(zip(fields, row, strict=True)) for row in rows]}))
    else:
        lines(text.rules(rows))
    return 0


def checked(found: list[Finding], *, as_json: bool) -> int:
    """What a check found, and the exit code that says whether it found anything."""
    from jumar.report import json, text

    if as_json:
        click.echo(json.dump({"findings": [json.finding(row) for row in found]}))
    else:
        lines(text.findings(found, ()))
        if not found:
            click.echo("nothing is wrong", err=True)
    return EXIT_FINDINGS if found else EXIT_OK


def written_in_place(result: ProjectResult) -> str:
    """Write the changes over the files, and say so."""
    from jumar.migrate import output

    written = output.in_place(result)
    return f"written in place: {len(written)} file{'' if len(written) == 1 else 's'}"


def written_to(result: ProjectResult, paths: list[Path], options: dict[str, Any]) -> str:
    """Write the changed copy that `--out` asks for, warn of what was not copied, and say so."""
    from jumar.migrate import output

    for path in output.copy(result, paths, options["out"], force=options["force"]):
        click.echo(f"warning: not copied: `{path}`", err=True)
    return f"written to `{options['out']}`"


def files(result: ProjectResult, options: dict[str, Any]) -> None:
    """Write the report files that were asked for, and say so."""
    wanted = {kind: options[kind] for kind in ("sarif", "html", "csv") if options[kind] is not None}
    if not wanted:
        return
    from jumar.core import write
    from jumar.migrate.rule import all_rules
    from jumar.tables import pages

    rules = {unit.rule.id: unit for unit in all_rules()}
    known = pages.pages()
    written: dict[Path, bytes] = {}
    if "sarif" in wanted:
        from jumar.report import sarif

        written[wanted["sarif"]] = sarif.render(result, rules, known).encode()
    if "csv" in wanted:
        from jumar.report import csv

        for name, text in csv.render(result, rules).items():
            written[wanted["csv"] / name] = text.encode()
    if "html" in wanted:
        from jumar.report import html

        written[wanted["html"]] = html.render(result, rules).encode()
    for path, data in written.items():
        _folder(path.parent)
        write.replace(path, data)
        if not options["quiet"]:
            click.echo(f"wrote `{path}`", err=True)


def sarif(found: list[Finding], path: Path, target: Path, *, quiet: bool) -> None:
    """Write the findings about one file that is no text as SARIF."""
    from jumar.core import write
    from jumar.migrate.result import FileResult, ProjectResult
    from jumar.migrate.settings import Settings
    from jumar.report import sarif as renderer
    from jumar.tables import pages

    # A text of its own keeps the result from reading the file for exact edits.
    file = FileResult(str(path), b"\n", b"\n", tuple(found))
    text = renderer.render(ProjectResult(".", (file,), Settings()), {}, pages.pages())
    _folder(target.parent)
    write.replace(target, text.encode())
    if not quiet:
        click.echo(f"wrote `{target}`", err=True)


def lines(texts: Iterable[str], *, err: bool = False) -> None:
    for line in texts:
        click.echo(line, err=err)


def raw(data: bytes) -> None:
    """Bytes to stdout as they are, in order with what was printed."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def has_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _folder(folder: Path) -> None:
    from jumar.core.errors import UserError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder `{folder}`: {error.strerror}") from error
