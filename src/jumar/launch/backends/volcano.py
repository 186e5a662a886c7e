"""Volcano on Kubernetes: the Job manifest with the names of Ascend's device plugin, and the ConfigMap for hccl.json.

Fields: data/volcano.toml, from Volcano's published schema. Never tried on a cluster with NPUs.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.launch import submission
from jumar.launch.job import DEFAULT_PORT, Job
from jumar.launch.submission import Submission
from jumar.runtime import tools
from jumar.tables.load import table

SETTINGS = {
    "accelerator": "the label accelerator-type of the machines, such as module-910b-8",
    "arch": "huawei-arm (the default) or huawei-x86",
    "chip": "910, 910b (the default) or 310p",
    "claim": "a PersistentVolumeClaim with code and data, mounted at the current folder",
    "image": "the container image; required",
    "namespace": "the namespace; default `default`",
    "python": "Python in the image; default python3",
    "queue": "the queue; default `default`",
}
CONFIG = "/user/serverid/devindex/config"
"""Where Ascend's controller expects hccl.json to be mounted."""
TASK = "worker"


def build(job: Job) -> Submission:
    """The manifest and the command that applies it."""
    submission.check_settings(job.settings, SETTINGS, "Volcano")
    path = f"{job.logs}/job.yaml"
    space = job.settings.get("namespace", "default")
    documents = [config_map(job), manifest(job)]
    check(documents[1])
    names = ("--namespace", space)
    return Submission(
        engine="volcano",
        files=((path, "---\n".join(render(document) for document in documents)),),
        commands=(("kubectl", "apply", *names, "--filename", path),),
        after=(
            ("status", ("kubectl", "get", "vcjob", "JOB", *names)),
            ("log", ("kubectl", "logs", f"JOB-{TASK}-0", *names)),
            ("cancel", ("kubectl", "delete", "vcjob/JOB", "configmap/rings-config-JOB", *names)),
        ),
    )


