"""Writes `data/torch_npu_versions.json` from the collected version matrices.

    python tools/refresh_torch_npu_versions.py torch_npu_matrix.yaml ecosystem_pairing.yaml wheels.json

The first file lists torch_npu releases with torch, CANN, Python and the wheels that were published; the second the
torchvision and torchaudio that belong to each torch; the third, written by tools/read_wheel_metadata.py, what each
published wheel says about itself: the glibc of its tag and the torch that it pins. Rows without a published wheel are
kept: people install them from the vendor's release page.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "torch_npu_versions.json"
ARCHITECTURES = ("x86_64", "aarch64")


def main() -> None:
    parser = argparse.ArgumentParser(description="write torch_npu_versions.json")
    parser.add_argument("matrix", type=Path)
    parser.add_argument("pairing", type=Path)
    parser.add_argument("wheels", type=Path)
    given = parser.parse_args()
    matrix = yaml.load(given.matrix.read_text(), Loader=yaml.BaseLoader)
    pairing = yaml.load(given.pairing.read_text(), Loader=yaml.BaseLoader)
    OUT.write_text(render(matrix, pairing, json.loads(given.wheels.read_text())))


def render(matrix: dict[str, Any], pairing: dict[str, Any], wheels: dict[str, Any]) -> str:
    rows = [release(row, wheels) for row in matrix["rows"]]
    rows += seen_with(rows, pairing["vllm_ascend"])
    rows.sort(key=lambda row: (_key(row["torch"]), _key(row["torch_npu"]), row["cann"]))
    pairs = [
        {name: pair[name] for name in ("torch", "torchvision", "torchaudio") if pair[name] != "null"}
        for pair in pairing["torch_vision_audio"]["rows"]
    ]
    pairs.sort(key=lambda pair: _key(pair["torch"]))
    head = {
        "source": f"{matrix['meta']['primary']}; metadata of the published wheels; torchvision metadata",
        "date": matrix["meta"]["built"],
        "tool": "tools/refresh_torch_npu_versions.py",
    }
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    for name, table in (("releases", rows), ("pairs", pairs)):
        parts.append(f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in table) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def release(row: dict[str, Any], wheels: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {name: row[name] for name in ("torch", "torch_npu", "cann")}
    pypi = row.get("pypi")
    published = isinstance(pypi, dict)
    kept["python"] = pypi["x86_64"] if published and pypi.get("x86_64") else row.get("python", [])
    if published and pypi.get("aarch64") and pypi["aarch64"] != kept["python"]:
        kept["aarch64"] = pypi["aarch64"]
    kept["published"] = published
    kept["beta"] = row.get("beta") == "true" or "rc" in row["torch_npu"] or "dev" in row["torch_npu"]
    superseded = "row before it became" in row["source"]
    kept["confidence"] = "high" if superseded else row["confidence"]
    if row.get("branch") not in (None, "null"):
        kept["branch"] = row["branch"]
    kept["source"] = _short(row["source"])
    for name in ("glibc", "pin"):
        found = {arch: wheels[f"{pypi['version']} {arch}"].get(name) for arch in ARCHITECTURES} if published else {}
        if any(found.values()):
            kept[name] = {arch: value for arch, value in found.items() if value}
    return kept


def seen_with(rows: list[dict[str, Any]], vllm: dict[str, Any]) -> list[dict[str, Any]]:
    """vllm-ascend releases on a CANN patch that torch_npu's own table does not name."""
    known = {(row["torch_npu"], row["cann"]) for row in rows}
    published = {row["torch_npu"]: row for row in reversed(rows) if row["published"]}
    found = {}
    for row in vllm["rows"]:
        pair = (row["torch_npu"], row["cann"])
        if pair in known or (pair[0], pair[1][:-1] + "X") in known or pair[0] not in published:
            continue
        source = f"vllm-ascend release table ({row['vllm_ascend']})"
        found[pair] = {**published[pair[0]], "cann": pair[1], "confidence": "high", "source": source}
    return list(found.values())


def _short(source: str) -> str:
    """The source without remarks about how it was read."""
    plain = source.split(" (raw/")[0].split(" (row ")[0].split("; the 2.14.0 wheel")[0]
    return plain.replace("INFERRED:", "inferred:")


def _key(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in version.split(".")]


if __name__ == "__main__":
    main()
