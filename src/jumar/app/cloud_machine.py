"""`jumar cloud serve` and `jumar cloud ssh-config`: the stand-in's services, and the SSH entry of a notebook."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from jumar.core.compat import dataclass
from jumar.core.errors import cannot


@dataclass(frozen=True, slots=True)
class Served:
    """Where the stand-in listens, and the file with the key pair for it."""

    obs_port: int
    modelarts_port: int
    project: str
    keys: Path


@dataclass(frozen=True, slots=True)
class SshEntry:
    """The entry of a notebook in an SSH config, and the command that pins its host key."""

    host: str
    config: Path
    entry: str
    pin: str
    written: bool


@contextlib.contextmanager
def serve(port: int, modelarts_port: int) -> Iterator[Served]:
    """Serve the stand-in's OBS and ModelArts on this machine; 0 takes a free port."""
    from jumar.cloud import target
    from jumar.cloud.standin import service

    home = target.home()
    try:
        running = service.start(home, port, modelarts_port)
    except OSError as error:
        raise cannot("listen", error) from error
    with contextlib.closing(running):
        yield Served(running.obs.port, running.modelarts.port, service.PROJECT, home / "keys.json")


def ssh_config(address: str, key: Path, name: str, config: Path, *, write: bool = False) -> SshEntry:
    """Build the Remote-SSH entry of a notebook; with `write` put it into the config."""
    from jumar.cloud import ssh
    from jumar.core.write import inside, replace

    path = config.expanduser()
    host = ssh.parse(name, address, key, path.absolute().parent)
    text = ssh.merge(path.read_text(encoding="utf-8") if path.exists() else "", host)
    if write:
        new = not path.exists()
        with inside(path.parent, mode=0o700):
            replace(path, text.encode())
        if new:
            path.chmod(0o600)
    return SshEntry(name, path, ssh.entry(host), ssh.pin_command(host), write)
