"""`jumar completion`: the Tab key completes verbs, options, chips, rules and jobs."""

from __future__ import annotations

import os

import click

from jumar.app import completion
from jumar.cli.listed import Listed
from jumar.cli.show import echo, say
from jumar.core.errors import EXIT_OK

_SHELL = click.argument("shell", required=False, type=click.Choice(completion.SHELLS), metavar="[bash|zsh|fish]")


@click.group("completion", cls=Listed, short_help="Complete commands, chips, rules and jobs with the Tab key")
def command() -> None:
    """Complete verbs, options, chips, rules and jobs with the Tab key."""


@command.command("install")
@_SHELL
def install(shell: str | None) -> int:
    """Install the completion for your shell, or the one that is named; new shells have it."""
    chosen = shell or completion.shell_of(os.environ)
    for path in completion.carry_out(completion.build(chosen, _script(chosen), os.environ)):
        say(f"wrote `{path}`", err=True)
    say(f"start a new {chosen}, then type `jumar mi` and press Tab", err=True)
    return EXIT_OK


@command.command("show")
@_SHELL
def show(shell: str | None) -> int:
    """Print the script, to install it yourself."""
    echo(_script(shell or completion.shell_of(os.environ)))
    return EXIT_OK


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from jumar.cli.main import COMPLETION, jumar

    kind = get_completion_class(shell)
    assert kind is not None
    # click asks bash for its version here, and warns about old ones: the text is the same for all.
    return kind(jumar, {}, "jumar", COMPLETION).source_template % kind(jumar, {}, "jumar", COMPLETION).source_vars()
