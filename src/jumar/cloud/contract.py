"""What a job finds around it on ModelArts, as values: folders, arguments and variables of both contracts.

Version 1: the script gets `s3://` addresses and copies with MoXing. Version 2: the platform has copied already and
passes folders. Sources: opentelekomcloud-docs/modelarts@1ba1873 (develop-modelarts-0104, -1415, modelarts_06_0003) and
Wh1isper/davincirunsdk, read 2026-11-15.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SERVICE_LINE = "[ModelArts Service Log]"
"""What lines of the platform in a log begin with."""


class Channel(NamedTuple):
    """An input or output of a job."""

    name: str
    address: str
    """`/bucket/folder/`."""
    access: str = "parameter"


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


class Job(NamedTuple):
    id: str
    code: str
    """Last name of the code folder."""
    boot: str
    """The boot file, relative to the code folder."""
    parameters: Sequence[tuple[str, str]]
    inputs: Sequence[Channel]
    outputs: Sequence[Channel]
    environments: Mapping[str, str]
    devices: int
    engine: str
    v1: bool
    nodes: int = 1
    node: int = 0
    """Which of them this is."""

    @property
    def layout(self) -> Layout:
        return V1 if self.v1 else V2

    @property
    def instance(self) -> str:
        return f"modelarts-job-{self.id}-worker-{self.node}"

    @property
    def size(self) -> int:
        """Processes of all nodes."""
        return self.devices * self.nodes

    def rank(self, device: int) -> int:
        return self.node * self.devices + device

    def tasks(self) -> list[str]:
        """One for each node."""
        return [f"worker-{node}" for node in range(self.nodes)]

    def hosts(self) -> list[str]:
        """The names of the nodes, by which they find each other."""
        return [f"{self._replace(node=node).instance}.modelarts-job-{self.id}" for node in range(self.nodes)]


def address(node: int) -> str:
    """Where a node of the stand-in is: all of 127.0.0.0/8 is this machine."""
    return f"127.0.0.{1 + node}"


def node_count(body: Mapping[str, Any]) -> int:
    return int(body["spec"]["resource"].get("node_count") or 1)


def read(id_: str, body: Mapping[str, Any], devices: int, v1: bool) -> Job:
    """A job from the body that created it."""
    algorithm = body["algorithm"]
    code = algorithm["code_dir"].rstrip("/")
    boot = algorithm["boot_file"].removeprefix(code).lstrip("/")
    return Job(
        id=id_,
        code=code.rpartition("/")[2],
        boot=boot,
        parameters=[(item["name"], str(item["value"])) for item in algorithm.get("parameters") or ()],
        inputs=[_channel(item) for item in algorithm.get("inputs") or ()],
        outputs=[_channel(item) for item in algorithm.get("outputs") or ()],
        environments=dict(algorithm.get("environments") or {}),
        devices=devices,
        engine=(algorithm.get("engine") or {}).get("engine_version", ""),
        v1=v1,
        nodes=node_count(body),
    )


def arguments(job: Job) -> list[str]:
    """What follows the boot file on its command line: the user's parameters, then the channels."""
    words = [f"--{name}={value}" for name, value in job.parameters]
    for number, channel in enumerate(job.inputs):
        if channel.access == "parameter":
            place = f"s3:/{channel.address}" if job.v1 else job.layout.input(channel.name, number)
            words.append(f"--{channel.name}={place}")
    for number, channel in enumerate(job.outputs):
        if channel.access == "parameter":
            place = f"s3:/{channel.address}" if job.v1 else job.layout.output(channel.name, number) + "/"
            words.append(f"--{channel.name}={place}")
    return words


def node_variables(job: Job) -> dict[str, str]:
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
        "MA_NUM_HOSTS": str(job.nodes),
        "MA_TASK_NAME": "worker",
        "MA_CURRENT_INSTANCE_NAME": job.instance,
        "MA_VJ_NAME": f"ma-job-{job.id}",
        "MA_ENGINE_VERSION": job.engine,
        "MA_INPUTS": json.dumps(_shown(job, job.inputs, layout.input)),
        "MA_OUTPUTS": json.dumps(_shown(job, job.outputs, layout.output)),
        "VC_TASK_INDEX": str(job.node),
        "VC_WORKER_NUM": str(job.nodes),
        "VC_WORKER_HOSTS": ",".join(job.hosts()),
        "S3_USE_HTTPS": "0",
        "S3_VERIFY_SSL": "0",
        "BATCH_JOB_ID": f"job{job.id[:8]}",
    }
    for channels, place in ((job.inputs, layout.input), (job.outputs, layout.output)):
        for number, channel in enumerate(channels):
            if channel.access == "env":
                values[channel.name] = f"s3:/{channel.address}" if job.v1 else place(channel.name, number)
    return values


def device_variables(job: Job, device: int) -> dict[str, str]:
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
    if "HCCL_CONNECT_TIMEOUT" not in job.environments:
        values["HCCL_CONNECT_TIMEOUT"] = "1800"
    return values


def platform_table(job: Job) -> dict[str, Any]:
    """The rank table that the platform itself writes to /user/config."""
    instances = [
        {
            "pod_name": f"job{job.id[:8]}-{node}",
            "server_id": address(node),
            "devices": [
                {"device_id": str(one), "device_ip": f"192.168.{100 + node}.{101 + one}"} for one in range(job.devices)
            ],
        }
        for node in range(job.nodes)
    ]
    group = {
        "group_name": "job-trainjob",
        "device_count": str(job.size),
        "instance_count": str(job.nodes),
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


def rank_log(job: Job, device: int) -> str:
    """The name of a process's log file."""
    return f"modelarts-job-{job.id}-proc-rank-{job.rank(device)}-device-{device}.txt"


def _channel(item: Mapping[str, Any]) -> Channel:
    return Channel(item["name"], item["remote"]["obs"]["obs_url"], item.get("access_method") or "parameter")


def _shown(job: Job, channels: Sequence[Channel], place: Any) -> list[dict[str, Any]]:
    return [{"parameter": {"name": channel.name, "value": place(channel.name, number)}, "obs_path": channel.address}
            for number, channel in enumerate(channels)]  # fmt: skip
