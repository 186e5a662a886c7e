"""The engines by name, loaded on use."""

from __future__ import annotations

import importlib
from types import ModuleType

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean

ENGINES = {
    "msrun": "MindSpore's own launcher, on this machine or on several",
    "slurm": "a Slurm cluster: script, sbatch, status, log, cancel",
    "ssh": "machines by name, over ssh; the same as `--nodes`",
    "volcano": "Volcano on Kubernetes: Job manifest and kubectl",
}
"""Engine and one line about it; the module of the same name has `SETTINGS` and `build`."""


def engine(name: str) -> ModuleType:
    """The module of an engine."""
    if name not in ENGINES:
        known = [*ENGINES, "modelarts"]
        listed = ", ".join(f"`{one}`" for one in known)
        raise UserError(f"no such engine: `{name}`", did_you_mean(name, known, f"these are: {listed}"))
    return importlib.import_module(f"jumar.launch.backends.{name}")
