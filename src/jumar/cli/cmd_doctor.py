"""`jumar doctor`: is this machine right, and which commands make it right?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.options import Number
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_FAILED, EXIT_FINDINGS, EXIT_OK, EXIT_UNKNOWN

if TYPE_CHECKING:
    from jumar.app.doctor import DoctorResult
    from jumar.machine.check import Check


@click.command("doctor", short_help="Check a machine: driver, CANN, frameworks, cards, network")
@click.option("--only", multiple=True, metavar="ID", help="Run only this check, by id or name; repeatable.")
@click.option("--skip", multiple=True, metavar="ID", help="Skip this check; repeatable.")
@click.option("--list", "list_checks", is_flag=True, help="List the checks and stop.")
@click.option(
    "--from",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Check the machine that `--collect` wrote into this folder.",
)
@click.option("--host", metavar="USER@NODE", help="Check another machine over ssh; nothing is installed there.")
@click.option(
    "--collect",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write the answers that the checks need into a folder, for `--from`.",
)
@click.option("--python", metavar="PATH", help="The Python that programs run on; default `python3`.")
@click.option(
    "--timeout",
    type=Number(0.1),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a vendor command may take.",
)
@click.option("--share", is_flag=True, help="Remove names of users and hosts, addresses and tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write one self-contained page.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Also show the actual and expected value of each variable, and each chip."
)
@click.option("-q", "--quiet", is_flag=True, help="Findings only.")
def command(list_checks: bool, **options: Any) -> int:
    """Check this machine: system, cards, driver, CANN, environment, Python, frameworks, network.

    Changes nothing. Each finding has the commands that fix it; `jumar explain ID` explains it. Exits
    with 1 if there is an error or a warning, with 3 if it only cannot tell whether versions fit.
    """
    from jumar.app import doctor

    if list_checks:
        return _list(doctor.checks(), as_json=options["as_json"])
    shown = {name: options.pop(name) for name in ("as_json", "verbose", "quiet")}
    html = options.pop("html")
    with Waiting("checking the machine", quiet=shown["quiet"]):
        result = doctor.doctor(doctor.DoctorRequest(**options))
    if result.collected is not None:
        told = f"wrote `{result.collected}`: `jumar doctor --from {options['collect']}` reads it anywhere"
        click.echo(told, err=True)
        return EXIT_OK
    _show(result, **shown)
    if html is not None:
        show.write_files({html: result.html().encode()}, quiet=shown["quiet"])
    if not result.reachable:
        return EXIT_FAILED
    if not result.healthy:
        return EXIT_FINDINGS
    return EXIT_OK if result.certain else EXIT_UNKNOWN


def _show(result: DoctorResult, *, as_json: bool, verbose: bool, quiet: bool) -> None:
    from jumar.report import doctor

    if as_json:
        show.whole(result.to_json())
        return
    told = doctor.lines(result.outcomes, quiet=quiet, verbose=verbose, colour=show.has_colour())
    show.lines(map(result.scrub, told))
    if not quiet:
        where = " (emulated)" if result.emulated else ""
        summary = doctor.summary(result.outcomes, result.seconds)
        click.echo(result.scrub(f"{result.name}{where}: {summary}"), err=True)


def _list(checks: list[Check], *, as_json: bool) -> int:
    if as_json:
        show.document({"checks": [row._asdict() for row in checks]})
    else:
        show.lines(f"{row.id}  {row.name:<18} {row.summary}" for row in checks)
    return EXIT_OK
