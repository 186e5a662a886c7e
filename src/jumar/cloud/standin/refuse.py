"""What the platform refuses of a job, with its limits; what would lead out of the job's folders is refused too.

Limits: huaweicloudsdkmodelarts 3.1, the descriptions of its model classes, read 2026-11-17.
"""

from __future__ import annotations

import re

from jumar.cloud import catalogue
from jumar.cloud.job import Fault, JobSpec, Refused

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Of an input, output or parameter: it becomes an argument, and of the first two a folder."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check(spec: JobSpec) -> None:
    """Refuse what the platform refuses."""
    limits = catalogue.limits()
    if not re.fullmatch(limits["name"], spec.name):
        raise Refused(Fault.BAD_NAME, f"not a job name: {spec.name}")
    if len(spec.description) > limits["description"]:
        raise Refused(Fault.BAD_REQUEST, f"the description is longer than {limits['description']} characters")
    if spec.flavor not in catalogue.flavors():
        raise Refused(Fault.NO_SUCH_FLAVOR, f"no such flavor: {spec.flavor}")
    if spec.engine not in catalogue.engines():
        raise Refused(Fault.NO_SUCH_ENGINE, f"no such engine: {spec.engine or 'none is named'}")
    if not 1 <= spec.nodes <= limits["standin_nodes"]:
        raise Refused(Fault.NO_SUCH_FLAVOR, f"the stand-in has {limits['standin_nodes']} nodes: take fewer")
    _check_code(spec)
    _check_arguments(spec)
    _check_environment(spec)


def _check_code(spec: JobSpec) -> None:
    if spec.code is None or not spec.boot:
        raise Refused(Fault.NO_ALGORITHM, "algorithm not found: code_dir and boot_file are needed")
    names = [*spec.code.folder_key.rstrip("/").split("/"), *spec.boot.split("/")]
    if any(name in ("", ".", "..") or "\0" in name for name in names) or not spec.boot.endswith(".py"):
        raise Refused(Fault.NO_ALGORITHM, "the boot file is not a Python script below the code folder")


def _check_arguments(spec: JobSpec) -> None:
    channels = [channel.name for channel in (*spec.inputs, *spec.outputs)]
    for name in (*channels, *(name for name, _ in spec.parameters)):
        if not _NAME.fullmatch(name):
            raise Refused(Fault.BAD_REQUEST, f"not the name of a parameter: {name or 'it is empty'}")
    for name in channels:
        if channels.count(name) > 1:
            raise Refused(Fault.BAD_REQUEST, f"two inputs or outputs are called {name}")
    for name, value in spec.parameters:
        if "\0" in value:
            raise Refused(Fault.BAD_REQUEST, f"the parameter {name} holds a NUL character")


def _check_environment(spec: JobSpec) -> None:
    limits = catalogue.limits()
    for key, value in spec.environment:
        if not _VARIABLE.fullmatch(key) or len(key) > limits["variable_name"]:
            raise Refused(Fault.BAD_ENVIRONMENT, f"not the name of an environment variable: {key[:80]}")
        if key.startswith("MA_") and key != "MA_RUN_METHOD":
            raise Refused(Fault.BAD_ENVIRONMENT, f"environment variables must not begin with MA_: {key}")
        if "$" in value or "\0" in value:
            raise Refused(Fault.BAD_ENVIRONMENT, f"environment values must not contain $: {key}")
        if len(value) > limits["variable_value"]:
            raise Refused(Fault.BAD_ENVIRONMENT, f"the value is longer than {limits['variable_value']}: {key}")
    if len(spec.environment) > limits["environments"]:
        raise Refused(Fault.BAD_ENVIRONMENT, f"more than {limits['environments']} environment variables")
