"""`jumar selftest`: do the cards of this machine what the emulator says they do?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.listed import Listed
from jumar.cli.options import Number, chip
from jumar.core.errors import EXIT_OK

if TYPE_CHECKING:
    from jumar.app.selftest import SelfTestResult

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


class _Steps:
    """Says each family once, not each of its hundred cases."""

    def __init__(self) -> None:
        self.said = ""

    def __call__(self, text: str) -> None:
        step = text.partition("/")[0]
        if step != self.said:
            self.said = step
            show.say(f"jumar: {step}", err=True)


@click.group("selftest", cls=Listed, invoke_without_command=True,
             short_help="Prove this machine's cards against the emulator, case by case")  # fmt: skip
@click.option("--emulated", is_flag=True, help="Test emulated cards: proves the way, says nothing about a card.")
@click.option("--only", multiple=True, metavar="CASE", help="Only this family, case or pattern; repeatable.")
@click.option("--skip", multiple=True, metavar="CASE", help="Leave out this family, case or pattern; repeatable.")
@click.option("--list", "list_cases", is_flag=True, help="List the cases and stop.")
@click.option("--cards", type=click.IntRange(1, 64), metavar="N", help="Use N cards; default: all that are free.")
@chip("soc", "Emulated chip, such as 910B3; only with --emulated.")
@click.option(
    "--minutes", type=Number(0.1), default=20.0, show_default=True, metavar="N", help="Time for the whole test."
)
@click.option("--patience", type=Number(1), default=180.0, show_default=True, metavar="SECONDS",
              help="Time after which a case counts as hung.")  # fmt: skip
@click.option("--memory", type=click.IntRange(min=512), default=8192, show_default=True, metavar="MIB",
              help="Host memory of one process.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with a test that was cut off or ran out of time.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), default=Path("jumar-selftest.zip"),
              show_default=True, metavar="FILE", help="The archive; the page is written beside it.")  # fmt: skip
@_JSON
@click.option("-q", "--quiet", is_flag=True, help="Do not show which case runs.")
@click.pass_context
def command(ctx: click.Context, /, list_cases: bool, as_json: bool, quiet: bool, **options: Any) -> int:
    """Run the cases that are proved on the emulator on the cards of this machine, and compare.

    Uses only cards that nobody uses, asks for nothing, and ends with one archive without names and addresses, and a
    page. Exit code 0: all the same; 1: differences; 3: nothing differs as far as it came; 2: could not do the work.
    """
    from jumar.app import selftest

    if ctx.invoked_subcommand is not None:
        return EXIT_OK
    names = {name: tuple(options[name]) for name in ("only", "skip")}
    if list_cases:
        found = selftest.cases(**names)
        if as_json:
            show.document({"cases": found})
        else:
            show.lines(found)
        return EXIT_OK
    if options["soc"] and not options["emulated"]:
        raise click.UsageError("`--soc` goes with `--emulated`", ctx)
    request = selftest.SelfTestRequest(memory_mib=options.pop("memory"), **{**options, **names})
    result = selftest.run(request, (lambda _: None) if quiet else _Steps())
    return _show(result, as_json=as_json)


@command.command("read", short_help="Make pages and rows of measured constants from archives")
@click.argument("archives", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="ARCHIVE...")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Folder for the rows; default: the one that `perf` and `parallel` read.")  # fmt: skip
@_JSON
def read(archives: tuple[Path, ...], data: Path | None, as_json: bool) -> int:
    """Write the page of each archive beside it, and its measured constants as rows with their source.

    An archive of an emulated machine gives a page and no rows.
    """
    from jumar.app import selftest
    from jumar.report import selftest as report

    found = selftest.read(archives, data=data)
    if as_json:
        show.document({"archives": [result.to_json() for result in found]})
    for result in found if not as_json else ():
        show.told(report.lines(result.test))
        show.say(report.summary(result.test), err=True)
        for path in result.files:
            show.say(f"wrote `{path}`", err=True)
        if result.test.emulated:
            show.say("no rows: an emulated machine says nothing about a card", err=True)
    return max((result.exit_code for result in found), default=EXIT_OK)


def _show(result: SelfTestResult, *, as_json: bool) -> int:
    from jumar.report import selftest as report

    if as_json:
        show.whole(result.to_json())
        return result.exit_code
    show.told(report.lines(result.test))
    show.say(report.summary(result.test), err=True)
    for path in result.files:
        show.say(f"wrote `{path}`", err=True)
    if not result.test.complete:
        show.say("some cases did not run: `--resume` with the same options goes on", err=True)
    return result.exit_code
