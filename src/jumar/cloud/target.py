"""The target: the local stand-in, Huawei Cloud, or your own endpoints; read from `jumar.toml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jumar.cloud import credentials, hosts
from jumar.cloud.store import Store
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.runtime import keys, settings
from jumar.runtime.keys import Access, Key, Schema

LOCAL = "local"
HUAWEICLOUD = "huaweicloud"
USUAL_HOURS = 4
"""That a project may ask for; what a job gets that asks for nothing."""
UNLESS_OF_ENDPOINT_KEYS = "a host outside Huawei Cloud: only in your own file"
UNLESS_OF_PATH_KEYS = "a path out of the project needs trust"
TARGET_KEYS: dict[str, Key] = {
    "region": Key((str,), "region, such as `cn-north-4`", Access.PROJECT),
    "project_id": Key((str,), "project id in that region", Access.PROJECT),
    "obs_endpoint": Key(
        (str,), "address of OBS", Access.TRUSTED, never_if=hosts.is_foreign, unless=UNLESS_OF_ENDPOINT_KEYS
    ),
    "modelarts_endpoint": Key(
        (str,), "address of ModelArts", Access.TRUSTED, never_if=hosts.is_foreign, unless=UNLESS_OF_ENDPOINT_KEYS
    ),
    "iam_endpoint": Key(
        (str,), "address of IAM", Access.TRUSTED, never_if=hosts.is_foreign, unless=UNLESS_OF_ENDPOINT_KEYS
    ),
    "api": Key((str,), "version of the training interface: `v2`, or `v1` in old regions", Access.PROJECT),
}
"""Keys of `[cloud.targets.NAME]`."""
KEYS: dict[str, Key] = {
    "target": Key(
        (str,),
        "target: `local`, `huaweicloud` or one of `[cloud.targets]`",
        Access.PROJECT,
        except_if=lambda value, folder: value != LOCAL,
        unless="any target but `local` needs trust",
    ),
    "bucket": Key((str,), "bucket for code, data and results", Access.TRUSTED),
    "code": Key(
        (str,),
        "code folder, relative to this file",
        Access.PROJECT,
        except_if=keys.leads_outside,
        unless=UNLESS_OF_PATH_KEYS,
    ),
    "boot": Key(
        (str,),
        "script to start, relative to the code folder",
        Access.PROJECT,
        except_if=keys.leads_outside,
        unless=UNLESS_OF_PATH_KEYS,
    ),
    "data": Key(
        (str, list),
        "inputs, as `--data` takes them; folders relative to this file",
        Access.PROJECT,
        except_if=keys.input_leads_outside,
        unless="a path out of the project and an `obs://` address need trust",
    ),
    "devices": Key((int,), "number of devices: 1, 2, 4 or 8", Access.PROJECT),
    "nodes": Key(
        (int,),
        "machines with that many devices each",
        Access.PROJECT,
        except_if=lambda value, folder: value != 1,
        unless="more than one machine needs trust",
    ),
    "param": Key((list,), "arguments of the script, `NAME=VALUE`", Access.PROJECT),
    "env": Key(
        (list,),
        "environment variables, `NAME=VALUE`",
        Access.PROJECT,
        except_if=keys.steers,
        unless="variables of loaders, interpreters, proxies and keys need trust",
    ),
    "engine": Key((str,), "engine version", Access.PROJECT),
    "flavor": Key((str,), "flavour id", Access.TRUSTED),
    "auto_stop": Key(
        (int, float),
        "hours after which the job stops automatically",
        Access.PROJECT,
        except_if=lambda value, folder: not (isinstance(value, (int, float)) and 0 < value <= USUAL_HOURS),
        unless=f"more than {USUAL_HOURS} hours need trust",
    ),
    "contract": Key((str,), "`v2`, or `v1` for scripts that copy with MoXing", Access.PROJECT),
    "on": Key((str,), "`cpu`: MindSpore jobs on this machine run on MindSpore's CPU target", Access.PROJECT),
    "python": Key((str,), "interpreter of jobs on this machine, relative to this file", Access.TRUSTED),
    "price": Key((int, float), "price of an hour, for the cost bound", Access.TRUSTED),
    "name": Key((str,), "name of the job", Access.PROJECT),
    "targets": Key((dict,), "endpoints of your own: `[cloud.targets.NAME]`", Access.PROJECT, below=TARGET_KEYS),
}
"""Keys of `[cloud]`."""
SCHEMA = Schema("cloud", KEYS, has_own_file=True)
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
    """The `[cloud]` table: the project's, above the user's own."""


def home(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the stand-in: its store, jobs and keys."""
    return credentials.standin_home(os.environ if environ is None else environ)


