"""`jumar export command` and `jumar export om`: the exact ATC line of a model, and the stand-in of its result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jumar.cli import show
from jumar.cli.options import chip
from jumar.core.errors import EXIT_FAILED, EXIT_OK

if TYPE_CHECKING:
    from jumar.export.command import Conversion

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_PATH = click.Path(path_type=Path)
_CONVERSION = (
    click.argument("model", metavar="MODEL", type=_PATH),
    chip("soc", "Chip, such as 310P3; `npu-smi info` shows it. Required."),
    click.option("--shape", "shapes", multiple=True, metavar="NAME:DIMS",
                 help="Shape of an input, such as x:1,3,224,224; -1 for a gear, 1~8 for a range; repeatable."),
    click.option("--batch", metavar="1,2,4", help="Gears of the first axis."),
    click.option("--image-size", metavar="H,W;H,W", help="Gears of height and width."),
    click.option("--dims", metavar="A,B;A,B", help="Gears of all axes that are -1, in order."),
    click.option("--precision", metavar="MODE", help="Precision mode, old or new name; ATC's default force_fp16."),
    click.option("--format", "form", metavar="NAME", help="NCHW, NCDHW or ND; default: from the shapes."),
    click.option("--aipp", type=_PATH, metavar="FILE", help="AIPP file, which is checked."),
    click.option("--keep-dtype", "keep", type=_PATH, metavar="FILE", help="List of nodes that keep float32."),
    click.option("-o", "--output", type=_PATH, metavar="OUT", help="Name without `.om`; default: beside the model."),
    click.option("--input-fp16", "half_inputs", metavar="A;B", help="Inputs that callers give as float16."),
    click.option("--output-type", metavar="TYPE", help="Type of the outputs, such as FP32."),
    click.option("--out-nodes", metavar="NODES", help="Nodes that give the outputs, as ATC writes them."),
)  # fmt: skip


def conversion(function: Decorated) -> Decorated:
    """Add the options that describe a conversion."""
    for decorate in reversed(_CONVERSION):
        function = decorate(function)
    return function


@click.command("command")
@conversion
@click.option(
    "--atc", "extra", multiple=True, metavar="OPTION", help="Another option, passed to ATC unchanged: --log=error."
)
@click.option("--run", "do_run", is_flag=True, help="Run the command if ATC is installed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(do_run: bool, as_json: bool, **options: Any) -> int:
    """Print the `atc` line for MODEL, every option checked, and the line of the vendor's inference runner.

    Shapes come from the model where they are fixed. An offline model has at most one dynamic mode: `--batch`,
    `--image-size`, `--dims`, or ranges in `--shape`. Nothing is run without `--run`.
    """
    from jumar.app import export
    from jumar.report import export as report

    built = _built(options)
    refused = export.refused(built)
    if as_json:
        show.document(report.conversion(built, refused))
    else:
        show.lines([built.line(), built.runner()])
        if refused:
            show.say(f"note: ATC will refuse this model: {refused[0]}; `jumar export check {built.model}`", err=True)
    return _run(built) if do_run else EXIT_OK


@click.command("om")
@conversion
def om(**options: Any) -> int:
    """Write a stand-in of the `.om` that ATC would make of MODEL: it runs in `jumar export run` and under `jumar run`.

    The options are those of `jumar export command`. No device can load the file.
    """
    from jumar.app import export

    path = export.stand_in(_built(options))
    show.say(f"wrote `{path}`: a stand-in, which no device can load", err=True)
    return EXIT_OK


def _built(options: dict[str, Any]) -> Conversion:
    """The conversion that the options describe, checked against the model."""
    from jumar.app import export
    from jumar.export.command import AtcRequest

    soc = export.chip(options.pop("soc"))
    return export.command(AtcRequest(soc=soc, **options))


def _run(built: Conversion) -> int:
    from jumar.app import export

    program = export.atc()
    show.say(f"running {program}", err=True)
    code = export.convert(program, built)
    if code:
        show.say(f"atc ended with exit code {code}; `jumar explain LOG` explains many of its errors", err=True)
        return EXIT_FAILED
    return EXIT_OK
