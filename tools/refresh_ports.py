"""Writes `data/ports.json`: what public ports to Ascend changed, compared with what Jumar reports on the code before.

usage: refresh_ports.py PORTS.txt FOLDER

Each line of PORTS.txt is `NAME OWNER/REPOSITORY COMMIT...`, the commits of one port in order; FOLDER holds a git
directory `OWNER+REPOSITORY` (with or without `/repo` below it) of each. Only counts are kept, no code.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from jumar import api
from jumar.core.finding import State
from jumar.migrate import languages
from jumar.migrate.project import migrate_bytes
from jumar.migrate.roadmap import areas
from jumar.migrate.roadmap.result import Area
from jumar.migrate.settings import Settings

OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "ports.json"
NEAR = 3
"""Lines around a changed stretch that belong to it."""
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.M)


class Port(NamedTuple):
    name: str
    repository: str
    commits: list[str]
    git: Path


def main() -> None:
    rows = []
    for port in _ports(Path(sys.argv[1]), Path(sys.argv[2])):
        rows.append(_measure(port))
        print(rows[-1], file=sys.stderr)
    document = {
        "source": "the commits named below, from their public repositories; `lines` are those of product code",
        "date": "2026-11-17",
        "tool": "tools/refresh_ports.py",
        "per_place": _deciles([row["lines"] / row["places"] for row in rows]),
        "touched": _deciles([100 * row["touched"] / row["left"] for row in rows if row["left"]]),
        "inside": _inside(rows, rows),
        "ports": rows,
    }
    half = (len(rows) + 1) // 2
    print(f"first half's range holds {_held(rows[:half], rows[half:])} of {len(rows) - half} others", file=sys.stderr)
    OUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _ports(listed: Path, folder: Path) -> list[Port]:
    found = []
    for line in listed.read_text(encoding="utf-8").splitlines():
        name, repository, *commits = line.split()
        git = folder / repository.replace("/", "+")
        found.append(
            Port(name, repository.replace("+", "/"), commits, git / "repo" if (git / "repo").exists() else git)
        )
    return found


def _measure(port: Port) -> dict[str, Any]:
    made, left = _reported(port)
    total = touched = 0
    files = set()
    for commit in port.commits:
        for path, hunks in _diff(port, commit).items():
            total += sum(gone + come for _, _, gone, come in hunks)
            files.add(path)
            touched += _touched(_left(port, commit, path), hunks)
    return {
        "name": port.name, "repository": port.repository, "commits": port.commits, "lines": total, "files": len(files),
        "places": made + left, "left": left, "touched": min(touched, left),
    }  # fmt: skip


def _reported(port: Port) -> tuple[int, int]:
    """Places in the product before the port: those that Jumar changes, and those that it leaves to people."""
    with tempfile.TemporaryDirectory(prefix="jumar-port-") as folder:
        names = [name for name in _git(port, "ls-tree", "-r", "--name-only", f"{port.commits[0]}~1").splitlines()
                 if languages.classify(name) is not None]  # fmt: skip
        for name in names:
            text = _show(port, f"{port.commits[0]}~1", name)
            if text is not None:
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
        result = api.analyze(folder, cache=False)
    states = Counter(
        item.state is State.REWRITTEN
        for item in result.findings
        if item.state not in (None, State.BENIGN)
        and item.where is not None
        and areas.by_path(str(Path(item.where.path).relative_to(folder))) is Area.PRODUCT
    )
    return states[True], states[False]


def _left(port: Port, commit: str, path: str) -> list[int]:
    """The lines of one file before a commit that Jumar leaves to people."""
    text = _show(port, f"{commit}~1", path)
    result = migrate_bytes(path, text, Settings()) if text is not None else None
    states = (None, State.BENIGN, State.REWRITTEN)
    return [item.where.line for item in result.findings if item.state not in states and item.where] if result else []


def _touched(lines: list[int], hunks: list[tuple[int, int, int, int]]) -> int:
    return sum(any(start - NEAR <= line <= end + NEAR for start, end, _, _ in hunks) for line in lines)


def _diff(port: Port, commit: str) -> dict[str, list[tuple[int, int, int, int]]]:
    """Changed stretches of product code by path: first and last old line, lines gone, lines come."""
    found: dict[str, list[tuple[int, int, int, int]]] = {}
    text = _git(port, "show", "--format=", "-U0", "--no-renames", "--no-ext-diff", commit)
    for part in text.split("diff --git ")[1:]:
        path = part.partition("\n")[0].rpartition(" b/")[2]
        if languages.classify(path) is None or areas.by_path(path) is not Area.PRODUCT:
            continue
        for match in _HUNK.finditer(part):
            start, gone, _, come = (int(group) if group else 1 for group in match.groups())
            found.setdefault(path, []).append((start, start + max(gone - 1, 0), gone, come))
    return found


def _inside(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> int:
    """How many lie in the range of all the others, each left out in turn."""
    return sum(_held([other for other in others if other is not row], [row]) for row in rows)


def _held(known: list[dict[str, Any]], asked: list[dict[str, Any]]) -> int:
    low, high = _deciles([row["lines"] / row["places"] for row in known])
    return sum(low <= row["lines"] / row["places"] <= high for row in asked)


def _deciles(values: list[float]) -> list[float]:
    """The first and the ninth."""
    cuts = statistics.quantiles(values, n=10, method="inclusive")
    return [round(cuts[0], 2), round(cuts[-1], 2)]


def _show(port: Port, commit: str, path: str) -> bytes | None:
    done = subprocess.run(["git", "-C", port.git, "show", f"{commit}:{path}"], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _git(port: Port, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(port.git), *words], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
