"""Writes `data/cann.json` from the collected facts about CANN, driver kits and packages.

    python tools/refresh_cann.py cann_hdk.yaml cann_packages.json mindspore_matrix.yaml

The first file pairs CANN with the driver and firmware kit, the second holds the addresses of packages and the tags of
the public images, the third the names of the community editions. No address was tried.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import yaml

OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "cann.json"
UNKNOWN = (None, "null", "")
FAMILIES = {
    "910": ("A800-90", "A300t-9000", "Ascend-hdk-910-", "Atlas-300t-pro"),
    "310P": ("Atlas-300i-pro", "Ascend-hdk-310p"),
}
"""How the old driver packages of a family are named."""


def main() -> None:
    parser = argparse.ArgumentParser(description="write cann.json")
    parser.add_argument("hdk", type=Path)
    parser.add_argument("packages", type=Path)
    parser.add_argument("mindspore", type=Path)
    given = parser.parse_args()
    hdk = yaml.load(given.hdk.read_text(), Loader=yaml.BaseLoader)
    mindspore = yaml.load(given.mindspore.read_text(), Loader=yaml.BaseLoader)
    OUT.write_text(render(hdk, json.loads(given.packages.read_text()), mindspore))


def render(hdk: dict[str, Any], packages: dict[str, Any], mindspore: dict[str, Any]) -> str:
    lists = {
        "kits": [kit(row) for row in hdk["rows"]],
        "windows": windows(hdk["check_by_files"]),
        "firmware": [{name: row[name] for name in ("hdk", "chip", "firmware")} for row in hdk["firmware_numbers_seen"]],
        "community": community(mindspore["rows"]),
        "packages": [row for name, chips in packages["versions"].items() for row in addresses(name, chips)],
        "old_packages": old(packages["old_ascend_deployer"]["files"]),
        "images": sorted(
            {tag for chips in packages["versions"].values() for row in chips.values() for tag in row["images"]}
        ),
    }
    head = {
        "source": f"public vendor repositories, each row with its own; packages: {packages['source']}",
        "date": hdk["meta"]["built"],
        "tool": "tools/refresh_cann.py",
    }
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    for name, rows in lists.items():
        parts.append(f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def kit(row: dict[str, Any]) -> dict[str, Any]:
    source = re.sub(r"index id \d+", "a file in a public repository", row["source"])
    kept = {"cann": row["cann"], "confidence": row["confidence"], "source": source}
    if row["hdk"] not in UNKNOWN:
        kept["hdk"] = row["hdk"].split(" (")[0]
    for name in ("data_center_solution", "training_solution", "driver_package_a800", "hdk_950"):
        if name in row:
            kept[name] = row[name]
    return kept


def windows(check: dict[str, Any]) -> list[dict[str, Any]]:
    """Which CANN releases a driver's own version file names, with the vendor's C-numbers put into words."""
    names = {row["c"]: row["cann"].split(" /")[0] for row in check["c_numbers"]}
    rows = []
    for row in check["driver_windows_seen"]:
        numbers = row.get("cann_c")
        if isinstance(numbers, list) and "(" not in row["driver"] and "open" not in row["driver"]:
            rows.append({"driver": row["driver"], "cann": [names[number] for number in numbers if number in names]})
            if isinstance(row.get("fw"), list):
                rows[-1]["firmware"] = row["fw"]
    return rows


def community(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    pairs = {row["community"]: row["cann"] for row in rows if "community" in row}
    return [{"name": name, "cann": cann} for name, cann in sorted(pairs.items()) if name != cann]


def addresses(name: str, chips: dict[str, Any]) -> list[dict[str, str]]:
    found: dict[tuple[str, str], str] = {}
    for chip, row in chips.items():
        for kind, url in row["urls"].items():
            found["ops" if kind == "kernels" else kind, chip if kind in ("kernels", "ops") else ""] = url
    match = re.search(r"toolkit_(.+?)_linux", found["toolkit", ""])
    assert match, name
    rows = []
    for (kind, chip), url in sorted(found.items()):
        rows.append(
            {
                "cann": match[1],
                "kind": kind,
                **({"chip": chip} if chip else {}),
                "url": url.replace("${ARCH}", "{arch}"),
            }
        )
    return rows


def old(releases: dict[str, Any]) -> list[dict[str, str]]:
    """Toolkit and driver archives of the releases that the vendor's deployer knew, with the page of each."""
    rows = []
    for cann, release in releases.items():
        by_name = {url.rsplit("/", 1)[1]: url for url in release["urls"]}
        paired = dict(zip(release["files"], release["urls"], strict=False))
        complete = len(release["files"]) == len(release["urls"])
        for file in release["files"]:
            kind, family = _kind(file)
            if not kind:
                continue
            url = by_name.get(file) or (paired[file] if complete else None)
            rows.append({"cann": _upper(cann), "kind": kind, "family": family, "file": file, "url": url})
    kept = [{name: value for name, value in row.items() if value} for row in rows]
    return sorted(kept, key=lambda row: (row["cann"], row["kind"], row["file"]))


def _kind(file: str) -> tuple[str, str]:
    if file.startswith("Ascend-cann-toolkit_"):
        return "toolkit", ""
    for family, starts in FAMILIES.items():
        if file.startswith(starts) and "-npu_" in file:
            return "driver", family
    return "", ""


def _upper(cann: str) -> str:
    return cann.replace("spc", "SPC")


if __name__ == "__main__":
    main()
