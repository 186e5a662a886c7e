"""`jumar cloud serve` and `jumar cloud ssh-config`."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from jumar.app import cloud_machine as app
from jumar.cli import show as printing
from jumar.cli.cloud_common import show
from jumar.core.errors import EXIT_OK
from jumar.report import cloud as report


@click.command("serve")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port of OBS; a free one by default."
)
@click.option("--modelarts-port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port of ModelArts.")
def serve(port: int, modelarts_port: int) -> int:
    """Serve the stand-in's OBS and ModelArts on this machine, for other clients; ends with Ctrl-C."""
    with app.serve(port, modelarts_port) as served:
        try:
            printing.told(report.served(served))
            threading.Event().wait()
        except KeyboardInterrupt:
            printing.say("ended", err=True)
    return EXIT_OK


@click.command("ssh-config")
@click.argument("address", metavar="ADDRESS")
@click.option(
    "--key", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Private key of the notebook."
)
@click.option("--name", default="modelarts-notebook", show_default=True, metavar="NAME", help="Name of the host.")
@click.option("--config", type=click.Path(path_type=Path), default=Path("~/.ssh/config"), metavar="FILE",
              help="SSH config to write.")  # fmt: skip
@click.option("--write", is_flag=True, help="Write the entry; otherwise only show it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def ssh_config(address: str, key: Path, name: str, config: Path, write: bool, as_json: bool) -> int:
    """Show or write the Remote-SSH entry of a notebook, for VS Code and PyCharm.

    ADDRESS is what the notebook's page shows: ssh://ma-user@HOST:PORT.
    """
    found = app.ssh_config(address, key, name, config, write=write)
    show([report.ssh_row(found)], report.ssh(found), as_json)
    return EXIT_OK
