"""Prints versions of src/jumar/data/tested.toml for the Makefile and the workflows, before anything is installed.

`tested.py torch torch_npu` prints requirements (`torch==…`), `tested.py python` the Python versions as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "src" / "jumar" / "data" / "tested.toml"


def read() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def requirements(name: str, tested: dict[str, Any]) -> list[str]:
    """What pip is asked for to install the default release of a package."""
    if name == "mindspore":
        row = tested["mindspore"][0]
        return [f"mindspore=={row['mindspore']}", f"numpy{row['numpy']}"]
    return [f"{name}=={tested['pairs'][0][name]}"]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="+", choices=["torch", "torch_npu", "mindspore", "python"])
    names = parser.parse_args(argv).name
    tested = read()
    if "python" in names:
        print(json.dumps(tested["python"]["versions"]))
    if wanted := [text for name in names if name != "python" for text in requirements(name, tested)]:
        print(" ".join(wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main())
