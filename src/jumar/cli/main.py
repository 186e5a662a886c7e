"""The `jumar` command: one line per verb, loaded on use, and the one place where errors become messages."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from jumar import __version__
from jumar.cli import language, show, streams, tasks
from jumar.core import notes
from jumar.core.errors import EXIT_FAILED, EXIT_OK, UserError, from_os, meaning
from jumar.core.lang import LANGUAGES, t

VERBS = tasks.verbs()
EXIT_INTERRUPTED = 130
EXIT_NO_READER = 141
"""As the shell shows a program that SIGPIPE ended: `jumar … | head` says nothing."""
_WIDTH = max(map(len, VERBS))
COMPLETION = "_JUMAR_COMPLETE"


class Verbs(click.Group):
    """A group that knows its verbs by name and imports only the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        found: click.Command = importlib.import_module(f"jumar.cli.cmd_{cmd_name}").command
        found.epilog = tasks.epilog(cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from jumar.core.nearest import did_you_mean

            raise UserError(
                f"no such command: `{args[0]}`", did_you_mean(args[0], VERBS, "`jumar --help` lists the commands")
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for task, below in tasks.TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(f"{verb:{_WIDTH}}", text) for verb, text in below.items()])


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="jumar", message="%(prog)s %(version)s")
@click.option("--lang", type=click.Choice(LANGUAGES), metavar="|".join(LANGUAGES),
              help="Language of messages; by default that of the locale (LANG).")  # fmt: skip
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def jumar(lang: str | None, debug: bool) -> None:
    """Move PyTorch/CUDA and MindSpore code to Ascend NPUs.

    `jumar` alone says what fits the folder it is in, `jumar VERB --help` describes a verb, `jumar explain ID` a
    finding.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; errors are shown, never raised."""
    args = list(sys.argv[1:] if argv is None else argv)
    if COMPLETION in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(jumar, {}, "jumar", COMPLETION, os.environ[COMPLETION])
    streams.prepare()
    with language.of(args), notes.collected(_note):
        return _shown(args)


def _note(text: str) -> None:
    show.echo(f"jumar: {t(text)}", err=True)


def _shown(args: list[str]) -> int:
    try:
        code = _run([*args])  # click takes words out of the list
        streams.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in language.before_verb(args) and not isinstance(error, (BrokenPipeError, click.ClickException)):
            raise
        return _failed(error, args)


def _failed(error: BaseException, args: list[str]) -> int:
    """Say what went wrong; the exit code."""
    if isinstance(error, BrokenPipeError) and streams.has_no_reader():
        streams.give_up()
        return EXIT_NO_READER
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # click 8.2 and newer
        show.echo(str(error), err=True)
        return EXIT_FAILED
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        told, code = UserError("interrupted"), EXIT_INTERRUPTED
    else:
        told, code = _told(error, args), EXIT_FAILED
    for as_json in (True, False) if "--json" in args and code == EXIT_FAILED else (False,):
        # Where the output cannot take it, the messages can; where neither can, the exit code tells.
        with suppress(OSError):
            _show(told, as_json=as_json)
            streams.flush()
            break
    streams.give_up()
    return code


def _told(error: BaseException, args: list[str]) -> UserError:
    """Any error as a message with a hint."""
    if isinstance(error, click.ClickException):
        return _translate(error)
    if isinstance(error, OSError):
        return from_os(error)
    verb = next((word for word in args if word in VERBS), "")
    if isinstance(error, ModuleNotFoundError) and error.name:
        from jumar.cli import extras

        return extras.missing(error.name, verb) or _unexpected(error)
    if not isinstance(error, UserError):
        return _unexpected(error)
    if error.hint:
        return error
    cause = error.__cause__
    hint = (
        meaning(cause).hint
        if isinstance(cause, OSError)
        else f"`{f'jumar {verb}'.strip()} --help` shows how it is used"
    )
    return UserError(error.message, hint, error.doc)


def _run(args: list[str]) -> int:
    language.check()
    try:
        if not args and _says_what_fits():
            return EXIT_OK
        args = args or ["--help"]
        with jumar.make_context("jumar", args) as context:
            result = jumar.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    return result if isinstance(result, int) else EXIT_OK


def _says_what_fits() -> bool:
    """Name the commands for what the folder holds; False where that is nothing known."""
    from pathlib import Path

    from jumar.app import here

    found = here.fits(Path())
    if found:
        show.echo(f"{t('What fits this folder:')}\n")
        for fit in found:
            show.echo(f"  {fit.command}\n      {t(fit.why)}")
        show.echo(f"\n{t('`jumar --help` lists all commands')}")
    return bool(found)


def _show(error: UserError, *, as_json: bool) -> None:
    if as_json:
        from jumar.report import json

        show.echo(json.render_error(error))
        return
    show.echo(_indented(t("error: {message}", message=error.message)), err=True)
    if error.hint:
        show.echo("\n" + _indented(t("hint: {hint}", hint=error.hint)), err=True)


def _indented(text: str) -> str:
    """No further line of a message begins as a line of ours does."""
    return text.replace("\n", "\n  ")


def _translate(error: click.ClickException) -> UserError:
    """What click says, in the shape of our own messages."""
    context = getattr(error, "ctx", None)
    help_hint = f"`{context.command_path if context else 'jumar'} --help` lists the options"
    if isinstance(error, click.NoSuchOption):
        from jumar.core.nearest import did_you_mean

        if error.option_name == "--lang":
            return UserError("`--lang` stands before the verb", "such as `jumar --lang zh migrate .`")
        known = [name for param in context.command.params for name in param.opts] if context else []
        return UserError(f"no such option: `{error.option_name}`", did_you_mean(error.option_name, known, help_hint))
    if isinstance(error, click.BadParameter) and error.param is not None:
        name = (
            error.param.opts[-1] if isinstance(error.param, click.Option) else error.param.metavar or error.param.name
        )
        if isinstance(error, click.MissingParameter):
            return UserError(f"missing `{name}`", help_hint)
        return UserError(f"`{name}`: {_plain(error.message)}", help_hint)
    return UserError(_plain(error.format_message()), help_hint)


def _plain(message: str) -> str:
    message = message.removesuffix(".")
    return message[:1].lower() + message[1:]


def _unexpected(error: BaseException) -> UserError:
    hint = "run it again as `jumar --debug …` and send the traceback with a bug report"
    return UserError(f"unexpected {type(error).__name__}: {error}", hint)


if __name__ == "__main__":
    sys.exit(main())
