"""Every use of a MindSpore name in a collection, asked of the installed MindSpore: before and after `jumar migrate`.

Usage: python tools/mindspore_survey.py CLONE --python PY [--migrated DIR] [--record]

CLONE is a checkout of mindspore-ai/models, PY an interpreter with mindspore, DIR a copy of CLONE that `jumar migrate
--write` has gone over; without it one is made. A use is refused if its name does not exist or its call does not fit the
signature. --record writes the figures for docs/results/mindspore.md.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RECORD = Path(__file__).parents[1] / "docs" / "results" / "data" / "mindspore_networks.json"
_WORKER = Path(__file__).with_name("mindspore_survey_worker.py")
_AREAS = ("official", "research")
Use = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description="what the installed MindSpore refuses of a collection")
    parser.add_argument("clone", type=Path, help="a checkout of mindspore-ai/models")
    parser.add_argument("--python", required=True, help="interpreter with mindspore")
    parser.add_argument("--migrated", type=Path, help="a migrated copy")
    parser.add_argument("--record", action="store_true", help="write the figures for the results page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        after = options.migrated or migrated(options.clone, Path(scratch) / "models")
        found = {"before": judged(options.clone, options.python), "after": judged(after, options.python)}
    for side, refused in found.items():
        names = sorted(refused["names"].items(), key=lambda item: -item[1])
        print(side, refused["folders"], "of", refused["of"], names[:20])
    if options.record:
        document = json.loads(_RECORD.read_text(encoding="utf-8"))
        document["survey"] = found
        _RECORD.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def migrated(clone: Path, place: Path) -> Path:
    for area in _AREAS:
        shutil.copytree(clone / area, place / area, ignore=shutil.ignore_patterns("*.png", "*.jpg", "*.gif"))
    command = [sys.executable, "-m", "jumar", "migrate", "--write", str(place)]
    subprocess.run(command, capture_output=True, check=False)
    return place


def judged(top: Path, python: str) -> dict[str, Any]:
    """How many folders use something that is refused, and in how many of them each name is."""
    used = [use for path in sorted(top.rglob("*.py")) for use in uses(path, top)]
    done = subprocess.run([python, str(_WORKER)], input=json.dumps(used), capture_output=True, text=True, check=True)
    refused = json.loads(done.stdout.splitlines()[-1])
    folders: dict[str, set[str]] = {}
    for use, is_refused in zip(used, refused, strict=True):
        if is_refused:
            folders.setdefault(use["name"], set()).add(use["folder"])
    every = {use["folder"] for use in used}
    return {
        "folders": len(set().union(*folders.values())),
        "of": len(every),
        "names": {name: len(where) for name, where in sorted(folders.items())},
    }


def uses(path: Path, top: Path) -> Iterator[Use]:
    """The names below `mindspore` that a file imports, reads and calls."""
    place = path.relative_to(top).parts
    if place[0] not in _AREAS or len(place) < 4:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    folder, known = "/".join(place[:3]), dict(_imported(tree))
    for name in known.values():
        yield {"folder": folder, "name": name}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _spelled(node.func, known)):
            hidden = any(isinstance(one, ast.Starred) for one in node.args) or any(k.arg is None for k in node.keywords)
            given = None if hidden else [len(node.args), [keyword.arg for keyword in node.keywords]]
            yield {"folder": folder, "name": name, "call": given}
        elif isinstance(node, ast.Attribute) and (name := _spelled(node, known)):
            yield {"folder": folder, "name": name}


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "mindspore":
                    yield (alias.asname, alias.name) if alias.asname else ("mindspore", "mindspore")
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "mindspore":
            for alias in node.names:
                if alias.name != "*":
                    yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _spelled(node: ast.expr, known: dict[str, str]) -> str | None:
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in known:
        return None
    return ".".join([known[node.id], *reversed(words)])


if __name__ == "__main__":
    sys.exit(main())
