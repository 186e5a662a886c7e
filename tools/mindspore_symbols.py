"""What MindSpore's Ascend plug-in needs from CANN, and whether the stand-ins have it.

Usage: python tools/mindspore_symbols.py SITE_PACKAGES/mindspore... [--check | --write]

Prints the symbols left undefined, the names looked up at run time and the libraries. With --check, prints what
native/api does not cover and exits with 1 when that is anything. With --write, adds the missing names to
native/api/mindspore/*.toml as refusals; what stands there already is kept.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import elf
import symbols

_OWN = symbols.API / "mindspore"
_ENTRY = "libmindspore_ascend.so.2"
# The libraries that call CANN; what else they need of the wheel is MindSpore's own.
_PLUGIN = re.compile("ascend|collective|hccl|shmem|libmf_")
# Opened by name only: the HCCL plug-in. What needs packages of their own (ATB, SHMEM, LCAL, DVPP) is left out.
_OPENED = ("libhccl_plugin.so",)
# Names of Python, and of the system where a library leaves their versions out.
_SYSTEM_NAME = re.compile("_?Py[A-Z_]|_ZN?K?S[st]|_ZT[ISV]N?S[st]|_Z(dl|da|nw|na)|__cxa_|dl[a-z]+$")
# Operator primitives, methods and trace labels of MindSpore that look like functions of CANN, and packages that are
# not there.
_NOT_A_FUNCTION = re.compile(
    r"Hcom(?!Create|Destroy|Exec|Get)[A-Z].*|Hccl(Create|Destroy)Group|HcclExec\w+|HcclGet(Local|Group|World)Rank\w+"
    r"|Lc[ac]l.*|shmem_.*|HcclWatchdog.*|HcclMetadataInfo|HcclOpBuild|HcclAllToAll|HcclBatchISendIRecv"
    r"|HcclZeroCopy.*|acl_\w*|aclrt_\w*|aclDataType|aclnnGenerator|aclnnInit|aclnnFinalize"
)
_SYSTEM = re.compile(r"ld-linux|lib(c|dl|gcc_s|gomp|m|pthread|rt|stdc\+\+)\.so\.")
_FUNCTIONS = {"aclnnInit": "nnopbase", "aclnnFinalize": "nnopbase"}
_PARAMETERS = (
    "# What works (native/aclnn; the others refuse), with its parameters in the order of the vendor's call. In and Out",
    "# are tensors, Number is a scalar, Ints and Flags are arrays, Tensors is a list. The build makes the signatures.",
)
_LEFT_TO_PYTHON_BY_TYPE = (
    "# Computed by the Python process (src/jumar/emulate/mindspore_ops). In, Both (changed in place), Tensors and Out",
    "# take the tensors of a call in order, and an output with the name of a Both is that tensor; the others are",
    "# attributes. A Value is a number, a text or a list; Attributes are all of them.",
)
_LEFT_TO_PYTHON = (
    "# What the Python process computes (src/jumar/emulate/mindspore_ops), with its parameters as above; Both is an",
    "# output that is read, too, Outs a list of outputs.",
)
_PLACES = (
    (r"_ZN3Adx", "ascend_dump"),
    (r"_Z\d+Dlog", "ascendalog"),
    (r"_Z", "graph"),
    (r"aclnn", "opapi"),
    (r"Hc", "hccl"),
    (r"rt[A-Z]", "runtime"),
    (r"hal", "ascend_hal"),
    (r"aclprof|mstx", "msprofiler"),
    (r"aclop", "acl_op_compiler"),
    (r"acltdt", "acl_tdt_channel"),
    (r"aclSet(AclOp|Dynamic|TensorAddr)", "nnopbase"),
    (r"", "ascendcl"),
)


def main(arguments: list[str]) -> int:
    sources = [Path(word) for word in arguments if not word.startswith("--")]
    if not sources:
        raise SystemExit(__doc__)
    found = [read(source) for source in sources]
    if "--write" in arguments:
        return _write(found, " and ".join(_version(source) for source in sources))
    if "--check" in arguments:
        return _check(sources, found)
    for title, names in zip(("linked", "by name", "libraries"), found[0], strict=True):
        print(f"# {title}: {len(names)}")
        print("\n".join(sorted(names)))
    return 0


def read(package: Path) -> symbols.Needs:
    """The needs of the plug-in and of every library of the wheel that it pulls in."""
    files = {path.name: path for path in (package / "lib").rglob("*.so*") if "gpu" not in str(path)}
    if _ENTRY not in files:
        raise SystemExit(f"no MindSpore with an Ascend plug-in: {package}")
    libraries: dict[str, elf.Library] = {}
    others: dict[str, elf.Library] = {}
    wanted = [_ENTRY, *_OPENED]
    outside: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in files:
            outside.add(name)
        elif name not in libraries and name not in others:
            kept = libraries if _PLUGIN.search(name) else others
            kept[name] = elf.read(files[name])
            wanted += [one for one in kept[name].needed if kept is libraries or one in files]
    everything = (*libraries.values(), *others.values())
    defined = {name for item in everything for name in item.defined}
    # What neither the wheel, the interpreter nor the system (whose names have versions) defines is CANN's.
    system = {name for item in everything for name in item.undefined - item.unversioned}
    undefined = {name for item in libraries.values() for name in item.unversioned} - defined - system
    linked = {name for name in undefined if not _SYSTEM_NAME.match(name)}
    own = [item for name, item in libraries.items() if "mindspore" in name or "coll" in name or "hccl" in name]
    words = {word for item in own for word in item.words} - defined - linked
    by_name = {word for word in words if symbols.VENDOR.match(word) and not _NOT_A_FUNCTION.fullmatch(word)}
    by_name |= {name for name in _FUNCTIONS if name in words}
    return symbols.Needs(frozenset(linked), frozenset(by_name), frozenset(outside))


def missing(needs: symbols.Needs, known: set[str]) -> list[str]:
    """What no list has; of an operator, the call stands for its `…GetWorkspaceSize` too."""
    open_names = (needs.linked | needs.by_name) - known
    return sorted(name for name in open_names if name.removesuffix("GetWorkspaceSize") not in known)


def missing_libraries(needs: symbols.Needs) -> list[str]:
    """The libraries of CANN that have no stand-in."""
    table = tomllib.loads((symbols.API / "libraries.toml").read_text(encoding="utf-8"))
    doors = {f"lib{name}.so" for part in ("linked", "opened", "mindspore") for name in table[part]}
    return sorted(name for name in needs.libraries - doors if not _SYSTEM.match(name))


def _check(sources: list[Path], found: list[symbols.Needs]) -> int:
    known = symbols.known_names()
    complete = True
    for source, needs in zip(sources, found, strict=True):
        left = missing(needs, known) + missing_libraries(needs)
        complete &= not left
        print("\n".join(left), end="\n" if left else "")
        counted = f"{len(needs.linked)} linked, {len(needs.by_name)} looked up by name, {len(left)} not covered"
        print(f"mindspore {_version(source)}: {counted}", file=sys.stderr)
    return 0 if complete else 1


def _write(found: Iterable[symbols.Needs], versions: str) -> int:
    known = symbols.known_names()
    new: dict[str, dict[str, str]] = {}
    for needs in found:
        for name in missing(needs, known):
            place = _FUNCTIONS.get(name) or next(place for pattern, place in _PLACES if re.match(pattern, name))
            new.setdefault(place, {})[name] = "linked" if name in needs.linked else "by name"
    for place, names in sorted(new.items()):
        path = _OWN / f"{place}.toml"
        table = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        _add(table, names)
        path.parent.mkdir(exist_ok=True)
        path.write_text(_render(place, table, versions), encoding="utf-8")
        print(f"{path.name}: {len(names)} new", file=sys.stderr)
    return 0


def _add(table: dict[str, Any], names: Mapping[str, str]) -> None:
    readable = _demangled([name for name in names if name.startswith("_Z")])
    for name, use in names.items():
        if name in readable:
            row = {"name": readable[name], "use": use, "state": "refused"}
            table.setdefault("symbols", {})[name] = row
        elif name.startswith("aclnn") and name not in _FUNCTIONS:
            table["operators"] = sorted({*table.get("operators", ()), name.removesuffix("GetWorkspaceSize")})
        else:
            table.setdefault("functions", {})[name] = {"use": use, "state": "refused"}


def _demangled(names: list[str]) -> dict[str, str]:
    tool = shutil.which("c++filt")
    if tool is None:
        raise SystemExit("c++filt is not installed: apt install binutils")
    lines = subprocess.run([tool, *names], capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(zip(names, lines, strict=True))


def _render(place: str, table: Mapping[str, Any], versions: str) -> str:
    common = tomllib.loads((symbols.API / f"{place}.toml").read_text(encoding="utf-8"))
    lines = [
        f"# lib{place}.so: what MindSpore needs beside ../{place}.toml.",
        f"# Names and use: tools/mindspore_symbols.py on mindspore {versions}; states by hand.",
    ]
    if "refusal" in common:
        lines += [f'refusal = "{common["refusal"]}"', ""]
    if operators := table.get("operators"):
        lines += ["operators = [", *(f'  "{name}",' for name in operators), "]"]
    by_name = isinstance(table.get("works"), Mapping)  # a list must stand before the tables
    lines += _complex(table.get("complex", ())) if by_name else []
    lines += _works(table.get("works", ()))
    lines += _bridged(place, table.get("bridged", {}))
    lines += [] if by_name else _complex(table.get("complex", ()))
    for part in ("functions", "symbols"):
        if rows := table.get(part):
            lines += ["", f"[{part}]", *(f"{name} = {_row(row)}" for name, row in sorted(rows.items()))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*lines, ""]))


def _bridged(place: str, rows: Mapping[str, str]) -> list[str]:
    """What the Python process computes, with its parameters."""
    notes = _LEFT_TO_PYTHON if place == "opapi" else _LEFT_TO_PYTHON_BY_TYPE
    return ["", *notes, "[bridged]", *_rows(rows)] if rows else []


def _complex(names: Sequence[str] | Mapping[str, str]) -> list[str]:
    """What is left to the Python process when a number is complex: by type with rows, as the kernels have none."""
    note = "# What the Python process computes for complex numbers (emulate/mindspore_ops/complex_numbers.py)."
    if isinstance(names, Mapping):
        return ["", note, "[complex]", *_rows(names)]
    return ["", note, "complex = [", *(f'  "{name}",' for name in names), "]"] if names else []


def _rows(rows: Mapping[str, str]) -> list[str]:
    return [f'{name} = "{text}"' for name, text in sorted(rows.items())]


def _works(works: Sequence[str] | Mapping[str, str]) -> list[str]:
    """Operator calls have parameters, which the build reads; operators by type have none."""
    if isinstance(works, Mapping):
        return ["", *_PARAMETERS, "[works]", *_rows(works)]
    if not works:
        return []
    note = "# Written out in native/aclop; the others refuse."
    return ["", note, "works = [", *(f'  "{name}",' for name in works), "]"]


def _row(row: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f'{key} = "{value}"' for key, value in row.items()) + " }"


def _version(package: Path) -> str:
    return (package / "version.py").read_text(encoding="utf-8").split("'")[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
