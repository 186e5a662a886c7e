"""Writes what native/api/*.toml stands for: declarations, no-ops, refusals, and the table of chips.

Usage: python tools/generate_native.py OUT_DIR    (run by native/CMakeLists.txt; prints the library names)
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from native_types import lower, natives, read_headers, tomllib

_ROOT = Path(__file__).resolve().parent.parent
_API = _ROOT / "native" / "api"
_SOCS = _ROOT / "src" / "jumar" / "data" / "emulated_socs.json"
_STATES = ("works", "noop", "refused")
# What a parameter of an operator call may be; native/aclnn/call.h has the tensors, numbers and arrays. `Both` is an
# output that is read, too; only the Python process is told so.
_TYPES = ("In", "Out", "Both", "Number", "Ints", "Flags", "Tensors", "Outs", "aclDataType", "bool", "char*", "double",
          "float", "int", "int8_t", "int32_t", "int64_t", "uint64_t")  # fmt: skip
_BY_TYPE = {
    "In": "kIn", "Both": "kBoth", "Tensors": "kList", "Out": "kOut", "Outs": "kOutList", "bool": "kInteger",
    "int64_t": "kInteger", "float": "kNumber", "Ints": "kIntegers", "Floats": "kNumbers", "char*": "kText",
    "Value": "kValue", "Attributes": "kAttributes",
}  # fmt: skip
_ROLES = {"Out": "out", "Outs": "out", "Both": "both"}
# The libraries are built with hidden visibility: only API functions are exported.
_OPEN = '#pragma GCC visibility push(default)\nextern "C" {'
_CLOSE = "}\n#pragma GCC visibility pop"
_HEAD = "// Written by tools/generate_native.py; do not edit.\n"


def main(out: str) -> None:
    libraries = tomllib.loads((_API / "libraries.toml").read_text(encoding="utf-8"))
    tables = read_tables(absent=set(libraries["absent"]))
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    _write(target / "api.h", _declarations(tables))
    _write(target / "refusals.cpp", _bodies(tables))
    _write(target / "operators.cpp", _operators(tables.values()))
    _write(target / "parameters.h", _parameters(tables))
    _write(target / "bridged.cpp", _bridged(tables))
    _write(target / "bridged.h", _bridged_types(tables))
    _write(target / "faults.h", _faults(tables["hccl"]["faults"]))
    _write(target / "symbols.cpp", _symbols(tables))
    _write(target / "socs.inc", _chips())
    doors = _doors(tables)
    linked = {library: doors.pop(library, _HEAD) + _linked(library, tables) for library in libraries["programs"]}
    for library, text in (doors | linked).items():
        _write(target / f"door_{library}.cpp", text)
    _write(target / "filters.txt", "\n".join(sorted(linked)))
    lists = ("linked", "opened", "mindspore", "torchair", "vllm")
    print(";".join(sorted(name for part in lists for name in libraries[part])))


def read_tables(absent: set[str]) -> dict[str, dict[str, Any]]:
    """Every library's table by its name; refuses states nobody defined and no-ops without a reason."""
    tables = {}
    known = natives(read_headers())
    for path in sorted(_API.glob("**/*.toml")):
        if path.stem == "libraries" or path.stem in absent:
            continue
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        for row in table.get("functions", {}).values():
            row |= {part: lower(row[part], known) for part in ("returns", "args") if part in row}
        for name, row in (table.get("functions", {}) | table.get("symbols", {})).items():
            if row["state"] not in _STATES:
                raise SystemExit(f"{path.name}: {name}: unknown state `{row['state']}`")
            if row["state"] == "noop" and not row.get("reason"):
                raise SystemExit(f"{path.name}: {name}: a no-op needs a reason")
        tables[path.relative_to(_API).with_suffix("").as_posix()] = table
    return tables


def _write(path: Path, text: str) -> None:
    # An unchanged file keeps its time stamp, so that make does not compile it again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _head(name: str, row: dict[str, Any]) -> str:
    return f"{row.get('returns', 'int32_t')} {_exported(name, row)}({row.get('args', '')})"


def _exported(name: str, row: dict[str, Any]) -> str:
    """What every library exports; the name itself is left to one of them where the row says so."""
    return f"jumar_door_{name}" if row.get("export") == "door" else name


def _declarations(tables: dict[str, dict[str, Any]]) -> str:
    lines = [_HEAD, "#pragma once", "#include <cstddef>", "#include <cstdint>", _OPEN]
    for library, table in tables.items():
        lines.append(f"// {library}")
        lines += [_head(name, row) + ";" for name, row in table.get("functions", {}).items()]
    return "\n".join([*lines, _CLOSE, ""])


