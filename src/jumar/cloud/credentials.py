"""Key pairs: from the environment, from a file that only its owner can read, or from the keyring; never from arguments.

A `Credentials` value never shows its secret: not in a repr, not in a message.
"""

from __future__ import annotations

import importlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumar.core.compat import tomllib
from jumar.core.errors import UserError, cannot
from jumar.runtime import home as account
from jumar.runtime import variables

VARIABLES = {
    "huaweicloud": (
        ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK", "HUAWEICLOUD_SDK_SECURITY_TOKEN"),
        ("OBS_ACCESS_KEY_ID", "OBS_SECRET_ACCESS_KEY", "OBS_SECURITY_TOKEN"),
        ("HW_ACCESS_KEY", "HW_SECRET_KEY", "HW_SECURITY_TOKEN"),
    ),
    "s3": (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),),
}
"""Variables that the vendors' own tools read: access key, secret key, token of a temporary pair."""


@dataclass(frozen=True)
class Credentials:
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


def find(target: str, environ: Mapping[str, str] | None = None, *, s3: bool = False) -> Credentials:
    """The key pair for a target; a clear error when there is none."""
    values = os.environ if environ is None else environ
    rows = [*VARIABLES["s3"], *VARIABLES["huaweicloud"]] if s3 else [*VARIABLES["huaweicloud"], *VARIABLES["s3"]]
    for access, secret, token in rows:
        if values.get(access) and values.get(secret):
            return Credentials(values[access], values[secret], values.get(token) or None)
    path = file_path(values)
    found = _from_file(path, target) or _from_keyring(target)
    if found is None:
        first = rows[0]
        raise UserError(
            f"no key pair for the target `{target}`",
            f"set `{first[0]}` and `{first[1]}`, or write `[{target}]` with `access_key` and `secret_key` into"
            f" `{path}` (mode 0600)",
        )
    return found


def file_path(environ: Mapping[str, str]) -> Path:
    if named := variables.CREDENTIALS.read(environ):
        return Path(named)
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME") or account.path(), ".config")
    return Path(config) / "jumar" / "credentials.toml"


def _from_file(path: Path, target: str) -> Credentials | None:
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise UserError(f"`{path}` can be read by others (mode {mode:04o})", f"chmod 600 {path}")
            document: dict[str, Any] = tomllib.load(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot(f"read `{path}`", error) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        # The parser's own message may quote the line, and the line may hold the key.
        raise UserError(f"`{path}` is not valid TOML") from None
    table = document.get(target)
    if not isinstance(table, dict):
        return None
    access, secret, token = (table.get(name) for name in ("access_key", "secret_key", "security_token"))
    if not isinstance(access, str) or not isinstance(secret, str):
        raise UserError(f"`{path}`: `[{target}]` needs `access_key` and `secret_key`")
    return Credentials(access, secret, token if isinstance(token, str) else None)


def _from_keyring(target: str) -> Credentials | None:
    try:
        keyring: Any = importlib.import_module("keyring")
    except ImportError:
        return None
    try:
        access = keyring.get_password(f"jumar:{target}", "access_key")
        secret = keyring.get_password(f"jumar:{target}", "secret_key")
    except Exception:
        # A keyring without a backend raises errors of its own kinds; it then simply holds nothing.
        return None
    return Credentials(access, secret) if access and secret else None
