"""`jumar export run`: what float16 does to a model, and which nodes should keep float32."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.core.errors import EXIT_FINDINGS, EXIT_OK

if TYPE_CHECKING:
    from jumar.export.precision import Node, Result

_PATH = click.Path(path_type=Path)


@click.command("run")
@click.argument("model", metavar="MODEL", type=_PATH)
@click.option("--shape", "shapes", multiple=True, metavar="NAME:DIMS", help="Shape of an input; may be given again.")
@click.option("--input", "files", multiple=True, metavar="NAME=FILE", help="Input from a .npy; random if not given.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of random inputs.")
@click.option("--precision", metavar="MODE", help="ATC's precision mode; force_fp16 if not given.")
@click.option("--soc", metavar="NAME", help="Chip: one without an inf/nan mode clamps what is too large.")
@click.option("--keep-dtype", "keep", type=_PATH, metavar="FILE", help="Keep-dtype list to apply.")
@click.option(
    "--find-keep",
    "listed",
    type=_PATH,
    metavar="FILE",
    help="Search nodes that must keep float32, write the keep-dtype list.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=0.01,
    show_default=True,
    metavar="X",
    help="Largest relative error of an output.",
)
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, metavar="N", help="Nodes to show.")
@click.option("--save", type=_PATH, metavar="DIR", help="Write the outputs as .npy, float32 and rounded.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a run may take.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def run(model: Path, **options: Any) -> int:  # fmt: skip
    """Run MODEL (.onnx, or an `.om` stand-in) in float32 and with the rounding of ATC's precision mode.

    Tells the error of every output and the nodes whose values do not fit float16. Ranges are those of the inputs you
    give: random ones say little about a trained model. Exits with 1 if an output is over the tolerance.
    """
    from jumar.export import execute, precision
    from jumar.export import offline as offlines

    execute.runtime()
    subject = offlines.subject(model, options)
    result = precision.measure(subject.proto, subject.view, subject.feeds, subject.policy, options["timeout"])
    better = None
    if options["listed"] is not None:
        from jumar.core import write

        better = precision.keep(subject.proto, subject.view, subject.feeds, subject.policy, result,
                                options["tolerance"], options["timeout"])  # fmt: skip
        write.replace(options["listed"], precision.listing(better.kept).encode())
    if options["save"] is not None:
        offlines.save(options["save"], better or result)
    worst = (better or result).worst
    if options["as_json"]:
        from jumar.report import json

        click.echo(json.dump(_document(subject, result, better, options)))
    else:
        _show(subject, result, better, options)
    return EXIT_OK if worst <= options["tolerance"] else EXIT_FINDINGS


def _show(subject: Any, result: Result, better: Result | None, options: dict[str, Any]) -> None:
    if subject.random:
        click.echo(
            "inputs are random: give real ones with `--input NAME=FILE.npy` for ranges that mean something", err=True
        )
    _outputs(f"{subject.mode} against float32", result, options["tolerance"])
    risky = _ranked(result)
    if risky and options["top"]:
        click.echo("nodes at risk:")
        for row in risky[: options["top"]]:
            click.echo(f"  {row.risk:<9} {row.operator:<20} {row.name or row.value}: {_told(row)}")
        if len(risky) > options["top"]:
            click.echo(f"  … and {len(risky) - options['top']} more; `--top` shows them")
    elif options["top"]:
        kind = "bfloat16" if subject.policy.effect == "bfloat" else "float16"
        click.echo(f"no node has values that {kind} cannot hold")
    if better is not None:
        names = f"{len(better.kept)} node{'' if len(better.kept) == 1 else 's'}"
        _outputs(f"with {names} kept in float32", better, options["tolerance"])
        if 2 * len(better.kept) > len(result.nodes):
            click.echo("that is more than half of the nodes: `must_keep_origin_dtype` is simpler", err=True)
        if nameless := subject.unnamed & set(better.kept):
            click.echo(f"{len(nameless)} of them have no name in the model: list them after `check --fix`", err=True)
        click.echo(f"wrote `{options['listed']}`: atc --keep_dtype={options['listed']}", err=True)


def _outputs(title: str, result: Result, tolerance: float) -> None:
    click.echo(f"{title}:")
    for row in result.outputs:
        top = "" if math.isnan(row.same_top) else f", same largest element in {row.same_top:.0%} of rows"
        broken = f", {row.broken} elements infinite or no number" if row.broken else ""
        verdict = "ok" if not row.broken and row.relative <= tolerance else "over the tolerance"
        click.echo(f"  {row.name}: relative error {row.relative:.2g}, largest {row.largest:.2g},"
                   f" cosine {row.cosine:.6f}{top}{broken}: {verdict}")  # fmt: skip


def _told(row: Node) -> str:
    if row.risk == "overflow":
        return f"values up to {row.largest:.4g}, float16 ends at 65504"
    if row.risk == "weight":
        return f"a weight of {row.largest:.4g}, float16 ends at 65504"
    if row.risk == "underflow":
        return f"{row.tiny:.0%} of the values are below 6.1e-05, where float16 loses digits"
    return f"relative error {row.relative:.2g}, {row.growth:.0f} times that of its inputs"


def _ranked(result: Result) -> list[Node]:
    order = {"overflow": 0, "weight": 1, "error": 2, "underflow": 3}
    rows = [row for row in result.nodes if row.risk]
    return sorted(rows, key=lambda row: (order[row.risk], -row.largest if row.risk == "overflow" else -row.growth))


def _document(subject: Any, result: Result, better: Result | None, options: dict[str, Any]) -> dict[str, Any]:
    def outputs(one: Result) -> list[dict[str, Any]]:
        return [{key: _plain(value) for key, value in row._asdict().items()} for row in one.outputs]

    return {
        "precision": subject.mode,
        "random_inputs": subject.random,
        "tolerance": options["tolerance"],
        "outputs": outputs(result),
        "nodes": [{key: _plain(value) for key, value in row._asdict().items()} for row in _ranked(result)],
        "kept": None if better is None else {"nodes": list(better.kept), "outputs": outputs(better)},
        "errors": [],
    }


def _plain(value: Any) -> Any:
    """JSON has no infinity: a text says it."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