def load_config(start: Path) -> Config:
    """The `[cloud]` table of the nearest `jumar.toml` at or above a folder, above that of the user's own file."""
    found = settings.read(settings.find(start), SCHEMA)
    for path, table in ((settings.own_file(), found.own), (found.path, found.values)):
        for key, value in table.items():
            if key not in KEYS:
                hint = did_you_mean(key, KEYS, f"known keys: {', '.join(KEYS)}")
                raise UserError(f"`{path}`: unknown key `{key}` in `[cloud]`", hint)
            kinds = KEYS[key].kinds
            if not isinstance(value, kinds) or isinstance(value, bool) or not _is_of_strings(value):
                raise UserError(f"`{path}`: `{key}` in `[cloud]` is not {_WORDS[kinds[0]]}")
        _check_targets(path, table.get("targets", {}))
    own = {key: _absolute(value) if key in ("code", "data", "python") else value for key, value in found.own.items()}
    return Config(found.path, found._replace(own=own).merged)


def _is_of_strings(value: object) -> bool:
    return not isinstance(value, list) or all(isinstance(one, str) for one in value)


def _absolute(value: Any) -> Any:
    """Paths of the user's own file are relative to that file; the name of a command is none."""
    if isinstance(value, list):
        return [_absolute(one) for one in value]
    is_path = os.sep in value and "://" not in value and "=" not in value
    return str(settings.own_file().parent / Path(value).expanduser()) if is_path else value


def _check_targets(path: Path | None, tables: Mapping[str, Any]) -> None:
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UserError(f"`{path}`: `{name}` in `[cloud.targets]` is not a table")
        for key, value in table.items():
            if key not in TARGET_KEYS:
                hint = did_you_mean(key, TARGET_KEYS, f"known keys: {', '.join(TARGET_KEYS)}")
                raise UserError(f"`{path}`: unknown key `{key}` in `[cloud.targets.{name}]`", hint)
            if not isinstance(value, str):
                raise UserError(f"`{path}`: `{key}` in `[cloud.targets.{name}]` is not a string")
        if table.get("api", "v2") not in ("v1", "v2"):
            raise UserError(f"`{path}`: `api` in `[cloud.targets.{name}]` is `v1` or `v2`")


def find(name: str | None, config: Config, environ: Mapping[str, str] | None = None) -> Target:
    """A target by name: what the file says about it, and what is known by itself."""
    values = os.environ if environ is None else environ
    wanted = name or config.table.get("target") or LOCAL
    tables = config.table.get("targets", {})
    known = [LOCAL, HUAWEICLOUD, *tables]
    if wanted not in known:
        raise UserError(f"no such target: `{wanted}`", did_you_mean(str(wanted), known, f"known: {', '.join(known)}"))
    if wanted == LOCAL:
        return Target(LOCAL, "local", "0" * 32)
    table = dict(tables.get(wanted, {}))
    region = table.get("region") or values.get("HUAWEICLOUD_SDK_REGION") or values.get("HW_REGION_NAME") or ""
    if region and not hosts.REGION.fullmatch(region):
        raise UserError(f"not a region: `{region}`", "write it as `cn-north-4`")
    if wanted == HUAWEICLOUD and region:
        table.setdefault("obs_endpoint", f"https://obs.{region}.myhuaweicloud.com")
        table.setdefault("modelarts_endpoint", f"https://modelarts.{region}.myhuaweicloud.com")
    table["region"] = region
    table.setdefault("project_id", values.get("HUAWEICLOUD_SDK_PROJECT_ID") or values.get("HW_PROJECT_ID") or "")
    if not hosts.PROJECT_ID.fullmatch(table["project_id"]):
        raise UserError(f"not a project id: `{table['project_id']}`", "the console shows it below your name")
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
    pair = credentials.find(target.name, target.obs_endpoint, environ, s3=scheme == "s3")
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
