"""Asks the package index, through pip, what each published torch_npu wheel says about itself.

    python tools/read_wheel_metadata.py pypi_torch_npu_wheels.json wheels.json

The first file lists versions with their Python tags per architecture. Nothing is installed. The vendor's pins are not
uniform: some x86_64 wheels want the `+cpu` build of torch, others the plain version, a few say nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

GLIBC = ("2.17", "2.27", "2.28")


def main() -> None:
    parser = argparse.ArgumentParser(description="write what published torch_npu wheels say about themselves")
    parser.add_argument("wheels", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for version, row in json.loads(given.wheels.read_text())["versions"].items():
        for arch, pythons in row["wheels"].items():
            found[f"{version} {arch}"] = ask(version, arch, "3.10" if "3.10" in pythons else pythons[0])
    given.out.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


def ask(version: str, arch: str, python: str) -> dict[str, str]:
    """The lowest glibc whose tag has a wheel, and the torch that this wheel pins."""
    for glibc in GLIBC:
        tag = f"manylinux_{glibc.replace('.', '_')}_{arch}"
        with tempfile.TemporaryDirectory() as place:
            words = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
            words += ["--only-binary=:all:", "--platform", tag, "--python-version", python, "--target", place]
            done = subprocess.run([*words, "--report", "-", f"torch_npu=={version}"], capture_output=True, text=True)
        if done.returncode == 0:
            needs = json.loads(done.stdout)["install"][0]["metadata"].get("requires_dist", [])
            pins = [match[1] for need in needs if (match := re.match(r"torch ?\(?==([^),;\s]+)", need))]
            return {"glibc": glibc, **({"pin": pins[0]} if pins else {})}
    return {}


if __name__ == "__main__":
    main()
