"""Writes a rank table in a layout, from another layout, hccn.conf or a list of hosts."""

from __future__ import annotations

import json
from typing import Any

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.launch.ranktable.table import LAYOUTS, Device, RankTable, Server

GROUP = "hccl_world_group"
_PORTS = ("device_port", "backup_device_ip", "backup_device_port", "host_port")


def layout(name: str) -> str:
    """The layout for a user's spelling of it."""
    if name not in LAYOUTS:
        listed = ", ".join(f"`{one}`" for one in LAYOUTS)
        raise UserError(f"no such layout: `{name}`", did_you_mean(name, LAYOUTS, f"these are: {listed}"))
    return name


def render(table: RankTable, to: str) -> str:
    """The table as JSON in this layout; ranks follow the order of servers and devices where there are none."""
    numbered = _numbered(table)
    made = {"1.0": _servers, "1.2": _pods, "2.0": _ranks, "modelarts": _groups}[layout(to)](numbered)
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _numbered(table: RankTable) -> RankTable:
    if all(device.rank is not None for _, device in table.devices):
        return table
    servers, rank = [], 0
    for server in table.servers:
        devices = []
        for device in server.devices:
            devices.append(Device(device.device_id, device.address, rank, device.more))
            rank += 1
        servers.append(Server(server.name, tuple(devices), server.host, server.pod))
    return RankTable(table.layout, tuple(servers), table.status)


def _servers(table: RankTable) -> dict[str, Any]:
    rows = [
        {"server_id": server.name, "device": [_device(device, ("device_port",)) for device in server.devices]}
        for server in table.servers
    ]
    return {"status": "completed", "version": "1.0", "server_count": str(len(rows)), "server_list": rows}


def _pods(table: RankTable) -> dict[str, Any]:
    """A super pod for each that the table knows; all servers in one where it knows none."""
    rows: list[dict[str, Any]] = []
    pods: dict[str, list[dict[str, str]]] = {}
    next_id: dict[str, int] = {}
    for server in table.servers:
        pod = server.pod if server.pod.isdecimal() else "0"
        pods.setdefault(pod, []).append({"server_id": server.name})
        devices = []
        for device in server.devices:
            row = _device(device, _PORTS)
            row["super_device_id"] = str(device.more.get("super_device_id", next_id.get(pod, 0)))
            next_id[pod] = next_id.get(pod, 0) + 1
            devices.append(row)
        rows.append({"server_id": server.name, **({"host_ip": server.host} if server.host else {}), "device": devices})
    listed = [{"super_pod_id": pod, "server_list": inside} for pod, inside in pods.items()]
    head = {"status": "completed", "version": "1.2", "server_count": str(len(rows))}
    return {**head, "server_list": rows, "super_pod_list": listed}


def _ranks(table: RankTable) -> dict[str, Any]:
    """Ports and planes are no part of the older layouts; the topology file of the machine has them."""
    rows = []
    for server in table.servers:
        for place, device in enumerate(server.devices):
            more = {key: value for key, value in device.more.items() if key in ("local_id", "device_port", "host_port")}
            levels = device.more.get("level_list") or _levels(server, device)
            row = {"rank_id": device.rank, "local_id": place, "device_id": device.device_id, **more}
            rows.append({key: _as_number(value) for key, value in row.items()} | {"level_list": levels})
    rows.sort(key=lambda row: int(str(row["rank_id"])))
    return {"status": "completed", "version": "2.0", "rank_count": len(rows), "rank_list": rows}


def _levels(server: Server, device: Device) -> list[dict[str, Any]]:
    kind = "IPV6" if ":" in device.address else "IPV4"
    addresses = [{"addr_type": kind, "addr": device.address}] if device.address else []
    inside = {"net_layer": 0, "net_instance_id": server.name, "net_type": "TOPO_FILE_DESC", "net_attr": ""}
    outside = {"net_layer": 1, "net_instance_id": "az0", "net_type": "CLOS", "net_attr": ""}
    return [{**inside, "rank_addr_list": addresses}, {**outside, "rank_addr_list": addresses}]


def _groups(table: RankTable) -> dict[str, Any]:
    rows = [
        {"pod_name": server.pod if not server.pod.isdecimal() and server.pod else f"worker-{place}",
         "server_id": server.name,
         "devices": [_plain(device) for device in server.devices]}
        for place, server in enumerate(table.servers)
    ]  # fmt: skip
    count = str(len(table.devices))
    group = {"group_name": GROUP, "instance_count": str(len(rows)), "device_count": count, "instance_list": rows}
    return {"status": "completed", "group_count": "1", "group_list": [group]}


def _plain(device: Device) -> dict[str, Any]:
    return {"device_id": str(device.device_id), **({"device_ip": device.address} if device.address else {})}


def _device(device: Device, kept: tuple[str, ...]) -> dict[str, Any]:
    more = {key: str(device.more[key]) for key in kept if key in device.more}
    return {**_plain(device), **more, "rank_id": str(device.rank)}


def _as_number(value: Any) -> Any:
    return int(value) if str(value).isdecimal() else value
