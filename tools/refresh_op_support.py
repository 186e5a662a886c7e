"""Writes data/op_support.json from the collected operator tables: which torch versions have an NPU kernel, by kind.

`python tools/refresh_op_support.py SOURCE.json DATE`. Overloads are folded into their operator; NPU-only operators
are left out. `acl_op` kernels run on every chip, `op_api` kernels on A2 and later.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "op_support.json"
HEAD = {
    "source": "Ascend/op-plugin op_plugin_functions.yaml, Ascend/pytorch npu_native_functions.yaml (master, 2026-08)",
    "tool": "tools/refresh_op_support.py",
    "meaning": "operator -> [acl_op, op_api], each first-last torch version or empty; `*` is torch_npu's own code",
}


def fold(source: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, dict[str, list[str]]] = {}
    for kind in ("official", "symint", "autograd", "quant"):
        for name, row in source["operators"].get(kind, {}).items():
            kept = found.setdefault(name.partition(".")[0], {})
            for kernel in ("acl_op", "op_api"):
                # Some rows of the source hold `2.1, v2.2` instead of a first and a last version.
                versions = re.findall(r"\d+\.\d+", " ".join(row.get(kernel, ())) + " " + " ".join(kept.get(kernel, ())))
                if versions:
                    kept[kernel] = [min(versions, key=_order), max(versions, key=_order)]
    rows = {name: ["-".join(row.get(kernel, ())) for kernel in ("acl_op", "op_api")] for name, row in found.items()}
    for name in source["torch_npu_native"]["supported"]:
        rows.setdefault(name.partition(".")[0], ["*", "*"])
    return dict(sorted(rows.items()))


def _order(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def main(source: str, date: str) -> None:
    rows = fold(json.loads(Path(source).read_text()))
    OUT.write_text(json.dumps({**HEAD, "date": date, "operators": rows}, indent=0) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
