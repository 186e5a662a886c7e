"""Empty stand-ins of the NVIDIA libraries that a CUDA build of torch links, so that it imports without them.

For environments that only ever compute on the CPU: every function says that there is no device. Needs gcc and readelf.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

_NVIDIA = re.compile(r"lib(cu|nv|nccl)")
_OWN = re.compile(r"(__)?(cu|nccl|nvrtc|nvtx|nvJitLink|nvshmem)[A-Z_a-z0-9]*$")
_NO_DEVICE = 100
_WORDS = re.compile(r"(String|Name)$")
_SYMBOL = re.compile(r"\bUND (\w+)(?:@+([\w.]+))?")
_VERSION = re.compile(r"File: (\S+)|Name: (\S+)  Flags")
_NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")


def make(torch: Path) -> list[str]:
    """Put the stand-ins beside torch's own libraries, where the loader looks; returns their names."""
    folder = torch / "lib"
    own = sorted(folder.glob("*.so*"))
    needed: set[str] = set()
    symbols: set[tuple[str, str]] = set()
    versions: dict[str, str] = {}
    for library in own:
        needed.update(_NEEDED.findall(_readelf("-d", library)))
        symbols.update(_SYMBOL.findall(_readelf("--dyn-syms", library)))
        versions.update(_versions(_readelf("-V", library)))
    missing = {name for name in needed if _NVIDIA.match(name)} - {library.name for library in own}
    loose = sorted(name for name, version in symbols if not version and _OWN.match(name))
    for soname in sorted(missing):
        named = {version for version, owner in versions.items() if owner == soname}
        versioned = {version: sorted(name for name, of in symbols if of == version) for version in named}
        _compile(folder / soname, versioned or {"": loose})
    return sorted(missing)


def _versions(text: str) -> dict[str, str]:
    """The library that each symbol version is asked of."""
    found, library = {}, ""
    for file, version in _VERSION.findall(text):
        library = file or library
        if version:
            found[version] = library
    return found


def _readelf(option: str, library: Path) -> str:
    command = ["readelf", "-W", option, str(library)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _compile(library: Path, names: dict[str, list[str]]) -> None:
    """With the functions of each version; without a version, no version script."""
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch) / "standin.c", Path(scratch) / "versions"
        functions = sorted({name for group in names.values() for name in group})
        source.write_text("".join(_function(name) for name in functions), encoding="ascii")
        nodes = [
            f"{version} {{ global: {''.join(f'{name}; ' for name in group)}}};" for version, group in names.items()
        ]
        script.write_text("\n".join(nodes), encoding="ascii")
        versions = [] if "" in names else [f"-Wl,--version-script={script}"]
        soname = f"-Wl,-soname,{library.name}"
        command = ["gcc", "-shared", "-fPIC", "-w", soname, *versions, str(source), "-o", str(library)]
        subprocess.run(command, check=True)


def _function(name: str) -> str:
    """Functions that return a text return an empty one."""
    if _WORDS.search(name):
        return f'const char *{name}(void) {{ return ""; }}\n'
    return f"long {name}(void) {{ return {_NO_DEVICE}; }}\n"
