"""`jumar analyze`: the report of a migration that is not carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jumar.cli import options as common
from jumar.cli import show
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK

if TYPE_CHECKING:
    from jumar.app.migrate import MigrateResult


@click.command("analyze", cls=common.Verb, short_help="Report what ties a code base to CUDA, without changing it")
@common.shared
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Report every place below each PATH that depends on CUDA, and what would happen to it.

    Writes nothing but the report files that you name. PATH is a file, a folder, or `-` for stdin.
    Exit code: 0 nothing to report, 1 findings (with --baseline: new ones), 2 the work could not be done.
    """
    if options["list_rules"]:
        return show.rules(as_json=options["as_json"])
    from jumar.app import migrate
    from jumar.core.finding import State

    with common.progress(options) as progress:
        result = migrate.analyze(common.request(paths, options), progress)
    common.write_reports(result, options)
    _show(result, options)
    if result.checked is not None:
        return EXIT_FINDINGS if result.checked.new else EXIT_OK
    return EXIT_FINDINGS if any(item.state not in (None, State.BENIGN) for item in result.findings) else EXIT_OK


def _show(result: MigrateResult, options: dict[str, Any]) -> None:
    from jumar.core.finding import State
    from jumar.report import text

    if options["as_json"]:
        show.whole(result.to_json())
        return
    states = [state for state in State if options["show_all"] or state is not State.BENIGN]
    found = result.findings if result.checked is None else result.checked.new
    show.lines(text.findings(found, states, colour=show.has_colour()))
    if not options["quiet"]:
        show.told(text.summary(result.project, show_all=options["show_all"]), err=True)
    common.show_baseline(result)
