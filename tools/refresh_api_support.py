"""Writes data/api_support.json from the collected vendor tables: one row per API, equal versions folded.

`python tools/refresh_api_support.py SOURCE.json DATE`. SOURCE maps torch version -> API -> [support, notes], where
support is 1, 0 or - for A2, A3 and 950DT, and notes may hold `dtypes`, `cpu_fallback` and `limited`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "api_support.json"
HEAD = {
    "source": "Ascend/pytorch docs/zh/api/native_api (public tables)",
    "tool": "tools/refresh_api_support.py",
    "meaning": (
        "API -> text, or version -> text: support on A2, A3, 950DT (1, 0, -); `c` may run on the CPU, "
        "`l` other limits; then the number of its list of data types"
    ),
}


def fold(versions: dict[str, dict[str, list[Any]]]) -> dict[str, Any]:
    kinds = sorted({_types(row) for rows in versions.values() for row in rows.values()} - {""})
    apis: dict[str, Any] = {}
    for name in sorted({name for rows in versions.values() for name in rows}):
        texts = {version: _text(rows[name], kinds) for version, rows in versions.items() if name in rows}
        same = len(texts) == len(versions) and len(set(texts.values())) == 1
        apis[name] = next(iter(texts.values())) if same else texts
    return {"versions": list(versions), "dtypes": kinds, "apis": apis}


def _types(row: list[Any]) -> str:
    return " ".join(row[1].get("dtypes", ())) if len(row) > 1 else ""


def _text(row: list[Any], kinds: list[str]) -> str:
    notes = row[1] if len(row) > 1 else {}
    flags = ("c" if notes.get("cpu_fallback") else "") + ("l" if notes.get("limited") else "")
    types = _types(row)
    return row[0] + flags + (str(kinds.index(types)) if types else "")


def main(source: str, date: str) -> None:
    versions = json.loads(Path(source).read_text())["versions"]
    OUT.write_text(json.dumps({**HEAD, "date": date, **fold(versions)}, indent=0) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
