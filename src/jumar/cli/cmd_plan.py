"""`jumar plan`: which versions fit together, and the ordered steps that install them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.machine.plan.build import Plan

FORMATS = ("text", "shell", "dockerfile", "json")
LISTS = ("chips", "systems", "torch", "mindspore", "cann")
LOG = "jumar-plan.log"


@click.command("plan", short_help="Which versions fit together, and the exact steps to install them")
@click.option("--chip", metavar="NAME", help='Chip, family or product: 910B3, A2, 310B, "Orange Pi AIpro".')
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
    "--list", "listed", type=click.Choice(LISTS), metavar="|".join(LISTS), help="Print the names that the tables know."
)
@click.option("--run", is_flag=True, help="Carry the steps out, asking nothing; run it again to go on.")
@click.option("--print", "only_print", is_flag=True, help="Only show the plan (the default).")
def command(
    extra: tuple[str, ...], without: tuple[str, ...], form: str, as_json: bool, listed: str | None, run: bool,
    only_print: bool, **given: Any,
) -> int:  # fmt: skip
    """Find versions of driver, firmware, CANN, Python and framework that fit together, and the steps to install them.

    What is left out is read from this machine, or chosen. Nothing is changed without --run.
    """
    from jumar.machine.plan import build, host, wish
    from jumar.machine.plan.solve import Conflict

    if listed:
        click.echo("\n".join(_names(listed)))
        return EXIT_OK
    form = "json" if as_json else form
    if run and (only_print or form != "text"):
        raise UserError("`--run` and a printed form exclude each other", "leave out `--print`, `--format` and `--json`")
    places = {name: given.pop(name) for name in ("overwrite", "packages", "prefix")}
    _check_prefix(places["prefix"])
    options = build.Options(extras=_extras(extra, without), container=form == "dockerfile", **places)
    asked = wish.Asked(**given)
    made = build.make(asked, host.read(), options)
    if isinstance(made, Conflict):
        from jumar.machine.plan.render import data, text

        click.echo(data.conflict(made, asked) if form == "json" else text.conflict(made, asked), nl=False)
        return EXIT_FINDINGS
    if run:
        return _carry_out(made)
    click.echo(_rendered(made, form), nl=False)
    if form != "json":
        for finding in made.findings:
            click.echo(f"{finding.id} {finding.level} {finding.message}\n  {finding.fix}", err=True)
    return EXIT_FINDINGS if made.findings else EXIT_OK


def _check_prefix(prefix: str | None) -> None:
    """The vendor's installers take only plain absolute paths."""
    if prefix is not None and not re.fullmatch(r"(/[A-Za-z0-9_-]+)+/?", prefix):
        raise UserError(f"not a place for CANN: `{prefix}`", "an absolute path of letters, digits, `-` and `_`")


def _extras(extra: tuple[str, ...], without: tuple[str, ...]) -> tuple[str, ...]:
    from jumar.core.nearest import did_you_mean
    from jumar.machine.plan.build import EXTRAS, USUAL

    for name in (*extra, *without):
        if name not in EXTRAS:
            raise UserError(f"unknown package: `{name}`", did_you_mean(name, EXTRAS, f"known: {', '.join(EXTRAS)}"))
    return tuple(name for name in EXTRAS if name in {*USUAL, *extra} - set(without))


def _rendered(made: Plan, form: str) -> str:
    from jumar.machine.plan.render import data, dockerfile, shell, text

    if form in ("shell", "dockerfile"):
        _need_chip(made)
    return {"text": text.plan, "json": data.plan, "shell": shell.script, "dockerfile": dockerfile.image}[form](made)


def _need_chip(made: Plan) -> None:
    if not made.steps:
        raise UserError("no chip was found on this machine", "say which one: `--chip 910B3`; `--list chips` names them")


def _carry_out(made: Plan) -> int:
    from jumar.cli.steps import Steps
    from jumar.machine.plan import execute

    _need_chip(made)
    if made.findings:
        first = made.findings[0]
        raise UserError(f"{first.id} {first.message}", first.fix)
    with Steps() as view:
        execute.run(made, Path(LOG).absolute(), view)
    click.echo(f"all {len(made.steps)} steps are done", err=True)
    return EXIT_OK


def _names(what: str) -> list[str]:
    from jumar.tables import cann, chips, installation, mindspore_versions, torch_releases

    if what == "chips":
        rows = installation.families()
        return [
            f"{name}: {', '.join([c for c, f in chips.chips().items() if f == name])}; {', '.join(rows[name].names)}"
            for name in rows
        ]
    if what == "systems":
        return list(installation.systems())
    if what == "torch":
        return torch_releases.releases()
    return [row.mindspore for row in mindspore_versions.releases()] if what == "mindspore" else list(cann.known())
