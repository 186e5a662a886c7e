"""`jumar migrate`: show the changes, make them in place or in a copy, or check that none is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import options as common
from jumar.cli import show, verify
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.migrate.result import ProjectResult


@click.command(
    "migrate", cls=verify.WithCommand, short_help="Show or make the changes that take CUDA code to Ascend NPUs"
)
@common.shared
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="OUT", help="Write a migrated copy of the tree.")
@click.option("--write", is_flag=True, help="Edit in place; with `-`, print the new text.")
@click.option("--check", is_flag=True, help="Only tell: exit 1 if anything is left to do.")
@click.option("--diff", is_flag=True, help="Show the diff, also beside --check, --out or --write.")
@click.option("--unsafe", is_flag=True, help="Also make the changes that a person should look at.")
@click.option("--force", is_flag=True, help="Let --out write into a folder that is not empty.")
@click.option("--verify", "verified", is_flag=True,
              help="Run the command after `--` on the emulator and report what happened.")  # fmt: skip
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> int:
    """Show what must change below each PATH as a unified diff with findings.

    Nothing is written unless --write or --out says so. PATH is a file, a folder, or `-` for stdin.
    Exit code: 0 nothing left to do, 1 something is, 2 the work could not be done.
    """
    if options["list_rules"]:
        return show.rules(as_json=options["as_json"])
    _check_options(paths, options)
    if options["verified"]:
        verify.check(paths, ctx.meta["verify"])
    if options["out"]:
        from jumar.migrate import output

        output.check_out([Path(path) for path in paths], options["out"], force=options["force"])
    result = common.run(paths, options)
    done = _carry_out(result, paths, options)
    if options["verified"]:
        from jumar.migrate import walk

        more = verify.run(result, paths, ctx.meta["verify"], options["out"], options["write"])
        result = result.with_findings(more, walk.texts_at(item.where.path for item in more if item.where))
    show.files(result, options)
    _show(result, options, done)
    if done or options["write"]:
        return EXIT_FINDINGS if result.left() else EXIT_OK
    return EXIT_FINDINGS if result.left() or any(file.changed for file in result.files) else EXIT_OK


def _check_options(paths: tuple[str, ...], options: dict[str, Any]) -> None:
    chosen = [f"`--{name}`" for name in ("write", "out", "check") if options[name]]
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} cannot go together", "choose one of them")
    if "-" in paths and options["out"]:
        raise UserError("`-` and `--out` cannot go together", "`jumar migrate - --write` prints the new text")
    if "-" in paths and options["write"] and (options["as_json"] or options["diff"]):
        raise UserError("`- --write` prints the new text and nothing else", "leave `--json` and `--diff` out")


def _carry_out(result: ProjectResult, paths: tuple[str, ...], options: dict[str, Any]) -> str:
    """Do what was asked and say it in one line; empty when nothing was to be written."""
    if options["write"] and "-" in paths:
        show.raw(result.files[0].after)
    elif options["write"]:
        return show.written_in_place(result)
    elif options["out"]:
        return show.written_to(result, [Path(path) for path in paths], options)
    return ""


def _show(result: ProjectResult, options: dict[str, Any], done: str) -> None:
    from jumar.core.finding import State
    from jumar.report import json, text

    if options["as_json"]:
        click.echo(json.render(result))
        return
    to_stdout = options["write"] and not done
    wants_diff = options["diff"] or not (done or to_stdout or options["check"])
    states = list(State) if options["show_all"] else list(text.REST)
    if options["check"] and not options["show_all"]:
        states.append(State.REWRITTEN)
    colour = show.has_colour()
    for file in result.files:
        if wants_diff and file.changed:
            show.raw(text.diff(file, colour=colour))
        show.lines(text.findings(file.findings, states, colour=colour), err=to_stdout)
    if wants_diff:
        for name, data in sorted(result.new_files().items()):
            show.raw(text.new_file(name, data, colour=colour))
    if not options["quiet"]:
        show.lines(text.summary(result, done=done, show_all=options["show_all"]), err=True)
