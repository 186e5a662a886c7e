"""Writes src/jumar/data/emulated_operators.json: what the installed emulator does with each operator of torch_npu.

Usage: python tools/refresh_emulated_operators.py [--check]    (needs torch and torch_npu; adds or replaces one version)
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import sys
from importlib import metadata
from pathlib import Path

_DATA = Path(__file__).resolve().parent.parent / "src" / "jumar" / "data"
_OUT = _DATA / "emulated_operators.json"
_PLAIN = {"native": "native", "own": "torch_npu"}


def main(arguments: list[str]) -> int:
    version = metadata.version("torch_npu")
    table = json.loads(_OUT.read_text(encoding="utf-8")) if _OUT.exists() else {"versions": {}}
    found = states()
    if "--check" in arguments:
        if table["versions"].get(version) == found:
            return 0
        print(f"not current: {_OUT.name}\n\nhint: run `python tools/refresh_emulated_operators.py`", file=sys.stderr)
        return 1
    versions = {**table["versions"], version: found}
    value = {
        "source": "the dispatcher of an emulated process: jumar.emulate.glue.load.report()",
        "date": datetime.date.today().isoformat(),
        "tool": "tools/refresh_emulated_operators.py",
        "versions": dict(sorted(versions.items())),
    }
    _OUT.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    return 0


def states() -> dict[str, list[str]]:
    """Names by state, as `jumar.emulate.coverage.OPERATORS` explains them."""
    from jumar import start

    start.emulate()
    import torch_npu  # noqa: F401

    from jumar.emulate.glue import load

    found: dict[str, set[str]] = {}
    listed = load.report()
    for state, names in listed.items():
        for name in names:
            if state in _PLAIN:
                found.setdefault(_PLAIN[state], set()).add(name)
            elif state == "reference":
                found.setdefault("reference" if _has_formula(f"aten::{name}") else "refused", set()).add(name)
            elif state == "npu-own":
                found.setdefault("npu_own", set()).add(_full(name))
            elif state == "npu":
                found.setdefault("npu_only" if _has_formula(name) else "refused", set()).add(_full(name))
    known = json.loads((_DATA / "torch_npu.json").read_text(encoding="utf-8"))
    found["fallback"] = set(known["aten_cpu_without_npu_kernel"])
    if "npu" not in listed:
        found.setdefault("refused", set()).update(
            f"npu::{name.removeprefix('npu::')}" for name in known["npu_operators"]
        )
    return {state: sorted(names) for state, names in sorted(found.items()) if names}


def _full(name: str) -> str:
    return name if "::" in name else f"npu::{name}"


def _has_formula(name: str) -> bool:
    if importlib.util.find_spec("jumar.emulate.torch_ops") is None:
        return False
    from jumar.emulate.torch_ops import registry

    return registry.find(name) is not None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
