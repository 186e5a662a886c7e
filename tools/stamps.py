"""Where pyproject.toml, the README and the guides name the tested versions; `tools/generate.py` writes them there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import readme_proof
import version_environment
from jumar.tables import tested
from jumar.tables.load import table

ROOT = Path(__file__).parents[1]
PAGES = ("README*.md", "docs/guides/*.md", "docs/concepts/*.md")
PROOF = r"(?s)<!-- proof: written by tools/generate.py -->\n(.*?)<!-- end of proof -->"
_VERSION = r"\d+(?:\.\d+)+"


class Stamp(NamedTuple):
    files: tuple[str, ...]
    pattern: str
    """What it looks like; each group is replaced by the value of the same place."""
    values: tuple[str, ...]

    def apply(self, text: str) -> str:
        return re.sub(self.pattern, self._write, text)

    def _write(self, match: re.Match[str]) -> str:
        parts, end = [], match.start()
        for number, value in enumerate(self.values, 1):
            parts += [match.string[end : match.start(number)], value]
            end = match.end(number)
        return "".join([*parts, match.string[end : match.end()]])


def stamps() -> list[Stamp]:
    pair, mindspore, supported = tested.pair(), tested.mindspore(), tested.supported()
    project, lowest, own, v = ("pyproject.toml",), supported[0], tested.pythons()[0], f"({_VERSION})"
    classifiers = "".join(f'    "Programming Language :: Python :: {version}",\n' for version in supported)
    return [
        Stamp(project, rf'requires-python = ">={v}"', (lowest,)),
        Stamp(project, rf'(?<=\npython_version = "){v}', (own,)),
        Stamp(project, r'(?<=\ntarget-version = "py)(\d+)"', (lowest.replace(".", ""),)),
        Stamp(project, r'((?:    "Programming Language :: Python :: [\d.]+",\n)+)', (classifiers,)),
        Stamp(project, r"(?<=\nemulator = )(\[[^\]]*\])", (emulator(),)),
        Stamp((".github/workflows/*.yml",), rf'python-version: "{v}"', (own,)),
        Stamp(PAGES, rf"pip install torch=={v}", (pair.torch,)),
        Stamp(PAGES, rf'echo "torch=={v}"', (pair.torch,)),
        Stamp(PAGES, rf"jumar-torch-{v}", (pair.torch,)),
        Stamp(PAGES, rf"torch {v} (?:and|与) torch_npu {v}(?=, the tested pair|。)", (pair.torch, pair.torch_npu)),
        Stamp(PAGES, rf"torch {v}(?= must be installed first|）：)", (pair.torch,)),
        Stamp(PAGES, rf"pip install mindspore=={v} 'numpy([^']*)'", (mindspore.mindspore, mindspore.numpy)),
        Stamp(("README.md",), PROOF, (readme_proof.block("en"),)),
        Stamp(("README.zh-CN.md",), PROOF, (readme_proof.block("zh"),)),
        Stamp(PAGES, rf"version that the runtime reports \({v}\)", (pair.cann,)),
    ]


def emulator() -> str:
    """What the extra `emulator` installs: the default pair, and another one on a Python that it has no wheels for."""
    numpy = table("tested.toml")["python"]["numpy"]
    found = {python: version_environment.newest(python, "x86_64") for python in tested.supported()}
    default = tested.pair().torch, tested.pair().torch_npu
    lowest = next(python for python, pair in found.items() if pair == default)
    marked = [(f">= '{lowest}'", default)]
    marked += [(f"== '{python}'", pair) for python, pair in found.items() if pair and pair != default]
    rows = [
        f"{name}=={version}; python_version {marker}"
        for marker, pair in marked
        for name, version in zip(("torch", "torch_npu"), pair, strict=True)
    ]
    # torch.distributed.elastic imports importlib_metadata on Python 3.9, and the wheel of torch does not ask for it
    rows += ["importlib_metadata; python_version < '3.10'", f"numpy{numpy}", "pyyaml>=6"]
    return "\n".join(["[", *(f'    "{row}",' for row in rows), "]"])


def stamped() -> Iterator[tuple[Path, str]]:
    """Every file that names a tested version, and the text it should have."""
    found: dict[Path, str] = {}
    for stamp in stamps():
        for path in (path for pattern in stamp.files for path in ROOT.glob(pattern)):
            before = found.get(path) or path.read_text(encoding="utf-8")
            found[path] = stamp.apply(before)
    yield from sorted(found.items())