def _doors(tables: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The libraries that export names of their own, with calls of what stands behind them."""
    found = {}
    for library, table in tables.items():
        rows = {name: row for name, row in table.get("functions", {}).items() if row.get("export") == "door"}
        lines = [_HEAD, '#include "api.h"', _OPEN]
        for name, row in rows.items():
            arguments = ", ".join(re.findall(r"\w+(?=,|$)", row.get("args", "")))
            head = f"{row.get('returns', 'int32_t')} {name}({row.get('args', '')})"
            lines.append(f"{head} {{ return {_exported(name, row)}({arguments}); }}")
        if rows:
            found[library.rpartition("/")[2]] = "\n".join([*lines, _CLOSE, ""])
    return found


def _linked(library: str, tables: dict[str, dict[str, Any]]) -> str:
    """The names of a library for the linker of a program, which does not look into what the library depends on.

    The library is a filter (see native/CMakeLists.txt): at run time the functions behind it are found first.
    """
    names: set[str] = set()
    for path, table in tables.items():
        if path.rpartition("/")[2] == library:
            names |= {name for name, row in table.get("functions", {}).items() if row.get("export") != "door"}
            calls = {name for part in ("operators", "works", "bridged") for name in table.get(part, ())}
            names |= {call + half for call in calls if call.startswith("acl") for half in ("", "GetWorkspaceSize")}
    stub = "jumar_link_only"
    lines = [
        f'extern "C" __attribute__((used, visibility("hidden"))) void {stub}() {{ __builtin_trap(); }}',
        "__asm__(",
    ]
    lines += [f'  ".globl {name}\\n.type {name}, %function\\n.set {name}, {stub}\\n"' for name in sorted(names)]
    return "\n".join([*lines, ");", ""])


def _bodies(tables: dict[str, dict[str, Any]]) -> str:
    lines = [_HEAD, '#include "api.h"', '#include "machine/error.h"', _OPEN]
    for table in tables.values():
        for name, row in table.get("functions", {}).items():
            if row["state"] == "works" or row.get("body") == "own":
                continue
            returns = row.get("returns", "int32_t")
            if row["state"] == "noop":
                lines.append(f"{_head(name, row)} {{ {_value(returns, '0')} }}  // {row['reason']}")
            else:
                refusal = row.get("refusal", table["refusal"])
                call = f'jumar::refuse("{name}", jumar::{refusal})'
                end = f"return {call};" if returns == "int32_t" else f"{call}; {_value(returns, '0')}"
                lines.append(f"{_head(name, row)} {{ {end} }}")
    return "\n".join([*lines, _CLOSE, ""])


def _value(returns: str, number: str) -> str:
    if returns == "void":
        return ""
    if returns == "const char *":
        return 'return "";'
    return "return nullptr;" if returns.endswith("*") else f"return {number};"


def _operators(tables: Collection[dict[str, Any]]) -> str:
    lines = [_HEAD, '#include "machine/error.h"', "#include <cstdint>", _OPEN]
    works = {name for table in tables for part in ("works", "bridged") for name in table.get(part, ())}
    for table in tables:
        for name in sorted({*table.get("operators", ())} - works):
            for symbol in (name, name + "GetWorkspaceSize"):
                call = f'jumar::refuse("{symbol}", jumar::{table["refusal"]}, "{name}")'
                lines.append(f"int32_t {symbol}() {{ return {call}; }}")
    return "\n".join([*lines, _CLOSE, ""])


def _parameters(tables: dict[str, dict[str, Any]]) -> str:
    """The parameters of each operator call that works, as OPERATOR of native/aclnn/call.h takes them."""
    lines = [_HEAD, "#pragma once"]
    for library, table in tables.items():
        works = table.get("works", ())
        for name in works if isinstance(works, dict) else ():
            check_parameters(f"{library}.toml: {name}", works[name])
            lines.append(f"#define JUMAR_PARAMETERS_{name} {works[name]}")
            lines.append(f"#define JUMAR_KEPT_{name} {_kept(works[name], 'jumar::bridge')}")
    return "\n".join([*lines, ""])


def _bridged(tables: dict[str, dict[str, Any]]) -> str:
    """Both halves of each operator call that the Python process computes: native/bridge."""
    lines = [
        _HEAD,
        '#include "aclnn/call.h"',
        '#include "bridge/bridge.h"',
        '#include "machine/error.h"',
        "using namespace jumar;",
        "using namespace jumar::aclnn;",
        _OPEN,
    ]
    for library, table in tables.items():
        for name, text in table.get("bridged", {}).items():
            if name in rows_by_type(table):
                continue
            check_parameters(f"{library}.toml: {name}", text)
            kept = _kept(text, "bridge")
            lines += [
                f"int32_t {name}GetWorkspaceSize({text}, uint64_t* bytes_, void** run_) {{",
                f"  if (!bridge::connected()) return {_alone(name, table['refusal'])};",
                f'  return prepare("{name}", bytes_, run_, [kept = std::vector<bridge::Kept>{{{kept}}}] {{',
                f'    bridge::call("{name}", kept);',
                "  });",
                "}",
                f"int32_t {name}(void*, uint64_t, void* run_, void* stream_) {{",
                f'  return execute("{name}", run_, stream_);',
                "}",
            ]
    return "\n".join([*lines, _CLOSE, ""])


def _alone(name: str, code: str) -> str:
    where = " in a process without MindSpore, whose Python computes it"
    return f'refuse("{name}GetWorkspaceSize", {code}, "{name}", "{where}")'


def _kept(text: str, space: str) -> str:
    """The arguments of a call as the Python process is told them."""
    parts = [parameter.split(" ") for parameter in text.split(", ")]
    calls = [(name, f"{space}::{_ROLES.get(kind, 'keep')}({name})") for kind, name in parts]
    return ", ".join(f'{space}::named("{name}", {call})' for name, call in calls)


def _bridged_types(tables: dict[str, dict[str, Any]]) -> str:
    """The rows of operators by type that the Python process computes, and which of both kinds take complex numbers."""
    lines = [
        _HEAD,
        "#pragma once",
        "#include <cstring>",
        "#include <iterator>",
        '#include "bridge/bridge.h"',
        "namespace jumar::bridge {",
    ]
    found = []
    for library, table in tables.items():
        for name, text in rows_by_type(table).items():
            check_parameters(f"{library}.toml: {name}", text, _BY_TYPE)
            parts = ", ".join(
                f'{{{_BY_TYPE[kind]}, "{part}"}}' for kind, part in (p.split(" ") for p in text.split(", "))
            )
            lines.append(f"inline constexpr Parameter k{name}[] = {{{parts}}};")
            found.append(f'    {{"{name}", k{name}, std::size(k{name})}},')
    wide = [name for table in tables.values() for name in table.get("complex", ())]
    lines += ["inline constexpr Row kRows[] = {", *found, "};", *_is_one_of("takes_complex", wide)]
    return "\n".join([*lines, "}  // namespace jumar::bridge", ""])


def rows_by_type(table: dict[str, Any]) -> dict[str, str]:
    """Operators by type, whose names say no library, with their parameters."""
    rows = {**table.get("bridged", {}), **(wide if isinstance(wide := table.get("complex"), dict) else {})}
    return {name: text for name, text in rows.items() if not name.startswith("aclnn")}


def _is_one_of(function: str, names: list[str]) -> list[str]:
    tests = [f'  if (std::strcmp(name, "{name}") == 0) return true;' for name in names]
    return [f"inline bool {function}(const char* name) {{", *tests, "  return false;", "}"]


def check_parameters(where: str, text: str, types: Collection[str] = _TYPES) -> None:
    """Refuses a type nobody defined, a parameter without a name, and one that is there twice.

    By type, an output that has the name of an input is the same tensor.
    """
    names = []
    for parameter in text.split(", "):
        kind, _, name = parameter.partition(" ")
        if kind not in types:
            raise SystemExit(f"{where}: unknown type `{kind}` in `{parameter}`; known: {', '.join(types)}")
        if not name.isidentifier():
            raise SystemExit(f"{where}: `{parameter}` is not `TYPE name`")
        if types is _BY_TYPE and f"Both {name}, " in text and kind == "Out":
            continue
        names.append(name)
    if len(names) != len(set(names)):
        raise SystemExit(f"{where}: a parameter is there twice: {text}")


def _faults(rows: dict[str, dict[str, str]]) -> str:
    """The faults of HCCL as an enum, and as a list of rows for hccl/fault.cpp."""
    lines = [
        _HEAD,
        "#pragma once",
        "#include <cstdint>",
        "namespace jumar::hccl {",
        "enum class Fault : uint32_t {",
        "  kNone,",
    ]
    lines += [f"  k{name},  // {row['meaning']}" for name, row in rows.items()]
    lines += ["};", "}  // namespace jumar::hccl", "#define JUMAR_FAULTS(ROW) \\", '  ROW(kNone, HCCL_SUCCESS, "") \\']
    listed = [f'  ROW(k{name}, {row["code"]}, "{row.get("number", "")}")' for name, row in rows.items()]
    return "\n".join([*lines, " \\\n".join(listed), ""])


def _symbols(tables: dict[str, dict[str, Any]]) -> str:
    """C++ functions by mangled name: callers expect objects, so a refusal throws."""
    lines = [_HEAD, '#include "machine/error.h"', _OPEN]
    for table in tables.values():
        for symbol, row in table.get("symbols", {}).items():
            if row["state"] != "works":
                body = f'jumar::refuse_by_throwing("{row["name"]}");' if row["state"] == "refused" else "return 0;"
                lines.append(f"long {symbol}() {{ {body} }}")
    return "\n".join([*lines, _CLOSE, ""])


def _chips() -> str:
    rows = json.loads(_SOCS.read_text(encoding="utf-8"))["socs"]
    keys = [
        "memory_mib",
        "ai_core",
        "cube_core",
        "vector_core",
        "ai_cpu",
        "l2_mib",
        "ub_kib",
        "cube_mhz",
        "arch",
        "bf16",
        "inf_nan",
    ]
    lines = [
        f'{{"{name}", "{row["short_soc"]}", {", ".join(str(int(row[key])) for key in keys)}}},'
        for name, row in rows.items()
    ]
    return "\n".join([_HEAD, *lines, ""])


if __name__ == "__main__":
    main(sys.argv[1])
