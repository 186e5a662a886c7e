"""The Remote-SSH entry of a notebook: pinned host key, checked key file, nothing else."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from jumar.core import read
from jumar.core.errors import UserError, cannot

USER = "ma-user"
BEGIN, END = "# jumar {name}: begin", "# jumar {name}: end"


class Host(NamedTuple):
    name: str
    address: str
    port: int
    key: Path
    known_hosts: Path


def parse(name: str, url: str, key: Path, folder: Path) -> Host:
    """From the address that the console shows: `ssh://ma-user@host:port`, or `host:port`."""
    match = re.fullmatch(r"(?:ssh://)?(?:[\w.-]+@)?([A-Za-z0-9.-]+):(\d{1,5})/?", url)
    if not match or not 0 < int(match[2]) < 65536:
        raise UserError(f"not an SSH address: `{url}`", "copy it from the notebook's page: `ssh://ma-user@HOST:PORT`")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        raise UserError(f"not a name for a host: `{name}`", "letters, digits, `.`, `_` and `-`")
    return Host(name, match[1], int(match[2]), check_key(key), folder / f"jumar_known_hosts_{name}")


def check_key(path: Path) -> Path:
    """The private key must be one, and nobody else's to read: ssh refuses it otherwise."""
    full = path.expanduser().absolute()
    try:
        read.check(full)
        mode = stat.S_IMODE(os.stat(full).st_mode)
        with read.opened(full) as file:
            head = file.read(200)
    except OSError as error:
        raise cannot(f"read the key `{path}`", error) from error
    if mode & 0o077 and os.name == "posix":
        raise UserError(f"`{path}` can be read by others (mode {mode:04o})", f"chmod 600 {path}")
    if b"PRIVATE KEY" not in head:
        raise UserError(f"`{path}` is not a private key", "use the .pem file of the downloaded key pair")
    return full


def entry(host: Host) -> str:
    """The lines for `~/.ssh/config`: the host key is asked for once, kept, and never replaced silently."""
    return "\n".join(
        (
            BEGIN.format(name=host.name),
            f"Host {host.name}",
            f"    HostName {host.address}",
            f"    Port {host.port}",
            f"    User {USER}",
            f"    IdentityFile {host.key}",
            "    IdentitiesOnly yes",
            f"    UserKnownHostsFile {host.known_hosts}",
            "    StrictHostKeyChecking yes",
            "    ServerAliveInterval 60",
            END.format(name=host.name),
            "",
        )
    )


def merge(config: str, host: Host) -> str:
    """A config with the entry in it; an earlier one of ours is replaced, anything else stays."""
    begin, end = BEGIN.format(name=host.name), END.format(name=host.name)
    pattern = re.compile(rf"^{re.escape(begin)}\n.*?^{re.escape(end)}\n", re.M | re.S)
    if pattern.search(config):
        return pattern.sub(lambda _: entry(host), config)
    if re.search(rf"^\s*Host\s+(?:.*\s)?{re.escape(host.name)}(?:\s|$)", config, re.M):
        raise UserError(f"`{host.name}` is in the SSH config already", "choose another name with `--name`")
    return entry(host) + ("\n" + config if config else "")


def pin_command(host: Host) -> str:
    return f"ssh-keyscan -p {host.port} {host.address} > {host.known_hosts}"
