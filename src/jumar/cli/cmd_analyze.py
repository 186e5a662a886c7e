"""`jumar analyze`: the report of a migration that is not carried out."""

from __future__ import annotations

from typing import Any

import click

from jumar.cli import options as common
from jumar.cli import show
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK


@click.command("analyze", short_help="Report what ties a code base to CUDA, without changing it")
@common.shared
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Report every site below each PATH that depends on CUDA, and what would become of it.

    Nothing is written but the report files that you name. PATH is a file, a folder, or `-` for stdin.
    Exit code: 0 nothing to report, 1 findings, 2 the work could not be done.
    """
    if options["list_rules"]:
        return show.rules(as_json=options["as_json"])
    result = common.run(paths, options)
    show.files(result, options)
    _show(result, options)
    from jumar.core.finding import State

    states = result.states()
    return EXIT_FINDINGS if states.total() > states[State.BENIGN] else EXIT_OK


def _show(result: Any, options: dict[str, Any]) -> None:
    from jumar.core.finding import State
    from jumar.report import json, text

    if options["as_json"]:
        click.echo(json.render(result, diff=False))
        return
    states = [state for state in State if options["show_all"] or state is not State.BENIGN]
    show.lines(text.findings(result.findings(), states, colour=show.has_colour()))
    if not options["quiet"]:
        show.lines(text.summary(result, show_all=options["show_all"]), err=True)
