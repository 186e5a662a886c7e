"""`jumar cloud`: OBS and ModelArts, or their stand-in on this machine."""
"""`jumar cloud`: OBS and ModelArts; every command is a module of its own, imported when it is used."""

from __future__ import annotations

import importlib

import click

from jumar.core.errors import UserError

COMMANDS = {
    "ls": "storage", "cp": "storage", "sync": "storage", "rm": "storage", "mb": "storage",
}  # fmt: skip
"""Command and the `jumar.cli.cloud_<part>` module that holds it."""


class Parts(click.Group):
    """Loads only the half that is used: storage or jobs."""
COMMANDS = {"adapt": "Make a training script work in a ModelArts job, and as before without one"}
class Commands(click.Group):
    """A group that imports only the command that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            from jumar.core.nearest import did_you_mean

            hint = did_you_mean(cmd_name, COMMANDS, "`jumar cloud --help` lists the commands")
            raise UserError(f"no such command: `jumar cloud {cmd_name}`", hint)
        module = importlib.import_module(f"jumar.cli.cloud_{COMMANDS[cmd_name]}")
        found: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return found


@click.command("cloud", cls=Parts, short_help="OBS and ModelArts: storage, jobs, and a stand-in on this machine")
def command() -> None:
    """Storage in OBS and jobs on ModelArts, or on the stand-in on this machine.

    `--target local` (the default) needs no account; `--target huaweicloud` takes its key pair from the
    environment, from a file of mode 0600 or from the keyring.
    """
            return None
        found: click.Command = getattr(importlib.import_module(f"jumar.cli.cmd_cloud_{cmd_name}"), cmd_name)
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from jumar.core.errors import UserError
            hint = did_you_mean(args[0], COMMANDS, "`jumar cloud --help` lists the commands")
            raise UserError(f"no such command: `cloud {args[0]}`", hint)
        return super().resolve_command(ctx, args)
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))
@click.command("cloud", cls=Commands, short_help="Training jobs on ModelArts and data in OBS")
    """Training jobs on ModelArts and data in OBS."""
