"""`jumar plan`: which versions fit together, and the ordered steps that install them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.options import chip
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, EXIT_UNKNOWN, UserError
from jumar.core.lang import t

if TYPE_CHECKING:
    from jumar.app.plan import PlanResult

FORMATS = ("text", "shell", "dockerfile", "json")
LISTS = ("chips", "systems", "torch", "mindspore", "cann")
LOG = "jumar-plan.log"


@click.command("plan", short_help="Find versions that fit together, and the steps to install them")
@chip("chip", 'Chip, family or product: 910B3, A2, 310B, "Orange Pi AIpro".')
@click.option("--os", metavar="NAME", help="System, such as openEuler22.03 or Ubuntu22.04.")
@click.option("--arch", metavar="NAME", help="x86_64 or aarch64.")
@click.option("--python", metavar="X.Y", help="Python version.")
@click.option(
    "--framework", metavar="SPEC", help="torch, torch==2.6.0, torch>=2.1,<2.6, torch_npu==…, mindspore==…, none."
)
@click.option("--cann", metavar="VERSION", help="CANN version, such as 8.0.RC1.")
@click.option("--driver", metavar="VERSION", help="Driver that must run it.")
@click.option("--no-root", is_flag=True, help="Keep the driver, install CANN into the home folder.")
@click.option("--overwrite", is_flag=True, help="The machine has another driver: firmware first, then driver.")
@click.option("--with", "extra", multiple=True, metavar="NAME", help="Also install apex or deepspeed.")
@click.option("--without", multiple=True, metavar="NAME", help="Leave out torchvision, torchaudio or nnal.")
@click.option(
    "--packages", type=click.Path(path_type=Path), metavar="DIR", help="Folder with downloaded packages: check them."
)
@click.option("--prefix", metavar="DIR", help="Where to install CANN; /usr/local/Ascend, or ~/Ascend without root.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", metavar="|".join(FORMATS), help="What to print."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write one self-contained page."
)
@click.option(
    "--list", "listed", type=click.Choice(LISTS), metavar="|".join(LISTS), help="Print the names that the tables know."
)
@click.option("--run", is_flag=True, help="Run the steps without questions; run it again to continue.")
@click.option("--print", "only_print", is_flag=True, help="Only show the plan (the default).")
def command(
    extra: tuple[str, ...], without: tuple[str, ...], form: str, as_json: bool, listed: str | None, run: bool,
    only_print: bool, html: Path | None, **given: Any,
) -> int:  # fmt: skip
    """Find versions of driver, firmware, CANN, Python and framework that fit together, and the steps to install them.

    Reads the rest from this machine, or chooses it. Changes nothing without --run. Exits with 1 if nothing fits or a
    package is wrong, with 3 if the tables cannot tell whether the set fits.
    """
    from jumar.app import plan
    from jumar.machine.plan.build import PlanOptions
    from jumar.machine.plan.request import PlanRequest

    if listed:
        show.lines(plan.names(listed))
        return EXIT_OK
    form = "json" if as_json else form
    if run and (only_print or form != "text"):
        raise UserError("`--run` and a printed form exclude each other", "leave out `--print`, `--format` and `--json`")
    places = {name: given.pop(name) for name in ("overwrite", "packages", "prefix")}
    options = PlanOptions(extras=plan.extras(extra, without), container=form == "dockerfile", **places)
    with Waiting("looking for versions that fit"):
        result = plan.plan(PlanRequest(**given), options)
    if run and result.fits:
        return _carry_out(result)
    _show(result, form)
    show.page(html, result.to_json())
    if not result.usable:
        return EXIT_FINDINGS
    return EXIT_OK if result.certain else EXIT_UNKNOWN


def _show(result: PlanResult, form: str) -> None:
    if form == "json":
        show.whole(result.to_json())
    elif form == "text" or not result.fits:
        show.say(result.text, nl=False)
    else:
        show.echo(result.shell() if form == "shell" else result.dockerfile(), nl=False)
    if form != "json":
        for finding in result.findings:
            show.echo(f"{finding.id} {finding.level} {t(finding.message)}\n  {t(finding.fix or '')}", err=True)


def _carry_out(result: PlanResult) -> int:
    from jumar.app import plan
    from jumar.cli.steps import Steps

    with Steps() as view:
        count = plan.carry_out(result, Path(LOG).absolute(), view)
    show.say(f"all {count} steps are done", err=True)
    return EXIT_OK
