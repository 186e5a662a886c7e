"""Writes src/jumar/data/emulated_socs.json: what the virtual machine needs to know of each chip.

Source: the platform ini files of the CANN runtime, as collected in socs.yaml and chips.yaml.
Usage: python tools/refresh_emulated_socs.py SOCS_YAML CHIPS_YAML
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

_OUT = Path(__file__).resolve().parent.parent / "src" / "jumar" / "data" / "emulated_socs.json"
# Boards whose ini names no size; npu-smi of a real board shows these (samples of 910A, 8 GB Orange Pi, B2C).
_MEMORY_MIB = {"910A": 32768, "310B": 7564, "910B": 65536, "310P": 21534}

# Groups of chips in data/operators.toml, by architecture.
_OPERATORS = {2201: "910B", 3510: "950"}


def main(socs: str, chips: str) -> None:
    table = yaml.safe_load(Path(socs).read_text(encoding="utf-8"))
    date = yaml.safe_load(Path(chips).read_text(encoding="utf-8"))["meta"]["built"]
    rows = {row["soc"]: _row(row) for row in sorted(table["socs"], key=lambda row: str(row["soc"]))}
    value = {
        "source": table["meta"]["source"],
        "date": str(date),
        "tool": "tools/refresh_emulated_socs.py",
        "socs": rows,
    }
    lines = json.dumps(value, indent=1, ensure_ascii=False).replace("\n   ", " ").replace("\n  }", " }")
    _OUT.write_text(lines + "\n", encoding="utf-8")


def _row(row: dict[str, Any]) -> dict[str, Any]:
    size = row.get("ini_memory_gib")
    family = str(row["family"])
    return {
        "family": family,
        "short_soc": row["short_soc"],
        "arch": int(row["npu_arch"]),
        "operators": _OPERATORS.get(int(row["npu_arch"]), "older"),
        "memory_mib": round(size * 1024) if size and family != "310P" else _MEMORY_MIB[family],
        "ai_core": row.get("ai_core") or row.get("cube_core") or 0,
        "cube_core": row.get("cube_core") or row.get("ai_core") or 0,
        "vector_core": row.get("vector_core") or 0,
        "ai_cpu": row.get("ai_cpu") or 0,
        "l2_mib": row.get("l2_mib") or 0,
        "ub_kib": row.get("ub_kib") or 0,
        "cube_mhz": row.get("cube_freq_mhz") or 0,
        "bf16": bool(row.get("bf16")),
        "inf_nan": bool(row.get("inf_nan")),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
