"""`jumar cloud`: OBS and ModelArts, or their stand-in on this machine."""

from __future__ import annotations

import importlib

import click

from jumar.cli.listed import Listed
from jumar.core.errors import UserError

COMMANDS = {
    "adapt": "adapt",
    **dict.fromkeys(("cp", "ls", "mb", "rm", "sync"), "storage"),
    **dict.fromkeys(("logs", "ls-jobs", "plan", "pull", "rm-job", "stop", "submit"), "jobs"),
    **dict.fromkeys(("serve", "ssh-config"), "machine"),
}
"""Command and the `jumar.cli.cloud_<part>` module that holds it."""


class Parts(Listed):
    """Loads only the part that is used."""

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


@click.command("cloud", cls=Parts, short_help="OBS and ModelArts: storage, jobs, a stand-in on this machine")
def command() -> None:
    """Storage in OBS and jobs on ModelArts, or on the stand-in on this machine.

    `--target local` (the default) needs no account; `--target huaweicloud` takes its key pair from the
    environment, from a file of mode 0600 or from the keyring.
    """
