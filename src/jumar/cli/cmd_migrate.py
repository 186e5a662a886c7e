"""`jumar migrate`: show the changes, make them in place or in a copy, or check that none is left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import options as common
from jumar.cli import show
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, EXIT_UNKNOWN, UserError

if TYPE_CHECKING:
    from jumar.app.migrate import MigrateResult


class WithCommand(common.Verb):
    """With `--verify`, the words after `--` are a command and not paths."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] = []
        if "--verify" in args and "--" in args:
            at = args.index("--")
            args, words = args[:at], args[at + 1 :]
        ctx.meta["verify"] = words
        return super().parse_args(ctx, args)


@click.command("migrate", cls=WithCommand, short_help="Show or make the changes that move CUDA code to Ascend NPUs")
@common.shared
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="OUT", help="Write a migrated copy of the tree.")
@click.option("--write", is_flag=True, help="Edit in place; with `-`, print the new text.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if anything is left to do.")
@click.option("--diff", is_flag=True, help="Also show the diff with --check, --out or --write.")
@click.option("--unsafe", is_flag=True, help="Also make changes that need a review.")
@click.option("--force", is_flag=True, help="Let --out write into a folder that is not empty.")
@click.option(
    "--verify",
    "verified",
    is_flag=True,
    help="Import every module before and after on the emulator, and compare; or run the command after `--`.",
)
@click.option("--tests", is_flag=True, help="With --verify: also run the project's own tests before and after.")
@click.option(
    "--limit",
    type=common.Number(1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="With --verify: time for one module or test.",
)
@click.option("--total-limit", type=common.Number(1), default=900.0, show_default=True, metavar="SECONDS",
              help="With --verify: time for all modules of one side, and for all its tests.")  # fmt: skip
@click.option("--read", multiple=True, metavar="PATH",
              help="With --verify: also let the project read this file or folder, such as its data.")  # fmt: skip
@click.option("--no-sandbox", is_flag=True,
              help="With --verify: run the project with all your rights. Only for code that you trust.")  # fmt: skip
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> int:
    """Show what must change below each PATH as a unified diff with findings.

    Writes nothing without --write or --out. PATH is a file, a folder, or `-` for stdin.
    Exit code: 0 nothing left to do, 1 something is, 2 the work could not be done.
    With --baseline only new findings count.
    With --verify and no command: 0 nothing got worse, 1 something did, 3 nobody can tell.
    """
    if options["list_rules"]:
        return show.rules(as_json=options["as_json"])
    from jumar.app import migrate

    words = tuple(ctx.meta["verify"]) if options["verified"] else ()
    _check_options(paths, options, words)
    names = ("unsafe", "write", "out", "force", "tests", "limit", "total_limit", "read")
    prove = options["verified"] and not words
    request = common.request(paths, options)
    request = replace(
        request, verify=words, prove=prove, sandbox=not options["no_sandbox"], **{name: options[name] for name in names}
    )
    with common.progress(options) as progress:

        def tell(text: str, /) -> None:
            progress.close()
            show.say(f"jumar: {text}", err=True)

        result = migrate.migrate(request, progress, tell)
    done = _done(result)
    common.write_reports(result, options)
    _show(result, options, done)
    if result.proof is not None and not options["check"]:
        return {True: EXIT_OK, False: EXIT_FINDINGS, None: EXIT_UNKNOWN}[result.is_proved]
    if result.checked is not None:
        return EXIT_FINDINGS if result.checked.new else EXIT_OK
    if done or options["write"]:
        return EXIT_FINDINGS if result.left else EXIT_OK
    return EXIT_FINDINGS if result.left or result.changed else EXIT_OK


def _check_options(paths: tuple[str, ...], options: dict[str, Any], words: tuple[str, ...]) -> None:
    chosen = [f"`--{name}`" for name in ("write", "out", "check") if options[name]]
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} cannot go together", "choose one of them")
    if "-" in paths and options["out"]:
        raise UserError("`-` excludes `--out`", "`jumar migrate - --write` prints the new text")
    if "-" in paths and options["write"] and (options["as_json"] or options["diff"]):
        raise UserError("`- --write` prints the new text and nothing else", "leave `--json` and `--diff` out")
    if options["tests"] and (words or not options["verified"]):
        raise UserError("`--tests` goes with `--verify` and no command", "jumar migrate PROJECT --verify --tests")
    if not options["verified"] and (options["read"] or options["no_sandbox"]):
        raise UserError("`--read` and `--no-sandbox` go with `--verify`", "jumar migrate PROJECT --verify --read data/")
    if options["verified"] and "-" in paths:
        raise UserError("`-` excludes `--verify`", "name a file or folder")


def _done(result: MigrateResult) -> str:
    """What was written, in one line; empty when nothing was to be written."""
    request = result.request
    if request.write and request.text is not None:
        show.raw(result.project.files[0].after)
    elif request.write:
        return f"written in place: {len(result.written)} file{'' if len(result.written) == 1 else 's'}"
    elif request.out is not None:
        for path in result.not_copied:
            show.say(f"warning: not copied: `{path}`", err=True)
        return f"written to `{request.out}`"
    return ""


def _show(migrated: MigrateResult, options: dict[str, Any], done: str) -> None:
    from jumar.core.finding import State
    from jumar.report import text

    if options["as_json"]:
        show.whole(migrated.to_json())
        return
    result = migrated.project
    to_stdout = options["write"] and not done
    wants_diff = options["diff"] or not (done or to_stdout or options["check"])
    states = list(State) if options["show_all"] else list(text.REST)
    if options["check"] and not options["show_all"]:
        states.append(State.REWRITTEN)
    colour = show.has_colour()
    new = None if migrated.checked is None else set(map(id, migrated.checked.new))
    for file in result.files:
        if wants_diff and file.changed:
            show.raw(text.diff(file, colour=colour))
        shown = [item for item in file.findings if new is None or id(item) in new]
        show.lines(text.findings(shown, states, colour=colour), err=to_stdout)
    if wants_diff:
        for name, data in sorted(result.new_files().items()):
            show.raw(text.new_file(name, data, colour=colour))
    if not options["quiet"]:
        show.told(text.summary(result, done=done, show_all=options["show_all"]), err=True)
    common.show_baseline(migrated)
    _show_proof(migrated, options)


def _show_proof(migrated: MigrateResult, options: dict[str, Any]) -> None:
    from jumar.report import proof

    asked = migrated.request
    if migrated.proof is not None:
        show.told(proof.lines(migrated.proof, show_all=options["show_all"]), err=True)
    elif migrated.changed and not any(options[name] for name in ("quiet", "verified", "write")) and asked.paths:
        show.say(proof.offer(asked.paths), err=True)
