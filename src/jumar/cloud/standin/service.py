"""Both servers of the stand-in in one process, with a key pair that was generated for them."""

from __future__ import annotations

import json
import os
import secrets
import string
import tempfile
from pathlib import Path
from typing import NamedTuple

from jumar.cloud.disk import Disk
from jumar.cloud.standin import modelarts_server, obs_server
from jumar.cloud.standin.http import Server
from jumar.cloud.standin.jobs import Jobs
from jumar.cloud.standin.machine import PLAIN, Machine
from jumar.core.errors import UserError

PROJECT = "0" * 32


class Service(NamedTuple):
    obs: Server
    modelarts: Server

    def close(self) -> None:
        self.obs.close()
        self.modelarts.close()


def keys(home: Path) -> dict[str, str]:
    """The key pair of this stand-in; made once, readable by its owner only."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = home / "keys.json"
    try:
        return _read_keys(path)
    except FileNotFoundError:
        letters = string.ascii_uppercase + string.digits
        made = {"".join(secrets.choice(letters) for _ in range(20)): secrets.token_urlsafe(30)}
    # Whole or not at all: a kill must not leave a file without keys.
    handle, name = tempfile.mkstemp(dir=home, prefix=".keys-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(made, file)
    try:
        os.link(name, path)
    except FileExistsError:
        return _read_keys(path)
    finally:
        os.unlink(name)
    return made


def _read_keys(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found or not all(isinstance(value, str) for value in found.values()):
        raise UserError(f"`{path}` holds no key pair", "remove the file: a new pair is made at the next start")
    return found


def start(home: Path, port: int = 0, modelarts_port: int = 0, machine: Machine = PLAIN) -> Service:
    """Listen on the loopback interface; ports are free ones unless they are said. Jobs run on `machine`."""
    pairs = keys(home)
    (home / "store").mkdir(exist_ok=True, mode=0o700)
    disk = Disk(home / "store")
    obs = Server(obs_server.Store(disk, pairs), port).start()
    address = f"http://127.0.0.1:{obs.port}"
    platform = modelarts_server.Server(Jobs(home), machine, pairs, address)
    return Service(obs, Server(platform, modelarts_port).start())
