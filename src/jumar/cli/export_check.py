"""`jumar export check`: every node against ATC's operators, and the rewrite that helps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.options import chip
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError
from jumar.core.lang import t

if TYPE_CHECKING:
    from jumar.app.export import ExportCheckResult
    from jumar.export.check import Check


@click.command("check")
@click.argument("source", metavar="[MODEL]", required=False)
@chip("soc", "Chip, such as 310P3: also check its data types.")
@click.option("--shape", "shapes", multiple=True, metavar="NAME:1,3,224,224",
              help="Example input for a torch module that returns none; repeatable.")  # fmt: skip
@click.option("--fix", is_flag=True, help="Rewrite opset, functions and names with ONNX's tools; needs `-o`.")
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="Where the ONNX model is written.")
@click.option("--only", multiple=True, metavar="ID", help="Run only this check, by id or name; repeatable.")
@click.option("--skip", multiple=True, metavar="ID", help="Skip this check; repeatable.")
@click.option("--list", "list_checks", is_flag=True, help="List the checks and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF for code review tools.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write one self-contained page.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Findings only.")
def check(source: str | None, list_checks: bool, **options: Any) -> int:
    """Check MODEL against what ATC parses: operators by opset, shapes, data types, names, external data.

    MODEL is an ONNX file, or `file.py:make_model`, a function of yours that returns a torch module, or a pair of it and
    a tuple of example inputs. Torch models are exported with opset 18, the newest that ATC parses; `-o` keeps the
    result. Exits with 1 if there is an error or a warning.
    """
    from jumar.app import export

    if list_checks:
        return _list(export.checks(), as_json=options["as_json"])
    if source is None:
        raise UserError("no model is named", "`jumar export check model.onnx`")
    shown = {name: options.pop(name) for name in ("as_json", "sarif", "html", "quiet")}
    with Waiting("checking the model"):
        result = export.check(export.ExportCheckRequest(source=source, **options))
    _write(result, shown["sarif"], shown["html"], quiet=shown["quiet"])
    if shown["as_json"]:
        show.whole(result.to_json())
    else:
        _show(result, quiet=shown["quiet"])
    return EXIT_OK if result.accepted else EXIT_FINDINGS


def _write(result: ExportCheckResult, sarif: Path | None, html: Path | None, *, quiet: bool) -> None:
    from jumar.app import report_files

    if sarif is not None:
        show.write_files({sarif: report_files.sarif_of(result.findings, result.path)}, quiet=quiet)
    if html is not None:
        show.write_files({html: result.html().encode()}, quiet=quiet)


def _show(result: ExportCheckResult, *, quiet: bool) -> None:
    from jumar.report import export, text

    show.lines(text.findings(result.findings, (), colour=show.has_colour()))
    if not quiet:
        show.told(result.done, err=True)
        show.say(f"{result.path}: {export.summary(result.view, result.findings)}", err=True)


def _list(rows: list[Check], *, as_json: bool) -> int:
    if as_json:
        show.document({"checks": [row._asdict() for row in rows]})
    else:
        show.lines(f"{row.id}  {row.name:<26} {t(row.summary)}" for row in rows)
    return EXIT_OK
