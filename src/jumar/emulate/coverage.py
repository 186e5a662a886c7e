"""The public list of what is emulated: functions of the stand-in libraries, operators per torch_npu version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core.compat import Traversable, tomllib
from jumar.core.lang import t
from jumar.tables import operators as known_operators
from jumar.tables.load import table

FOLDERS = ("mindspore", "programs")
"""The folders of the lists that only MindSpore, or programs in C and C++, need."""
STATES = {"works": "works", "noop": "no-op", "refused": "refused"}
OPERATORS = {
    "native": "the CPU kernel, on the card's memory",
    "torch_npu": "torch_npu's own code, which needs no kernel: allocation, views",
    "reference": "has no CPU kernel; written from its definition",
    "npu_only": "NPU-only, written from its public formula",
    "npu_own": "NPU-only, torch_npu's own code needs no kernel",
    "fallback": "torch_npu has no kernel: its own fallback runs it on the CPU and warns, as on a device",
    "refused": "fails with its name",
}


class Function(NamedTuple):
    library: str
    name: str
    symbol: str
    use: str
    state: str
    reason: str


class Coverage(NamedTuple):
    functions: tuple[Function, ...]
    absent: dict[str, str]
    """Libraries that are not there on purpose, and why."""
    operators: dict[str, dict[str, list[str]]]
    """Names by state, by torch_npu version."""


@cache
def read() -> Coverage:
    lists = _lists()
    libraries = tomllib.loads(lists.joinpath("libraries.toml").read_text(encoding="utf-8"))
    tables: dict[str, list[dict[str, Any]]] = {}
    for entry in [*lists.iterdir(), *(entry for name in FOLDERS for entry in lists.joinpath(name).iterdir())]:
        library = entry.name.removesuffix(".toml")
        if entry.name.endswith(".toml") and library != "libraries" and library not in libraries["absent"]:
            tables.setdefault(library, []).append(tomllib.loads(entry.read_text(encoding="utf-8")))
    functions = [item for library, rows in sorted(tables.items()) for item in _functions(library, rows)]
    recorded = table("emulated_operators.json")["versions"]
    return Coverage(tuple(functions), libraries["absent"], recorded)


def _functions(library: str, tables: list[dict[str, Any]]) -> Iterator[Function]:
    rows = {
        name: row for part in ("functions", "symbols") for rows in tables for name, row in rows.get(part, {}).items()
    }
    for name, row in sorted(rows.items()):
        shown = row.get("name", name)
        yield Function(f"lib{library}.so", shown, name, row["use"], row["state"], row.get("reason", ""))
    works = {name for rows in tables for part in ("works", "bridged") for name in rows.get(part, [])}
    for name in sorted({name for rows in tables for name in rows.get("operators", [])} | works):
        state = "works" if name in works else "refused"
        yield Function(f"lib{library}.so", name, name, "by name", state, "")


def document(found: Coverage) -> dict[str, Any]:
    """For `--json`."""
    return {
        "functions": [item._asdict() for item in found.functions],
        "absent_libraries": found.absent,
        "operators": found.operators,
    }


def counts(found: Coverage) -> Iterator[str]:
    """A few lines for a terminal."""
    states = Counter(item.state for item in found.functions)
    shown = ", ".join(f"{states[state]} {word}" for state, word in STATES.items())
    yield f"{len(found.functions)} functions of {len({item.library for item in found.functions})} libraries: {shown}"
    for version, operators in found.operators.items():
        yield f"operators of torch_npu {version}:"
        for state, meaning in OPERATORS.items():
            if operators.get(state):
                yield f"  {state:<10}{len(operators[state]):>6}  {t(meaning)}"
    yield "`jumar emulate coverage NAME` shows one; `--json` and `--markdown` list all"


def about(found: Coverage, name: str) -> list[str]:
    """The lines about a function or an operator; empty if it is not in the list."""
    lines = []
    for item in found.functions:
        if name in (item.name, item.symbol):
            reason = f": {item.reason}" if item.reason else ""
            lines.append(f"{item.name} of {item.library}: {STATES[item.state]}{reason}")
    bare = name.removeprefix("aten::").removeprefix("npu::")
    for version, operators in found.operators.items():
        for state, names in operators.items():
            near = [known for known in names if bare in (plain := known.removeprefix("npu::"), plain.split(".")[0])]
            lines += [f"{known} in torch_npu {version}: {state}: {OPERATORS[state]}" for known in near]
    full = name if "::" in name else f"npu::{name}" if name.startswith(("npu_", "_npu_")) else f"aten::{name}"
    return lines + [f"{row.name}: {row.why}" for row in known_operators.matching(full)]


def names(found: Coverage) -> list[str]:
    operators = [name for states in found.operators.values() for known in states.values() for name in known]
    return [*(item.name for item in found.functions), *operators]


def page(found: Coverage) -> str:
    """docs/reference/emulator-coverage.md."""
    parts = [
        "# What the emulator covers\n\n<!-- written by tools/generate.py: do not edit -->\n",
        "Works: does what the vendor's does. No-op: returns success and does nothing, for the reason given. Refused: "
        "fails with the vendor's error code and its own name. `jumar emulate coverage NAME` prints one row.\n",
    ]
    for version, operators in found.operators.items():
        parts += _operator_part(version, operators)
    parts += [_known_part(), "## Functions of the stand-in libraries\n"]
    parts += _function_part(found)
    if found.absent:
        rows = "\n".join(f"| lib{name}.so | {reason} |" for name, reason in sorted(found.absent.items()))
        parts.append(f"## Missing libraries\n\n| library | reason |\n| --- | --- |\n{rows}\n")
    return "\n".join(parts)


def _operator_part(version: str, operators: dict[str, list[str]]) -> Iterator[str]:
    rows = "\n".join(
        f"| {state} | {len(operators[state])} | {meaning} |"
        for state, meaning in OPERATORS.items()
        if operators.get(state)
    )
    yield f"## Operators of torch_npu {version}\n\n| state | operators | meaning |\n| --- | --- | --- |\n{rows}\n"
    for state in OPERATORS:
        if operators.get(state):
            listed = ", ".join(f"`{name}`" for name in operators[state])
            yield f"### {state}, {version}\n\n{listed}\n"


def _known_part() -> str:
    rows = "\n".join(
        f"| `{row.name}` | `{', '.join(_columns(row))}` | {row.why.replace('|', '&#124;')} |"
        for row in known_operators.rows()
    )
    return (
        "## Operators that need more than their schema\n\nThe other operators run their CPU kernel on the card's "
        "memory, or their reference. `src/jumar/data/operators.toml` explains the columns.\n\n"
        f"| operator | what is known | why |\n| --- | --- | --- |\n{rows}\n"
    )


def _columns(row: known_operators.Row) -> Iterator[str]:
    for column, value in asdict(row).items():
        if value and column not in ("name", "why"):
            listed = value if isinstance(value, tuple) else (value,)
            yield column if value is True else f"{column}: {' '.join(map(str, listed))}"


def _function_part(found: Coverage) -> Iterator[str]:
    for library in sorted({item.library for item in found.functions}):
        rows = [item for item in found.functions if item.library == library]
        states = Counter(item.state for item in rows)
        shown = ", ".join(f"{states[state]} {word}" for state, word in STATES.items() if states[state])
        yield f"### {library}\n\n{shown}.\n"
        if library == "libopapi.so":
            yield (
                "Operator calls, each with its `…GetWorkspaceSize`. With torch_npu, operators run above them (see the "
                "lists of operators); MindSpore and programs that call them directly get those that work.\n"
            )
            for state in ("works", "refused"):
                listed = ", ".join(f"`{item.name}`" for item in rows if item.state == state)
                yield f"{STATES[state].capitalize()}: {listed}\n"
            continue
        lines = "\n".join(
            f"| `{item.name}` | {STATES[item.state]} | {item.reason.replace('|', '&#124;')} |" for item in rows
        )
        yield f"| function | state | reason |\n| --- | --- | --- |\n{lines}\n"


def _lists() -> Traversable:
    installed = files("jumar.emulate").joinpath("api")
    return installed if installed.is_dir() else Path(__file__).parents[3] / "native" / "api"
