"""GPUs asked from Kubernetes, Docker Compose or a cloud: `nvidia.com/gpu: 1`, `driver: nvidia`, `runtime: nvidia`."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.entry import ConfigEntry
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="YM103",
    name="gpu-resource",
    summary="GPUs requested from a cluster or a container engine",
    keywords=("nvidia", "gpu"),
    safety=Safety.SHOW,
)
_KUBERNETES = (
    "the NPU device plug-in calls cards `huawei.com/Ascend910` (or `huawei.com/Ascend310P`): "
    "write that name and their number"
)
_COMPOSE = (
    "list the NPUs under `devices:` (`/dev/davinci0`, `/dev/davinci_manager`, `/dev/devmm_svm`, `/dev/hisi_hdc`), "
    "or use `runtime: ascend`"
)


def visit_entry(entry: ConfigEntry, file: TextFile) -> Iterator[Finding]:
    at = (min(entry.key_start, entry.start), max(entry.end, entry.key_end))
    key = entry.key.lower()
    if key.startswith("nvidia.com/") or entry.value.startswith("nvidia.com/"):
        yield file.report(
            RULE, at, State.HAND, f"`{entry.key or entry.value}` names NVIDIA cards of a cluster", _KUBERNETES
        )
    elif key in ("driver", "runtime", "runtimeclassname", "default-runtime") and entry.value.lower() == "nvidia":
        yield file.report(RULE, at, State.HAND, f"`{entry.key}: nvidia` gives GPUs to a container", _COMPOSE)
    elif key == "capabilities" and entry.value.lower() in ("gpu", "nvidia"):
        yield file.report(RULE, at, State.HAND, "`capabilities` asks for a GPU", _COMPOSE)
