"""`jumar cloud`: OBS and ModelArts; every command is a module of its own, imported when it is used."""

from __future__ import annotations

import importlib

import click

COMMANDS = {"adapt": "Make a training script work in a ModelArts job, and as before without one"}


class Commands(click.Group):
    """A group that imports only the command that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(importlib.import_module(f"jumar.cli.cmd_cloud_{cmd_name}"), cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from jumar.core.errors import UserError
            from jumar.core.nearest import did_you_mean

            hint = did_you_mean(args[0], COMMANDS, "`jumar cloud --help` lists the commands")
            raise UserError(f"no such command: `cloud {args[0]}`", hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command("cloud", cls=Commands, short_help="Training jobs on ModelArts and data in OBS")
def command() -> None:
    """Training jobs on ModelArts and data in OBS."""
