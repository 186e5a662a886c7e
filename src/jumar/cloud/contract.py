"""What a job finds around it on ModelArts, as values: folders, arguments and variables of both contracts.

Version 1: the script gets `s3://` addresses and copies with MoXing. Version 2: the platform has copied already and
passes folders. Sources: opentelekomcloud-docs/modelarts@1ba1873 (develop-modelarts-0104, -1415, modelarts_06_0003) and
Wh1isper/davincirunsdk, read 2026-11-15.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jumar.cloud.address import platform_form
from jumar.cloud.job import Access, Channel, JobSpec

SERVICE_LINE = "[ModelArts Service Log]"
"""What lines of the platform in a log begin with."""


class Layout(NamedTuple):
    """Folders inside the container."""

    home: str
    mount: str
    jobs: str

    @property
    def log(self) -> str:
        return f"{self.mount}/log"

    @property
    def rank_table(self) -> str:
        return f"{self.home}/rank_table/jobstart_hccl.json"

    def input(self, name: str, number: int) -> str:
        return f"{self.mount}/inputs/{name}_{number}"

    def output(self, name: str, number: int) -> str:
        return f"{self.mount}/outputs/{name}_{number}"

    def workspace(self, device: int) -> str:
        return f"{self.mount}/workspace/device{device}"


V1 = Layout("/home/work", "/home/work", "/home/work/user-job-dir")
V2 = Layout("/home/ma-user", "/home/ma-user/modelarts", "/home/ma-user/modelarts/user-job-dir")
CACHE = "/cache"
CONFIG = "/user/config"
PRIVATE = (CACHE, "/home/ma-user", "/home/work", CONFIG)
"""Folders that a job has for itself."""


class NodeJob(NamedTuple):
    """A job as one of its nodes sees it."""

    id: str
    spec: JobSpec
    devices: int
    """Of each node."""
    v1: bool
    node: int = 0

    @property
    def code(self) -> str:
        """Last name of the code folder."""
        return self.spec.code.key.rstrip("/").rpartition("/")[2] if self.spec.code else ""

    @property
    def layout(self) -> Layout:
        return V1 if self.v1 else V2

    @property
    def instance(self) -> str:
        return f"modelarts-job-{self.id}-worker-{self.node}"

    @property
    def size(self) -> int:
        """Processes of all nodes."""
        return self.devices * self.spec.nodes

    def rank(self, device: int) -> int:
        return self.node * self.devices + device

    def hosts(self) -> list[str]:
        """The names of the nodes, by which they find each other."""
        return [f"{self._replace(node=node).instance}.modelarts-job-{self.id}" for node in range(self.spec.nodes)]


def address(node: int) -> str:
    """Where a node of the stand-in is: all of 127.0.0.0/8 is this machine."""
    return f"127.0.0.{1 + node}"


def tasks(spec: JobSpec) -> tuple[str, ...]:
    """One for each node."""
    return tuple(f"worker-{node}" for node in range(spec.nodes))


def local_folders(spec: JobSpec, v1: bool) -> JobSpec:
    """The same with the folders that inputs and outputs have in the container."""
    layout = V1 if v1 else V2
    return spec._replace(
        inputs=tuple(one._replace(local=layout.input(one.name, number)) for number, one in enumerate(spec.inputs)),
        outputs=tuple(one._replace(local=layout.output(one.name, number)) for number, one in enumerate(spec.outputs)),
    )


def mark(id_: str) -> tuple[str, str]:
    """A variable with its value that all processes of a job have, and no others."""
    return "MA_VJ_NAME", f"ma-job-{id_}"


def arguments(job: NodeJob) -> list[str]:
    """What follows the boot file on its command line: the user's parameters, then the channels."""
    words = [f"--{name}={value}" for name, value in job.spec.parameters]
    for channels, end in ((job.spec.inputs, ""), (job.spec.outputs, "/")):
        for channel in channels:
            if channel.access is Access.PARAMETER:
                words.append(f"--{channel.name}={_s3(channel) if job.v1 else channel.local + end}")
    return words


