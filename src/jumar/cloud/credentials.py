"""Key pairs: from the environment, from a file that only its owner can read, or from the keyring; never from arguments.

A `Credentials` value never shows its secret: not in a repr, not in a message. It is for one host: whoever sends it
checks that first.
"""

from __future__ import annotations

import importlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumar.cloud import hosts
from jumar.core.compat import tomllib
from jumar.core.errors import UserError, cannot
from jumar.runtime import home, owned, variables

VARIABLES = {
    "huaweicloud": (
        ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK", "HUAWEICLOUD_SDK_SECURITY_TOKEN"),
        ("OBS_ACCESS_KEY_ID", "OBS_SECRET_ACCESS_KEY", "OBS_SECURITY_TOKEN"),
        ("HW_ACCESS_KEY", "HW_SECRET_KEY", "HW_SECURITY_TOKEN"),
    ),
    "s3": (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),),
}
"""Variables that the vendors' own tools read: access key, secret key, token of a temporary pair."""
TOKENS = ("HUAWEICLOUD_SDK_AUTH_TOKEN", "OS_AUTH_TOKEN")


@dataclass(frozen=True)
class Credentials:
    """A key pair, or a token of IAM alone, for one host and for no other."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    host: str
    token: str | None = field(default=None, repr=False)
    """Of a temporary pair."""
    iam_token: str | None = field(default=None, repr=False)

    def check(self, url: str) -> None:
        """Refuse to go to another host."""
        host = hosts.of(url)
        if str(host) != self.host:
            raise UserError(f"keys for `{self.host}` are not sent to `{host}`", "check the endpoint")


def find(target: str, url: str, environ: Mapping[str, str] | None = None, *, s3: bool = False) -> Credentials:
    """The key pair for a target at an endpoint; a clear error when there is none, or the host is not one for it."""
    values = os.environ if environ is None else environ
    host = hosts.of(url)
    is_confirmed = hosts.is_confirmed(host)
    if host.is_loopback and not is_confirmed:
        return _of_standin(host, values)
    if not host.vendor and not is_confirmed:
        raise hosts.refused(host)
    order = ("s3", "huaweicloud") if s3 else ("huaweicloud", "s3")
    path = file_path(values)

    def variable() -> Credentials | None:
        rows = [row for vendor in order if is_confirmed or host.vendor == vendor for row in VARIABLES[vendor]]
        return next((pair for row in rows if (pair := _from_variables(row, values, host))), None)

    def stored() -> Credentials | None:
        return _from_file(path, target, host) or _from_keyring(target, host)

    # At any other host the keys that are stored for the target come first: variables are those of the vendor.
    found = variable() or stored() if host.vendor else stored() or variable()
    if found is None:
        first = VARIABLES[order[0]][0]
        raise UserError(
            f"no key pair for the target `{target}`",
            f"set `{first[0]}` and `{first[1]}`, or write `[{target}]` with `access_key` and `secret_key` into"
            f" `{path}` (mode 0600)",
        )
    return found


def token(url: str, environ: Mapping[str, str] | None = None) -> Credentials | None:
    """A token of IAM, if the environment has one and it may go there; it goes before a key pair."""
    values = os.environ if environ is None else environ
    found = next((values[name] for name in TOKENS if values.get(name)), "")
    if not found:
        return None
    host = hosts.of(url)
    is_confirmed = hosts.is_confirmed(host)
    if host.is_loopback and not is_confirmed:
        return None
    if host.vendor != "huaweicloud" and not is_confirmed:
        raise hosts.refused(host)
    return Credentials("", "", str(host), iam_token=found)


def secrets(target: str, environ: Mapping[str, str] | None = None) -> list[str]:
    """Every secret that is known for a target, to look for in what is sent; none of them leaves this machine."""
    values = os.environ if environ is None else environ
    names = [name for rows in VARIABLES.values() for _, *row in rows for name in row]
    found = [values[name] for name in (*names, *TOKENS) if values.get(name)]
    for pair in (_from_file(file_path(values), target), _from_keyring(target)):
        found += [one for one in ((pair.secret_key, pair.token) if pair else ()) if one]
    return found


def file_path(environ: Mapping[str, str]) -> Path:
    if named := variables.CREDENTIALS.read(environ):
        return Path(named)
    return home.config(environ) / "credentials.toml"


def standin_home(environ: Mapping[str, str]) -> Path:
    """The folder of the stand-in: its store, jobs and keys."""
    if named := variables.CLOUD_HOME.read(environ):
        return Path(named).absolute()
    data = environ.get("XDG_DATA_HOME") or os.path.join(environ.get("HOME") or home.path(), ".local/share")
    return Path(data).absolute() / "jumar" / "cloud"


def _of_standin(host: hosts.Host, environ: Mapping[str, str]) -> Credentials:
    """The pair that the stand-in made for itself: it is worth nothing anywhere else."""
    path = standin_home(environ) / "keys.json"
    try:
        access, secret = next(iter(json.loads(owned.read(path)).items()))
    except (UserError, ValueError, StopIteration, AttributeError):
        raise UserError(
            f"`{host}` is on this machine, and there is no stand-in whose keys could be for it",
            f"`jumar cloud serve` starts one; for a store of your own: `jumar trust --host {host}`",
        ) from None
    return Credentials(str(access), str(secret), str(host))


def _from_variables(names: tuple[str, str, str], values: Mapping[str, str], host: hosts.Host) -> Credentials | None:
    access, secret, token = (values.get(name) or "" for name in names)
    return Credentials(access, secret, str(host), token or None) if access and secret else None


def _from_file(path: Path, target: str, host: hosts.Host | None = None) -> Credentials | None:
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
    if host is not None and "hosts" in table and str(host) not in _named(table["hosts"], path, target):
        raise UserError(
            f"the keys of `[{target}]` are not for `{host}`", f"`hosts` in `{path}` names those that they are for"
        )
    return Credentials(access, secret, str(host or ""), token if isinstance(token, str) else None)


def _named(value: object, path: Path, target: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UserError(f"`{path}`: `hosts` of `[{target}]` is not a list of strings")
    return [str(hosts.named(one)) for one in value]


def _from_keyring(target: str, host: hosts.Host | None = None) -> Credentials | None:
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
    return Credentials(access, secret, str(host or "")) if access and secret else None
