"""What is wrong with a rank table."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterator

from jumar.core.finding import Finding, Level, Where
from jumar.launch.ranktable.table import LAYOUTS, RankTable

DOC = "docs/findings/launch.md"


def check(table: RankTable, path: str) -> list[Finding]:
    """Every fault, errors first; none for a table that HCCL accepts."""
    found = [*_shape(table), *_ranks(table), *_devices(table), *_addresses(table), *_counts(table)]
    where = Where(path)
    rows = [Finding(id=name, level=level, message=message, where=where, doc=DOC) for name, level, message in found]
    return sorted(rows, key=lambda row: row.level is not Level.ERROR)


Row = tuple[str, Level, str]


def _shape(table: RankTable) -> Iterator[Row]:
    if table.layout not in LAYOUTS:
        yield "LN101", Level.ERROR, f"version is `{table.layout}`, not 1.0, 1.2 or 2.0"
    if table.status and table.status != "completed":
        yield "LN102", Level.ERROR, f"status is `{table.status}`, not `completed`: it is not filled in yet"
    if not table.devices:
        yield "LN103", Level.ERROR, "it has no device"
    for name, times in Counter(server.name for server in table.servers).items():
        if times > 1 and table.layout != "modelarts":
            yield "LN104", Level.ERROR, f"server `{name}` appears {times} times"
        if not name:
            yield "LN104", Level.ERROR, "a server has no name"


def _ranks(table: RankTable) -> Iterator[Row]:
    if table.layout == "modelarts":
        return
    ranks = [device.rank for _, device in table.devices]
    if None in ranks:
        yield "LN105", Level.ERROR, f"{ranks.count(None)} of {len(ranks)} devices have no rank_id"
    known = Counter(rank for rank in ranks if rank is not None)
    for rank, times in sorted(known.items()):
        if times > 1:
            yield "LN106", Level.ERROR, f"rank {rank} appears {times} times"
    missing = [rank for rank in range(len(ranks)) if rank not in known]
    if known and missing and None not in ranks and max(known.values()) == 1:
        listed = ", ".join(map(str, missing[:8]))
        yield "LN107", Level.ERROR, f"ranks are not contiguous: {len(ranks)} devices, and no rank {listed}"


def _devices(table: RankTable) -> Iterator[Row]:
    for server in table.servers:
        ids = [device.device_id for device in server.devices]
        if None in ids:
            yield "LN108", Level.ERROR, f"server `{server.name}`: a device has no device_id"
        for number, times in Counter(ids).items():
            if number is not None and times > 1:
                yield "LN109", Level.ERROR, f"server `{server.name}`: device {number} appears {times} times"


def _addresses(table: RankTable) -> Iterator[Row]:
    several = len(table.servers) > 1
    owners: dict[str, str] = {}
    for server, device in table.devices:
        who = f"device {device.device_id} of `{server.name}`"
        if not device.address:
            level = Level.ERROR if several else Level.WARNING
            yield "LN110", level, f"{who} has no device_ip{'' if several else ', which a single machine does not need'}"
            continue
        try:
            ipaddress.ip_address(device.address)
        except ValueError:
            yield "LN111", Level.ERROR, f"{who}: `{device.address}` is not an address"
            continue
        if device.address in owners:
            yield "LN112", Level.ERROR, f"{who} and {owners[device.address]} have the same address {device.address}"
        owners[device.address] = who


def _counts(table: RankTable) -> Iterator[Row]:
    there = {
        "server_count": len(table.servers),
        "instance_count": len(table.servers),
        "rank_count": len(table.devices),
        "device_count": len(table.devices),
    }
    for key, said in table.said.items():
        if key in there and str(said) != str(there[key]):
            yield "LN113", Level.ERROR, f"{key} is {said}, but there are {there[key]}"
