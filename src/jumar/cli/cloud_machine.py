"""`jumar cloud serve` and `jumar cloud ssh-config`."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from jumar.cli.cloud_common import show
from jumar.core.errors import EXIT_OK, UserError


@click.command("serve")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port of OBS; a free one by default."
)
@click.option("--modelarts-port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port of ModelArts.")
def serve(port: int, modelarts_port: int) -> int:
    """Serve the stand-in's OBS and ModelArts on this machine, for other clients; ends with Ctrl-C."""
    from jumar.cloud import target
    from jumar.cloud.standin import service

    home = target.home()
    try:
        running = service.start(home, port, modelarts_port)
    except OSError as error:
        raise UserError(f"cannot listen: {error.strerror}", "choose another port") from error
    try:
        click.echo(f"OBS        http://127.0.0.1:{running.obs.port}")
        click.echo(f"ModelArts  http://127.0.0.1:{running.modelarts.port}  project {service.PROJECT}")
        click.echo(f"key pair   {home / 'keys.json'}")
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("ended", err=True)
    finally:
        running.close()
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
    from jumar.cloud import ssh
    from jumar.core.write import replace

    path = config.expanduser()
    host = ssh.parse(name, address, key, path.absolute().parent)
    text = ssh.merge(path.read_text(encoding="utf-8") if path.exists() else "", host)
    if write:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = not path.exists()
        replace(path, text.encode())
        if new:
            path.chmod(0o600)
    row = {"host": name, "config": str(path), "entry": ssh.entry(host), "pin": ssh.pin_command(host)}
    last = f"wrote `{path}`" if write else "add `--write` to write it"
    note = f"# pin the host key once, and compare it with the console's:\n# {ssh.pin_command(host)}\n# {last}"
    show([row], [ssh.entry(host).rstrip(), note], as_json)
    return EXIT_OK
