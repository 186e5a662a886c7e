"""Reads a rank table in any layout; other files are an error; `check` finds what is wrong inside a table."""

from __future__ import annotations

from typing import Any

from jumar.core.errors import UserError
from jumar.core.read import decoded
from jumar.launch.ranktable.table import Device, RankTable, Server

_KNOWN = {"device_id", "device_ip", "rank_id"}
HINT = "`jumar ranktable make` makes one; docs/guides/rank-tables.md shows the layouts"


def read(text: str, name: str) -> RankTable:
    """The table in a file's text."""
    try:
        root = decoded(text)
    except ValueError as error:
        raise UserError(f"`{name}` is not JSON: {error}", HINT) from error
    if not isinstance(root, dict):
        raise UserError(f"`{name}` is not a rank table: its top level is not an object", HINT)
    if "group_list" in root:
        return _groups(root)
    if "rank_list" in root:
        return _ranks(root)
    if "server_list" in root:
        return _servers(root)
    if "peer_list" in root:
        raise UserError(f"`{name}` describes the links of a machine, it is not the rank table beside it", HINT)
    raise UserError(f"`{name}` is not a rank table: no server_list, rank_list or group_list", HINT)


def _servers(root: dict[str, Any]) -> RankTable:
    pods: dict[str, str] = {}
    for pod in _rows(root, "super_pod_list"):
        pods |= {str(one.get("server_id", "")): str(pod.get("super_pod_id", "")) for one in _rows(pod, "server_list")}
    servers = []
    for row in _rows(root, "server_list"):
        name = str(row.get("server_id", ""))
        devices = tuple(_device(one) for one in _rows(row, "device"))
        servers.append(Server(name, devices, str(row.get("host_ip", "")), pods.get(name, "")))
    return RankTable(str(root.get("version", "")), tuple(servers), _status(root), _said(root, "server_count"))


def _groups(root: dict[str, Any]) -> RankTable:
    servers, said = [], _said(root, "group_count")
    for group in _rows(root, "group_list"):
        said |= _said(group, "instance_count", "device_count")
        for row in _rows(group, "instance_list"):
            devices = tuple(_device(one) for one in _rows(row, "devices"))
            servers.append(Server(str(row.get("server_id", "")), devices, pod=str(row.get("pod_name", ""))))
    return RankTable("modelarts", tuple(servers), _status(root), said)


def _ranks(root: dict[str, Any]) -> RankTable:
    """2.0 has no servers: ranks of one machine share their innermost network."""
    servers: dict[str, list[Device]] = {}
    for row in _rows(root, "rank_list"):
        levels = _rows(row, "level_list")
        inner = min(levels, key=lambda one: _number(one.get("net_layer")) or 0, default={})
        outer = max(levels, key=lambda one: _number(one.get("net_layer")) or 0, default={})
        addresses = [str(one.get("addr", "")) for one in _rows(outer, "rank_addr_list")]
        more = {key: value for key, value in row.items() if key not in ("rank_id", "device_id")}
        device = Device(_number(row.get("device_id")), (addresses or [""])[0], _number(row.get("rank_id")), more)
        servers.setdefault(str(inner.get("net_instance_id", "")), []).append(device)
    found = tuple(Server(name, tuple(devices)) for name, devices in servers.items())
    return RankTable("2.0", found, _status(root), _said(root, "rank_count"))


def _device(row: dict[str, Any]) -> Device:
    more = {key: value for key, value in row.items() if key not in _KNOWN}
    return Device(_number(row.get("device_id")), str(row.get("device_ip", "")), _number(row.get("rank_id")), more)


def _rows(owner: dict[str, Any], key: str) -> list[dict[str, Any]]:
    rows = owner.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() else None


def _status(root: dict[str, Any]) -> str:
    return str(root.get("status", ""))


def _said(owner: dict[str, Any], *keys: str) -> dict[str, object]:
    return {key: owner[key] for key in keys if key in owner}
