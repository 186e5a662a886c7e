"""The target: the local stand-in, Huawei Cloud, or your own endpoints; read from `jumar.toml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jumar.cloud import credentials
from jumar.cloud.store import Store
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.runtime import home as account
from jumar.runtime import settings, variables

LOCAL = "local"
HUAWEICLOUD = "huaweicloud"
KEYS: dict[str, tuple[tuple[type, ...], str]] = {
    "target": ((str,), "target: `local`, `huaweicloud` or one of `[cloud.targets]`"),
    "bucket": ((str,), "bucket for code, data and results"),
    "code": ((str,), "code folder, relative to this file"),
    "boot": ((str,), "script to start, relative to the code folder"),
    "data": ((str, list), "inputs, as `--data` takes them"),
    "devices": ((int,), "number of devices: 1, 2, 4 or 8"),
    "nodes": ((int,), "machines with that many devices each"),
    "param": ((list,), "arguments of the script, `NAME=VALUE`"),
    "env": ((list,), "environment variables, `NAME=VALUE`"),
    "engine": ((str,), "engine version"),
    "flavor": ((str,), "flavour id"),
    "auto_stop": ((int, float), "hours after which the job stops automatically"),
    "contract": ((str,), "`v2`, or `v1` for scripts that copy with MoXing"),
    "on": ((str,), "`cpu`: MindSpore jobs on this machine run on MindSpore's CPU target"),
    "python": ((str,), "interpreter of jobs on this machine, relative to this file"),
    "price": ((int, float), "price of an hour, for the cost bound"),
    "name": ((str,), "name of the job"),
    "targets": ((dict,), "endpoints of your own: `[cloud.targets.NAME]`"),
}
"""Keys of `[cloud]`: kinds and meaning."""
TARGET_KEYS = ("region", "project_id", "obs_endpoint", "modelarts_endpoint", "iam_endpoint", "api")


_WORDS = {str: "a string", int: "a number", list: "a list of strings", dict: "a table"}


class Target(NamedTuple):
    name: str
    region: str = ""
    project_id: str = ""
    obs_endpoint: str = ""
    modelarts_endpoint: str = ""
    iam_endpoint: str = ""
    api: str = "v2"
    """Version of the training interface; old regions have `v1` only."""

    @property
    def is_local(self) -> bool:
        return self.name == LOCAL


class Config(NamedTuple):
    path: Path | None
    table: Mapping[str, Any]
    """The `[cloud]` table."""


def home(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the stand-in: its store, jobs and keys."""
    values = os.environ if environ is None else environ
    if named := variables.CLOUD_HOME.read(values):
        return Path(named).absolute()
    data = values.get("XDG_DATA_HOME") or os.path.join(values.get("HOME") or account.path(), ".local/share")
    return Path(data).absolute() / "jumar" / "cloud"


def load_config(start: Path) -> Config:
    """The `[cloud]` table of the nearest `jumar.toml` at or above a folder."""
    found = settings.read(settings.find(start), "cloud")
    path, table = found.path, found.values
    for key, value in table.items():
        if key not in KEYS:
            hint = did_you_mean(key, KEYS, f"known keys: {', '.join(KEYS)}")
            raise UserError(f"`{path}`: unknown key `{key}` in `[cloud]`", hint)
        if not isinstance(value, KEYS[key][0]) or isinstance(value, bool):
            raise UserError(f"`{path}`: `{key}` in `[cloud]` is not {_WORDS[KEYS[key][0][0]]}")
    return Config(path, table)


def find(name: str | None, config: Config, environ: Mapping[str, str] | None = None) -> Target:
    """A target by name: what the file says about it, and what is known by itself."""
    values = os.environ if environ is None else environ
    wanted = name or config.table.get("target") or LOCAL
    tables = config.table.get("targets", {})
    known = [LOCAL, HUAWEICLOUD, *tables]
    if wanted not in known:
        raise UserError(f"no such target: `{wanted}`", did_you_mean(str(wanted), known, f"known: {', '.join(known)}"))
    table = dict(tables.get(wanted, {}))
    for key in table:
        if key not in TARGET_KEYS:
            hint = did_you_mean(key, TARGET_KEYS, f"known keys: {', '.join(TARGET_KEYS)}")
            raise UserError(f"`{config.path}`: unknown key `{key}` in `[cloud.targets.{wanted}]`", hint)
    if table.get("api", "v2") not in ("v1", "v2"):
        raise UserError(f"`{config.path}`: `api` in `[cloud.targets.{wanted}]` is `v1` or `v2`")
    if wanted == LOCAL:
        return Target(LOCAL, "local", "0" * 32)
    region = table.get("region") or values.get("HUAWEICLOUD_SDK_REGION") or values.get("HW_REGION_NAME") or ""
    if wanted == HUAWEICLOUD and region:
        table.setdefault("obs_endpoint", f"https://obs.{region}.myhuaweicloud.com")
        table.setdefault("modelarts_endpoint", f"https://modelarts.{region}.myhuaweicloud.com")
    table["region"] = region
    table.setdefault("project_id", values.get("HUAWEICLOUD_SDK_PROJECT_ID") or values.get("HW_PROJECT_ID") or "")
    return Target(wanted, **table)


def open_store(target: Target, scheme: str = "obs", environ: Mapping[str, str] | None = None) -> Store:
    """The store of a target: the folder of the stand-in, esdk for `obs://`, boto3 for `s3://`."""
    if target.is_local:
        from jumar.cloud.store.folder import FolderStore

        return FolderStore(home(environ) / "store")
    if not target.obs_endpoint:
        raise UserError(
            f"the target `{target.name}` has no OBS endpoint",
            f"set `HUAWEICLOUD_SDK_REGION`, or `region` in `[cloud.targets.{target.name}]` of `{settings.FILE}`",
        )
    _check_endpoint(target.obs_endpoint)
    pair = credentials.find(target.name, environ, s3=scheme == "s3")
    from jumar.cloud.store.obs import Endpoint

    endpoint = Endpoint(target.obs_endpoint, target.region or "local")
    if scheme == "s3":
        from jumar.cloud.store.s3 import S3Store

        return S3Store(endpoint, pair)
    import importlib.util

    if importlib.util.find_spec("obs") is None and importlib.util.find_spec("boto3") is not None:
        from jumar.cloud.store.s3 import S3Store

        return S3Store(endpoint, pair)
    from jumar.cloud.store.obs import ObsStore

    return ObsStore(endpoint, pair)


def _check_endpoint(url: str) -> None:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost"):
        return
    raise UserError(f"not a safe endpoint for keys: `{url}`", "write `https://…`; plain http is for this machine only")