def node_variables(job: NodeJob) -> dict[str, str]:
    """Variables that all processes of the node have."""
    layout = job.layout
    values = {
        "MA_HOME": layout.home,
        "MA_JOB_DIR": layout.jobs,
        "MA_MOUNT_PATH": layout.mount,
        "MA_LOG_DIR": layout.log,
        "MA_CURRENT_IP": address(job.node),
        "MA_CURRENT_HOST_IP": address(job.node),
        "MA_NUM_GPUS": str(job.devices),
        "MA_NUM_HOSTS": str(job.spec.nodes),
        "MA_TASK_NAME": "worker",
        "MA_CURRENT_INSTANCE_NAME": job.instance,
        **dict([mark(job.id)]),
        "MA_ENGINE_VERSION": job.spec.engine,
        "MA_INPUTS": json.dumps(_shown(job.spec.inputs)),
        "MA_OUTPUTS": json.dumps(_shown(job.spec.outputs)),
        "VC_TASK_INDEX": str(job.node),
        "VC_WORKER_NUM": str(job.spec.nodes),
        "VC_WORKER_HOSTS": ",".join(job.hosts()),
        "S3_USE_HTTPS": "0",
        "S3_VERIFY_SSL": "0",
        "BATCH_JOB_ID": f"job{job.id[:8]}",
    }
    for channel in (*job.spec.inputs, *job.spec.outputs):
        if channel.access is Access.ENV:
            values[channel.name] = _s3(channel) if job.v1 else channel.local
    return values


def device_variables(job: NodeJob, device: int) -> dict[str, str]:
    """Variables of the process of one device; there is no DEVICE_NUM on the platform either."""
    values = {
        "JOB_ID": job.id,
        "DEVICE_ID": str(device),
        "ASCEND_DEVICE_ID": str(device),
        "RANK_ID": str(job.rank(device)),
        "RANK_SIZE": str(job.size),
        "RANK_TABLE_FILE": job.layout.rank_table,
        "ASCEND_PROCESS_LOG_PATH": f"{job.layout.log}/{job.id}/ascend/process_log/rank_{job.rank(device)}",
    }
    if "HCCL_CONNECT_TIMEOUT" not in dict(job.spec.environment):
        values["HCCL_CONNECT_TIMEOUT"] = "1800"
    return values


def platform_table(job: NodeJob) -> dict[str, Any]:
    """The rank table that the platform itself writes to /user/config."""
    instances = [
        {
            "pod_name": f"job{job.id[:8]}-{node}",
            "server_id": address(node),
            "devices": [
                {"device_id": str(one), "device_ip": f"192.168.{100 + node}.{101 + one}"} for one in range(job.devices)
            ],
        }
        for node in range(job.spec.nodes)
    ]
    group = {
        "group_name": "job-trainjob",
        "device_count": str(job.size),
        "instance_count": str(job.spec.nodes),
        "instance_list": instances,
    }
    return {"status": "completed", "group_count": "1", "group_list": [group]}


def rank_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table that HCCL reads, from the platform's: servers in the order of their pods, ranks numbered through."""
    instances = [one for group in table["group_list"] for one in group["instance_list"]]
    instances.sort(key=lambda one: int(one["pod_name"].rpartition("-")[2]))
    servers, rank = [], 0
    for instance in instances:
        devices = []
        for device in instance["devices"]:
            devices.append({**device, "rank_id": str(rank)})
            rank += 1
        servers.append({"server_id": instance["server_id"], "device": devices})
    return {"status": "completed", "version": "1.0", "server_count": str(len(servers)), "server_list": servers}


def rank_log(job: NodeJob, device: int) -> str:
    """The name of a process's log file."""
    return f"modelarts-job-{job.id}-proc-rank-{job.rank(device)}-device-{device}.txt"


def _s3(channel: Channel) -> str:
    return f"s3:/{platform_form(channel.place)}"


def _shown(channels: Sequence[Channel]) -> list[dict[str, Any]]:
    return [
        {"parameter": {"name": one.name, "value": one.local}, "obs_path": platform_form(one.place)} for one in channels
    ]
