"""`jumar doctor`: is this machine right, and which commands make it right?"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.core.errors import EXIT_FAILED, EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.machine.check import Outcome
    from jumar.machine.host import Host
    from jumar.machine.probe import Probe


@click.command("doctor", short_help="Check a machine: driver, CANN, frameworks, cards, network")
@click.option("--only", multiple=True, metavar="ID", help="Only this check, by id or name; may be given again.")
@click.option("--skip", multiple=True, metavar="ID", help="Without this check; may be given again.")
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
    help="Write what the checks ask this machine into a folder, for `--from`.",
)
@click.option("--python", metavar="PATH", help="The Python that programs run on; `python3` if not given.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a vendor command may take.",
)
@click.option("--share", is_flag=True, help="Take out names of users and hosts, addresses and tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("-v", "--verbose", is_flag=True, help="Also what each variable is and should be, and each chip.")
@click.option("-q", "--quiet", is_flag=True, help="Findings only.")
def command(list_checks: bool, **options: Any) -> int:
    """Check this machine: system, cards, driver, CANN, environment, Python, frameworks, network.

    Nothing is changed. Each finding comes with the commands that put it right; `jumar explain ID` tells more. Exits
    with 1 if there is an error or a warning.
    """
    if list_checks:
        return _list(as_json=options["as_json"])
    if options["folder"] and (options["host"] or options["collect"]):
        raise UserError("`--from` cannot stand beside `--host` or `--collect`", "choose one machine")
    from jumar.machine import check

    units = check.units() if options["collect"] else check.chosen(options["only"], options["skip"])
    from jumar.machine.probe.ssh import Unreachable

    try:
        probe = _probe(options["folder"], options["host"])
    except Unreachable as reason:
        return _unreachable(options, str(reason))
    try:
        return _examine(probe, units, options)
    finally:
        probe.close()


def _probe(folder: Path | None, host: str | None) -> Probe:
    if folder is not None:
        from jumar.machine.probe import recorded

        return recorded.load(folder)
    if host is not None:
        from jumar.machine.probe.ssh import Remote

        remote = Remote(host)
        try:
            remote.connect()
        except BaseException:
            remote.close()
            raise
        return remote
    from jumar.machine.probe.local import Local

    return Local(os.environ)


def _examine(probe: Probe, units: Any, options: dict[str, Any]) -> int:
    from jumar.machine import check
    from jumar.machine.host import Host
    from jumar.machine.probe.recorded import Recorder

    recorder = Recorder(probe) if options["collect"] else None
    host = Host(recorder or probe, options["python"], options["timeout"])
    begin = time.monotonic()
    outcomes = check.run(host, units, max(check.TIME, 3 * options["timeout"]))
    seconds = time.monotonic() - begin
    if probe.broken:
        return _unreachable(options, probe.broken)
    if recorder is not None:
        path = recorder.save(options["collect"], _scrubber(host, options))
        click.echo(f"wrote `{path}`: `jumar doctor --from {options['collect']}` reads it anywhere", err=True)
        return EXIT_OK
    machine = {"name": probe.name, "emulated": host.prefix is not None}
    _show(outcomes, machine, seconds, options, host)
    red = any(outcome.status in (check.Status.ERROR, check.Status.WARNING) for outcome in outcomes)
    return EXIT_FINDINGS if red else EXIT_OK


def _show(
    outcomes: list[Outcome], machine: dict[str, Any], seconds: float, options: dict[str, Any], host: Host | None
) -> None:
    from jumar.cli import show
    from jumar.report import doctor, json

    scrub = _scrubber(host, options) if host else str
    if options["as_json"]:
        from jumar.machine.probe import over

        click.echo(json.dump(over(doctor.document(outcomes, machine, seconds), scrub)))
        return
    colour = show.has_colour()
    show.lines(map(scrub, doctor.lines(outcomes, quiet=options["quiet"], verbose=options["verbose"], colour=colour)))
    if not options["quiet"]:
        where = " (emulated)" if machine["emulated"] else ""
        click.echo(scrub(f"{machine['name']}{where}: {doctor.summary(outcomes, seconds)}"), err=True)


def _scrubber(host: Host, options: dict[str, Any]) -> Any:
    if not options["share"]:
        return str
    from jumar.machine.share import scrubber

    return scrubber(host, [options["host"]] if options["host"] else [])


def _unreachable(options: dict[str, Any], reason: str) -> int:
    """A finding like any other, but nothing could be checked."""
    from jumar.core.finding import Finding, Level
    from jumar.machine import check

    hidden = options["share"]
    name = "the host" if hidden else options["host"]
    login = "USER@NODE" if hidden else options["host"]
    message = f"cannot reach {name}" if hidden else f"cannot reach `{name}`: {reason}"
    fix = f"ssh {login} true   # must work without a password; or use `--collect` there"
    item = Finding(check.CONNECTION, Level.ERROR, message, fix=fix, doc="connection")
    unit = check.Check(check.CONNECTION, "connection", "the machine can be reached")
    outcome = check.Outcome(unit, check.Status.ERROR, "no connection", (item,))
    _show([outcome], {"name": name, "emulated": False}, 0.0, options, None)
    return EXIT_FAILED


def _list(*, as_json: bool) -> int:
    from jumar.machine import check
    from jumar.report import json

    rows = [unit.check for unit in check.units()]
    if as_json:
        click.echo(json.dump({"checks": [row._asdict() for row in rows]}))
    else:
        for row in rows:
            click.echo(f"{row.id}  {row.name:<18} {row.summary}")
    return EXIT_OK
