"""`jumar export check`: every node against ATC's operators, and the rewrite that helps."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.export.graph import View


@click.command("check")
@click.argument("source", metavar="[MODEL]", required=False)
@click.option("--soc", metavar="NAME", help="Chip, such as Ascend310P3: also check its data types.")
@click.option("--shape", "shapes", multiple=True, metavar="NAME:1,3,224,224",
              help="Example input of a torch module that returns none; may be given again.")  # fmt: skip
@click.option("--fix", is_flag=True, help="Rewrite opset, functions and names with ONNX's own tools; needs `-o`.")
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="Where the ONNX model is written.")
@click.option("--only", multiple=True, metavar="ID", help="Only this check, by id or name; may be given again.")
@click.option("--skip", multiple=True, metavar="ID", help="Without this check; may be given again.")
@click.option("--list", "list_checks", is_flag=True, help="List the checks and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF for code review tools.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write one self-contained page.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Findings only.")
def check(source: str | None, list_checks: bool, **options: Any) -> int:
    """Check MODEL against what ATC parses: operators by opset, shapes, data types, names, external data.

    MODEL is an ONNX file, `file.py:make_model` (a function that returns a torch module, or a pair of it and a tuple of
    example inputs), or a `.pt2` of `torch.export.save`. Torch models are exported with opset 18, the newest that ATC
    parses; `-o` keeps the result. Exits with 1 if there is an error or a warning.
    """
    from jumar.export import check as checks

    if list_checks:
        return _list(as_json=options["as_json"])
    if source is None:
        raise UserError("no model is named", "`jumar export check model.onnx`")
    if options["fix"] and options["out"] is None:
        raise UserError("`--fix` needs a place for the result", "add `-o fixed.onnx`")
    units = checks.chosen(options["only"], options["skip"])
    with tempfile.TemporaryDirectory(prefix="jumar-export-") as scratch:
        path, done = _prepared(source, Path(scratch), options)
        view, external = checks.read(path)
        if options["out"] is not None:
            path = options["out"]
        found = checks.run(_subject(path, view, external, options["soc"]), units)
    return _show(found, view, done, path, options)


def _prepared(source: str, scratch: Path, options: dict[str, Any]) -> tuple[Path, list[str]]:
    """The ONNX file to look at: as given, exported from torch, or rewritten; and what was done to it."""
    from jumar.export import fix, from_torch, shapes

    done = []
    path = Path(source)
    if from_torch.is_torch(source):
        target = scratch / f"{Path(source.partition(':')[0]).stem}.onnx"
        opset = from_torch.export(source, shapes.fixed(options["shapes"]), target)
        path = target
        done.append(f"exported `{source}` with opset {opset}")
    elif options["shapes"]:
        raise UserError("`--shape` is for torch modules here", "`jumar export command` takes shapes of ONNX models")
    elif options["out"] is not None and not options["fix"]:
        raise UserError("nothing to write: the model is ONNX already", "add `--fix` to rewrite it, or leave `-o` out")
    if options["fix"]:
        fixed = fix.fix(path)
        fix.save(fixed, options["out"])
        done += fixed.done or ("nothing had to be rewritten",)
        same = _compared(path, options["out"])
        return options["out"], [*done, *same]
    if options["out"] is not None:
        from jumar.core import write

        write.replace(options["out"], path.read_bytes())
    return path, done


def _compared(before: Path, after: Path) -> list[str]:
    """Both models on one random input, where onnxruntime can: a rewrite must not change the result."""
    from jumar.export import execute

    worst = execute.difference(before, after)
    if isinstance(worst, str):
        return [f"not compared with the original: {worst}"]
    return [f"computes the same as the original on a random input (largest difference {worst:.2g})"]


def _subject(path: Path, view: View, external: Any, soc: str | None) -> Any:
    from jumar.export.check import Subject
    from jumar.tables import atc, socs

    if soc is None:
        return Subject(path, view, external)
    family = socs.family(socs.known(soc))
    return Subject(path, view, external, family, family in atc.options()["families"]["bfloat16"])


def _show(found: list[Finding], view: View, done: list[str], path: Path, options: dict[str, Any]) -> int:
    from jumar.cli import show
    from jumar.core.finding import Level
    from jumar.export import check as checks
    from jumar.report import json, text

    if options["sarif"] is not None:
        show.sarif(found, path, options["sarif"], quiet=options["quiet"])
    if options["html"] is not None:
        from jumar.core import write
        from jumar.report import export_html

        page = export_html.render(str(path), view, checks.operators(view), found, done)
        write.replace(options["html"], page.encode())
        if not options["quiet"]:
            click.echo(f"wrote `{options['html']}`", err=True)
    if options["as_json"]:
        fields = {"model": {"path": str(path), **checks.document(view)}, "done": done}
        click.echo(json.dump(fields | {"findings": [json.finding(row) for row in found], "errors": []}))
    else:
        show.lines(text.findings(found, (), colour=show.has_colour()))
        if not options["quiet"]:
            show.lines(done, err=True)
            counts = ", ".join(
                text.count(number, str(level))
                for level in Level
                if (number := sum(row.level is level for row in found))
            )
            told = f"opset {view.opset}, {text.count(len(view.nodes), 'node')}: {counts or 'nothing to report'}"
            click.echo(f"{path}: {told}", err=True)
    return EXIT_FINDINGS if any(row.level is not Level.NOTE for row in found) else EXIT_OK


def _list(*, as_json: bool) -> int:
    from jumar.export import check as checks
    from jumar.report import json

    rows = [unit.check for unit in checks.units()]
    if as_json:
        click.echo(json.dump({"checks": [row._asdict() for row in rows]}))
    else:
        for row in rows:
            click.echo(f"{row.id}  {row.name:<26} {row.summary}")
    return EXIT_OK
