"""Writes `data/mindspore_versions.json` from the collected MindSpore matrix and the published wheels.

    python tools/refresh_mindspore_versions.py mindspore_matrix.yaml pypi_mindspore_wheels.json

Rows of the matrix that stand for several releases become one row each. A few rows are written here, read from the
branches of mindspore-ai/docs on 2026-11-16: the matrix joins 1.0 and 1.1, and leaves some previews out.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "mindspore_versions.json"
DOCS = "mindspore-ai/docs install/mindspore_ascend_install_pip.md"
SOURCES = {
    "a": DOCS,
    "b": "mindspore-lab/mindformers README.md",
    "c": "Ascend/mind-cluster release notes",
    "d": "ascend-deployer version_match.json (fork)",
    "e": "wheels on the public index",
    "f": "Ascend/ascend-deployer downloader/software",
}
READ = (
    ("1.0.0", "20.1", "r1.0", "official", ["3.7.5"]),
    ("1.0.1", "20.1", "r1.0", "official", ["3.7.5"]),
    ("1.1.0", "20.2.RC1", "r1.1", "medium", ["3.7.5"]),
    ("1.1.1", "20.2.RC1", "r1.1", "medium", ["3.7.5"]),
    ("2.0.0rc1", "6.3.RC1", "r1.11", "official", ["3.7", "3.8", "3.9"]),
    ("2.3.0rc1", "8.0.RC1", "r2.3.q1", "official", ["3.7", "3.8", "3.9"]),
    ("2.6.0rc1", "8.1.RC1", "r2.6.0rc1", "official", ["3.9", "3.10", "3.11"]),
)
"""Rows read from MindSpore's own pages: the first four name the solutions V100R020C10 (driver package 1.0.8) and
V100R020C20, from which the CANN numbers 20.1 and 20.2 follow; the others are previews that the matrix leaves out."""


def main() -> None:
    parser = argparse.ArgumentParser(description="write mindspore_versions.json")
    parser.add_argument("matrix", type=Path)
    parser.add_argument("wheels", type=Path)
    given = parser.parse_args()
    matrix = yaml.load(given.matrix.read_text(), Loader=yaml.BaseLoader)
    OUT.write_text(render(matrix, json.loads(given.wheels.read_text())["packages"]))


def render(matrix: dict[str, Any], wheels: dict[str, Any]) -> str:
    rows = [one for row in matrix["rows"] if not row["mindspore"].startswith("1.0.x") for one in expand(row, wheels)]
    for name, cann, branch, how, python in READ:
        row = {"confidence": how, "source": f"{DOCS} branch {branch}", "python": python}
        rows.append(release(name, cann, row, wheels))
    rows.sort(key=lambda row: Version(row["mindspore"]))
    head = {
        "source": "; ".join(SOURCES.values()),
        "date": matrix["meta"]["built"],
        "tool": "tools/refresh_mindspore_versions.py",
    }
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    parts.append('"releases": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def expand(row: dict[str, Any], wheels: dict[str, Any]) -> list[dict[str, Any]]:
    """The releases that a row stands for: itself, the ones of `1.6.x`, and older patches that were published."""
    name = row["mindspore"]
    line = ".".join(name.split(".")[:2])
    known = [
        version for version in wheels["mindspore-ascend"] if version.startswith(f"{line}.") and "rc" not in version
    ]
    found = [] if name.endswith(".x") else [release(name, row["cann"], row, wheels)]
    for version in known:
        if version != name:
            sure = row["confidence"] if name.endswith(".x") else "medium"
            found.append(release(version, row["cann"], {**row, "confidence": sure}, wheels))
    return found


def release(name: str, cann: str, row: dict[str, Any], wheels: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"mindspore": name, "cann": cann}
    kept["python"] = [".".join(python.split(".")[:2]) for python in row["python"]]
    exact = {".".join(python.split(".")[:2]): python for python in row["python"] if python.count(".") == 2}
    if exact:
        kept["exact_python"] = exact
    package = "mindspore" if Version(name) >= Version("2.0.0a0") else "mindspore-ascend"
    published = wheels[package].get(name, {}).get("wheels", {})
    tags = {"x86_64": published.get("linux_x86_64"), "aarch64": published.get("any")}
    if any(tags.values()):
        kept["package"] = package
        kept["wheels"] = {arch: pythons for arch, pythons in tags.items() if pythons}
    kept["confidence"] = row["confidence"]
    kept["source"] = _source(row["source"])
    for key in ("hdk", "solution", "mindformers"):
        if key in row:
            kept[key] = row[key]
    return kept


def _source(given: str) -> str:
    if re.fullmatch(r"[a-f](\+[a-f])*", given):
        return "; ".join(SOURCES[letter] for letter in given.split("+"))
    return given.replace("INFERRED", "inferred:")


if __name__ == "__main__":
    main()
