"""What a torch_npu wheel needs from CANN, and whether the stand-ins have it.

Usage: python tools/symbols.py WHEEL_OR_DIR... [--check]

Prints three lists: symbols left undefined, names looked up at run time, libraries linked or opened by name.
With --check, prints what native/api/*.toml does not cover and exits with 1 when that is anything.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import elf

API = Path(__file__).resolve().parent.parent / "native" / "api"
# How functions of CANN are called; everything else a wheel leaves open belongs to torch, Python or libc.
VENDOR = re.compile(
    r"(acl(?!nn)[A-Za-z]|aclnn[A-Z]|Msprof|rt[A-Z]|Hccl[A-Z]|Hcomm?[A-Z]|Lccl|Lcal|Aml|hal[A-Z]|dcmi|mstx[A-Z]|mspti[A-Z]"
    r"|shmem_|InitHuge|UnInitHuge|ReleaseHuge|InitPTA|UnInitPTA|PTA[A-Z])[A-Za-z0-9_]*$"
)
# C++ functions of the graph engine, and the bounds-checked functions of libc_sec.so: linked, never looked up.
_LINKED = re.compile(r"_ZNK?2ge\d\w+$|(v?sn?printf|mem\w+|str\w+)_s$")
# Classes and trace labels of torch_npu look like functions; these endings and words tell them apart.
_NOT_A_FUNCTION = re.compile(r".*(Face|_SendRecv|Base|Togather)$|acl_\w*|aclProfiling\w*|aclQuery\w*|aclStressDetect$")
_LABELS = {
    "HcclAllgather",
    "HcclAllreduce",
    "HcclCommList",
    "LcclAllgather",
    "LcclAllreduce",
    "LcclCommInit",
    "LcclCommInitRankLocal",
}
_PIECE = 16


class Needs(NamedTuple):
    linked: frozenset[str]
    by_name: frozenset[str]
    libraries: frozenset[str]


def main(arguments: list[str]) -> int:
    if not arguments:
        raise SystemExit(__doc__)
    sources = [word for word in arguments if word != "--check"]
    if "--check" in arguments:
        return _check(sources)
    needs = read(Path(sources[0]))
    for title, names in zip(("linked", "by name", "libraries"), needs, strict=True):
        print(f"# {title}: {len(names)}")
        print("\n".join(sorted(names)))
    return 0


def read(source: Path) -> Needs:
    """The needs of all shared libraries of a wheel, or of a directory a wheel was unpacked into."""
    if source.is_dir():
        return _read_tree(source)
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(source) as wheel:
        wheel.extractall(scratch, [name for name in wheel.namelist() if name.endswith(".so")])
        return _read_tree(Path(scratch))


def _read_tree(root: Path) -> Needs:
    # libop_plugin_atb.so is for the NNAL package: torch_npu loads it only where that is installed.
    files = [path for path in root.rglob("*.so") if "torch_npu" in str(path) and "_atb" not in path.name]
    libraries = [elf.read(path) for path in files]
    linked = {name for item in libraries for name in item.undefined if VENDOR.match(name) or _LINKED.match(name)}
    words = {word for item in libraries for word in item.words}
    defined = {name for item in libraries for name in item.defined}
    by_name = {
        word
        for word in words - defined - linked
        if VENDOR.match(word) and not _NOT_A_FUNCTION.match(word) and word not in _LABELS
    }
    needed = {name for item in libraries for name in item.needed}
    opened = {word for word in words if re.fullmatch(r"lib[a-z_]+(\.so)?", word)}
    return Needs(frozenset(linked), frozenset(by_name), frozenset(needed | opened))


def _check(sources: list[str]) -> int:
    known = known_names()
    complete = True
    for source in sources:
        needs = read(Path(source))
        missing = missing_names(needs, known)
        complete &= not missing
        for name in missing:
            print(f"{'linked' if name in needs.linked else 'by name'} {name}")
        print(
            f"{Path(source).name}: {len(needs.linked)} linked, {len(needs.by_name)} looked up by name, "
            f"{len(missing)} not covered",
            file=sys.stderr,
        )
    return 0 if complete else 1


def missing_names(needs: Needs, known: set[str]) -> list[str]:
    """What no list has. Names that the compiler cut into pieces are looked up by their pieces."""
    open_names = sorted((needs.linked | needs.by_name) - known)
    starts = {name[:_PIECE] for name in known if len(name) >= _PIECE}
    return [name for name in open_names if not _is_pieces(name, starts)]


def _is_pieces(word: str, starts: set[str]) -> bool:
    """Short strings are loaded as constants of 16 bytes: their first pieces stand one after the other."""
    pieces = [word[at : at + _PIECE] for at in range(0, len(word), _PIECE)]
    if pieces[0] not in starts:
        return False
    rest = [piece for piece in pieces[1:] if len(piece) == _PIECE and VENDOR.match(piece)]
    return bool(rest) and all(piece in starts for piece in rest)


def known_names() -> set[str]:
    known: set[str] = set()
    for path in API.glob("**/*.toml"):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        known.update(table.get("functions", {}), table.get("symbols", {}))
        for name in table.get("operators", []):
            known.update((name, name + "GetWorkspaceSize"))
    return known


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
