"""`jumar export run`: what float16 does to a model, and which nodes should keep float32."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.options import Number, chip
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK

if TYPE_CHECKING:
    from jumar.app.export import OfflineResult
    from jumar.export.precision import Result

_PATH = click.Path(path_type=Path)


@click.command("run")
@click.argument("model", metavar="MODEL", type=_PATH)
@click.option("--shape", "shapes", multiple=True, metavar="NAME:DIMS", help="Shape of an input; repeatable.")
@click.option("--input", "files", multiple=True, metavar="NAME=FILE", help="Input from a .npy file; default: random.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of random inputs.")
@click.option("--precision", metavar="MODE", help="ATC's precision mode; default force_fp16.")
@chip("soc", "Chip; one without an inf/nan mode clamps large values.")
@click.option("--keep-dtype", "keep", type=_PATH, metavar="FILE", help="Keep-dtype list to apply.")
@click.option(
    "--find-keep",
    "listed",
    type=_PATH,
    metavar="FILE",
    help="Find nodes that must keep float32 and write the keep-dtype list.",
)
@click.option(
    "--tolerance",
    type=Number(),
    default=0.01,
    show_default=True,
    metavar="X",
    help="Largest relative error of an output.",
)
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, metavar="N", help="Nodes to show.")
@click.option("--save", type=_PATH, metavar="DIR", help="Write the outputs as .npy, float32 and rounded.")
@click.option(
    "--timeout",
    type=Number(1),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a run may take.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def run(model: Path, **options: Any) -> int:  # fmt: skip
    """Run MODEL (.onnx, or an `.om` stand-in) in float32 and with the rounding of ATC's precision mode.

    Reports the error of every output and the nodes whose values do not fit float16. Ranges are those of the inputs you
    give: random ones say little about a trained model. Exits with 1 if an output is over the tolerance.
    """
    from jumar.app import export
    from jumar.export.offline import OfflineRequest

    shown = {name: options.pop(name) for name in ("top", "as_json")}
    more = {name: options.pop(name) for name in ("tolerance", "timeout", "save")}
    listed = options.pop("listed")
    with Waiting("running the model"):
        result = export.run(OfflineRequest(model=model, **options), keep_list=listed, **more)
    if shown["as_json"]:
        show.whole(result.to_json())
    else:
        _show(result, listed, shown["top"])
    return EXIT_OK if result.within else EXIT_FINDINGS


def _show(result: OfflineResult, listed: Path | None, top: int) -> None:
    from jumar.report import export

    if result.subject.random:
        told = "inputs are random: give real ones with `--input NAME=FILE.npy` for meaningful ranges"
        show.say(told, err=True)
    show.told(export.measured(result.subject, result.measured, result.tolerance, top))
    if result.better is not None:
        _show_kept(result, result.better, listed)


def _show_kept(result: OfflineResult, better: Result, listed: Path | None) -> None:
    from jumar.report import export

    names = f"{len(better.kept)} node{'' if len(better.kept) == 1 else 's'}"
    show.told(export.outputs(f"with {names} kept in float32", better, result.tolerance))
    if 2 * len(better.kept) > len(result.measured.nodes):
        show.say("that is more than half of the nodes: `must_keep_origin_dtype` is simpler", err=True)
    if nameless := result.subject.unnamed & set(better.kept):
        show.say(f"{len(nameless)} of them have no name in the model: list them after `check --fix`", err=True)
    show.say(f"wrote `{listed}`: atc --keep_dtype={listed}", err=True)
