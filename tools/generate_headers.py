"""Writes the `include` folder of the emulated CANN: what programs in C and C++ are compiled against.

Types are rows of native/headers, functions and their parameters rows of native/api; a function without known
parameters is left out.

Usage: python tools/generate_headers.py OUT_DIR    (run by native/CMakeLists.txt)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from native_types import FOLDER, read_headers, tomllib

# The classes of the graph engine, as far as MindSpore's own headers name them; written by hand.
_CPP = FOLDER / "cpp"
_API = Path(__file__).resolve().parent.parent / "native" / "api"
_HEAD = "// Jumar's own declarations of CANN's public API for its emulator; written by tools/generate_headers.py."
_VISIBLE = """#ifndef ACL_FUNC_VISIBILITY
#define ACL_FUNC_VISIBILITY __attribute__((visibility("default")))
#endif"""
_OPEN = '#ifdef __cplusplus\nextern "C" {\n#endif'
_CLOSE = "#ifdef __cplusplus\n}\n#endif"
_OPERATORS = "aclnnop"
# What a parameter of an operator call is to its caller; others are plain types.
_PARAMETERS = {
    "In": "const aclTensor *",
    "Out": "aclTensor *",
    "Both": "aclTensor *",
    "Number": "const aclScalar *",
    "Ints": "const aclIntArray *",
    "Flags": "const aclBoolArray *",
    "Tensors": "const aclTensorList *",
    "Outs": "aclTensorList *",
    "char*": "const char *",
}


def main(out: str) -> None:
    tables = read_headers()
    operators = tables.pop(_OPERATORS)
    found = headers(tables, read_functions())
    found |= operator_headers(read_operators(), operators)
    found |= {path.relative_to(_CPP).as_posix(): path.read_text(encoding="utf-8") for path in _CPP.rglob("*.h")}
    for name, text in found.items():
        path = Path(out) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def read_functions() -> dict[str, dict[str, dict[str, Any]]]:
    """The functions with known parameters, by library."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for path in sorted(_API.glob("**/*.toml")):
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("functions", {})
        found.setdefault(path.stem, {}).update({name: row for name, row in rows.items() if "args" in row})
    return found


def read_operators() -> dict[str, str]:
    """The operator calls with their parameters."""
    found: dict[str, str] = {}
    for path in sorted(_API.glob("**/opapi.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        found |= table.get("works", {}) | table.get("bridged", {})
    return found


def headers(tables: dict[str, dict[str, Any]], functions: dict[str, dict[str, dict[str, Any]]]) -> dict[str, str]:
    """The headers of native/headers by their path."""
    owners = {
        name: owner
        for library, rows in functions.items()
        for name in rows
        if (owner := _owner(name, library, tables)) is not None
    }
    found = {}
    for stem, table in tables.items():
        rows = {
            name: row
            for library in table.get("libraries", ())
            for name, row in functions.get(library, {}).items()
            if owners.get(name) == stem
        }
        found[table["header"]] = _guarded(table["header"], [*_includes(table), _VISIBLE, _OPEN, *_types(table),
                                          *_functions(table, rows), table.get("code", "").strip(), _CLOSE])  # fmt: skip
    return found


def operator_headers(operators: dict[str, str], table: dict[str, Any]) -> dict[str, str]:
    """The headers of aclnnop by their path: each call under the vendor's file name."""
    places = {name: stem for stem, names in table["headers"].items() for name in names}
    files: dict[str, list[str]] = {}
    for name, text in sorted(operators.items()):
        files.setdefault(places.get(name, _snake(name)), []).append(
            _operator(name, text, name in table["const_outputs"])
        )
    visible = '#ifndef ACLNN_API\n#define ACLNN_API __attribute__((visibility("default")))\n#endif'
    found = {f"{_OPERATORS}/aclnn_util.h": _guarded(f"{_OPERATORS}/aclnn_util.h", [visible])}
    for stem, parts in files.items():
        path = f"{_OPERATORS}/{stem}.h"
        includes = ['#include "aclnn/aclnn_base.h"', '#include "aclnnop/aclnn_util.h"']
        found[path] = _guarded(path, [*includes, _OPEN, *parts, _CLOSE])
    return found


def _owner(name: str, library: str, tables: dict[str, dict[str, Any]]) -> str | None:
    """The header whose longest pattern the name fits."""
    fits = [
        (len(pattern.rstrip("*")) + (not pattern.endswith("*")), stem)
        for stem, table in tables.items()
        if library in table.get("libraries", ())
        for pattern in table["functions"]
        if fnmatchcase(name, pattern)
    ]
    return max(fits)[1] if fits else None


def _guarded(path: str, parts: Iterable[str]) -> str:
    guard = "JUMAR_" + re.sub(r"\W", "_", path.upper())
    return "\n".join([_HEAD, f"#ifndef {guard}", f"#define {guard}", *(part for part in parts if part), "#endif", ""])


def _includes(table: dict[str, Any]) -> Iterator[str]:
    for name in table.get("includes", ()):
        yield f'#include "{name}"' if "/" in name else f"#include <{name}>"


def _types(table: dict[str, Any]) -> Iterator[str]:
    for name, number in table.get("macros", {}).items():
        yield f"#define {name} {number}"
    for name, of in table.get("scalars", {}).items():
        yield f"typedef {of} {name};"
    for name, number in table.get("constants", {}).items():
        yield f"static const int {name} = {number};"
    for name in table.get("handles", ()):
        yield f"typedef void *{name};"
    for name, tag in table.get("opaque", {}).items():
        yield f"typedef struct {tag} {name};"
    for name, values in table.get("enums", {}).items():
        tag = f"{table['tags'][name]} " if name in table.get("tags", {}) else ""
        yield f"typedef enum {tag}{{ {', '.join(f'{word} = {number}' for word, number in values.items())} }} {name};"
    for name, row in table.get("structs", {}).items():
        if isinstance(row, str):
            row = {"kind": "struct", "fields": row}
        yield f"typedef {row['kind']} {row.get('tag', name)} {{ {row['fields']} }} {name};"
    for name, text in table.get("callbacks", {}).items():
        returns, _, parameters = text.partition(" (")
        yield f"typedef {returns} (*{name})({parameters};"


def _functions(table: dict[str, Any], rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, row in sorted(rows.items()):
        returns = row.get("returns", table.get("result", "aclError"))
        space = "" if returns.endswith("*") else " "
        yield f"ACL_FUNC_VISIBILITY {returns}{space}{name}({row['args'] or 'void'});"


def _operator(name: str, text: str, const_outputs: bool) -> str:
    parameters = []
    for part in text.split(", "):
        kind, _, word = part.partition(" ")
        type_ = _PARAMETERS.get(kind, f"{kind} ")
        if const_outputs and kind in ("Out", "Both", "Outs"):
            type_ = f"const {type_}"
        parameters.append(f"{type_}{word}")
    listed = ", ".join([*parameters, "uint64_t *workspaceSize", "aclOpExecutor **executor"])
    return (
        f"ACLNN_API aclnnStatus {name}GetWorkspaceSize({listed});\n"
        f"ACLNN_API aclnnStatus {name}(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, "
        "aclrtStream stream);"
    )


def _snake(name: str) -> str:
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


if __name__ == "__main__":
    main(sys.argv[1])