def config_map(job: Job) -> dict[str, Any]:
    """Filled in by Ascend's controller when the pods have their cards."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(job, f"rings-config-{job.name}"),
        "data": {"hccl.json": '{"status": "initializing"}'},
    }


def manifest(job: Job) -> dict[str, Any]:
    """The Job: one pod per machine, all of them or none."""
    action = "RestartJob" if job.restarts else "AbortJob"
    return {
        "apiVersion": table("volcano.toml")["api"],
        "kind": "Job",
        "metadata": _metadata(job, job.name),
        "spec": {
            "minAvailable": job.count,
            "schedulerName": "volcano",
            "queue": job.settings.get("queue", "default"),
            "maxRetry": job.restarts,
            "plugins": {"env": [], "svc": ["--publish-not-ready-addresses=true"]},
            "policies": [
                {"event": "PodEvicted", "action": "RestartJob"},
                {"event": "PodFailed", "action": action},
                {"event": "TaskCompleted", "action": "CompleteJob"},
            ],
            "tasks": [{"name": TASK, "replicas": job.count, "template": _pod(job)}],
        },
    }


def check(document: dict[str, Any]) -> None:
    """Refuse a Job that the published schema would refuse."""
    facts = table("volcano.toml")
    spec = document["spec"]
    named = {
        "job": document["metadata"]["name"],
        "queue": spec["queue"],
        "task": spec["tasks"][0]["name"],
    }
    for kind, name in named.items():
        if not re.fullmatch(facts["names"][kind], name) or len(name) > facts["limits"][kind]:
            raise UserError(
                f"`{name}` cannot be the name of a {kind} on Kubernetes",
                f"take lower-case letters, digits and hyphens, at most {facts['limits'][kind]}",
            )
    parts = [
        ("spec", spec),
        *(("task", task) for task in spec["tasks"]),
        *(("policy", one) for one in spec["policies"]),
    ]
    for kind, part in parts:
        unknown = set(part) - set(facts["fields"][kind])
        if unknown:
            raise ValueError(f"{sorted(unknown)} are not fields of a Volcano {kind}")
    for policy in spec["policies"]:
        if policy["action"] not in facts["allowed"]["actions"] or policy["event"] not in facts["allowed"]["events"]:
            raise ValueError(f"{policy} is not a policy of Volcano")


def render(value: Any, depth: int = 0) -> str:
    """YAML of plain values; texts are quoted unless they are surely plain."""
    pad = "  " * depth
    if isinstance(value, dict):
        return "".join(f"{pad}{_scalar(key)}:{_below(one, depth)}" for key, one in value.items())
    return "".join(f"{pad}-{_item(one, depth)}" for one in value)


def submit(plan: Submission, job: Job) -> str:
    """Write the manifest and apply it: the name of the job."""
    submission.write_files(plan)
    tools.must(plan.commands[0])
    return job.name


def ask(word: str, job: str, settings: Mapping[str, str]) -> str:
    """State or log of a job, or cancel it."""
    submission.check_settings(settings, SETTINGS, "Volcano")
    names = ["--namespace", settings.get("namespace", "default")]
    if not re.fullmatch(table("volcano.toml")["names"]["job"], job):
        raise UserError(f"`{job}` is not the name of a Volcano job", "`kubectl get vcjob` lists them")
    words = {
        "status": ["get", "vcjob", job],
        "log": ["logs", f"{job}-{TASK}-0"],
        "cancel": ["delete", f"vcjob/{job}", f"configmap/rings-config-{job}"],
    }
    return tools.must(["kubectl", *words[word], *names]).rstrip("\n")


def _chip(job: Job) -> dict[str, str]:
    chips: dict[str, dict[str, str]] = table("volcano.toml")["chips"]
    name = job.settings.get("chip", "910b").lower()
    if name not in chips:
        raise UserError(f"`--set chip={name}`: not known to the device plugin's list here",
                        did_you_mean(name, chips, f"these are: {', '.join(chips)}"))  # fmt: skip
    return chips[name]


def _metadata(job: Job, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": job.settings.get("namespace", "default"),
        "labels": {"ring-controller.atlas": _chip(job)["label"]},
    }


def _pod(job: Job) -> dict[str, Any]:
    chip = _chip(job)
    if not job.settings.get("image"):
        raise UserError("Volcano needs a container image", "`--set image=NAME:TAG`")
    cards = {chip["resource"]: job.cards}
    mounts = [{"name": "ascend-910-config", "mountPath": CONFIG}, {"name": "shared-memory", "mountPath": "/dev/shm"}]
    volumes: list[dict[str, Any]] = [
        {"name": "ascend-910-config", "configMap": {"name": f"rings-config-{job.name}"}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
    ]
    if "claim" in job.settings:
        mounts.append({"name": "code", "mountPath": job.folder})
        volumes.append({"name": "code", "persistentVolumeClaim": {"claimName": job.settings["claim"]}})
    selector = {"host-arch": job.settings.get("arch", "huawei-arm")}
    if accelerator := job.settings.get("accelerator", chip["accelerator"]):
        selector["accelerator-type"] = accelerator
    visible = {"fieldRef": {"fieldPath": f"metadata.annotations['{chip['resource']}']"}}
    container = {
        "name": "ascend",
        "image": job.settings["image"],
        "imagePullPolicy": "IfNotPresent",
        "workingDir": job.folder,
        "command": ["/bin/bash", "-c", _command(job)],
        "env": [{"name": "ASCEND_VISIBLE_DEVICES", "valueFrom": visible}],
        "resources": {"requests": cards, "limits": cards},
        "volumeMounts": mounts,
    }
    return {
        "metadata": {"labels": {"ring-controller.atlas": chip["label"]}},
        "spec": {
            "nodeSelector": selector,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": job.grace + 10,
            "containers": [container],
            "volumes": volumes,
        },
    }


def _command(job: Job) -> str:
    master = f"${{VC_{TASK.upper()}_HOSTS%%,*}}"
    once = replace(job, restarts=0)  # Volcano itself restarts the job
    each = submission.node_words(once, job.count, "$VC_TASK_INDEX", master, str(job.port or DEFAULT_PORT), job.name)
    each[0] = job.settings.get("python", "python3")
    wait = ""
    if job.rank_table:
        file = f"{CONFIG}/hccl.json"
        each[each.index("--rank-table") + 1] = file
        wait = f"until grep -q completed {file}; do sleep 1; done; "
    return f"{wait}exec {submission.shell(each)} {shlex.join(job.words)}"


def _below(value: Any, depth: int) -> str:
    if isinstance(value, (dict, list)) and value:
        return "\n" + render(value, depth + 1)
    return f" {_scalar(value)}\n"


def _item(value: Any, depth: int) -> str:
    if isinstance(value, dict) and value:
        return " " + render(value, depth + 1).lstrip(" ")
    return f" {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z/][\w./-]*", value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
