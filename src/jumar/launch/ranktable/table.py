"""A rank table as one value, independent of its layout.

Layouts: hicann/hccl docs/zh/user_guide/cluster_info_config (1.0 for 910, A2 and 300I Duo, the template with groups
that ModelArts and Kubernetes use, 1.2 for A3, 2.0 for 950), read 2026-11-15.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LAYOUTS = ("1.0", "1.2", "2.0", "modelarts")


@dataclass(frozen=True)
class Device:
    """A card; what a file leaves out is None or empty."""

    device_id: int | None
    address: str = ""
    rank: int | None = None
    more: dict[str, object] = field(default_factory=dict)
    """Other entries of it as they stand in the file (ports, super_device_id, level_list)."""


@dataclass(frozen=True)
class Server:
    name: str
    devices: tuple[Device, ...]
    host: str = ""
    """Its own address, in 1.2."""
    pod: str = ""
    """Name of the pod in the template, or the super pod in 1.2."""


@dataclass(frozen=True)
class RankTable:
    layout: str
    servers: tuple[Server, ...]
    status: str = "completed"
    said: dict[str, object] = field(default_factory=dict)
    """Counts as the file has them, to be compared with what is there."""

    @property
    def devices(self) -> list[tuple[Server, Device]]:
        return [(server, device) for server in self.servers for device in server.devices]
