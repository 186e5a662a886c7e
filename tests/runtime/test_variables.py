"""Every `JUMAR_*` name in the sources has a row, and every row is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.runtime import variables

ROOT = Path(__file__).parents[2]
REGISTRY = ROOT / "src" / "jumar" / "runtime" / "variables.py"
NAME = re.compile(r"(?<!_)JUMAR_[A-Z]+(?:_[A-Z]+)*")
QUOTED = re.compile(r'"(JUMAR_[A-Z_]+)"')
"""In C++ the same prefix also begins macros: only names in quotes are variables."""


def _python() -> dict[Path, str]:
    found = [path for suffix in ("py", "txt", "sh", "toml") for path in (ROOT / "src").rglob(f"*.{suffix}")]
    return {path: path.read_text(encoding="utf-8") for path in found if path != REGISTRY}


def _native() -> dict[Path, str]:
    found = [path for suffix in ("cpp", "h") for path in (ROOT / "native").rglob(f"*.{suffix}")]
    return {path: path.read_text(encoding="utf-8") for path in found}


def test_every_name_has_a_row() -> None:
    sources = [(NAME, _python()), (QUOTED, _native())]
    unknown = {
        f"{path.relative_to(ROOT)}: {name}"
        for pattern, texts in sources
        for path, text in texts.items()
        for name in pattern.findall(text)
        if name not in variables.ROWS
    }
    assert not unknown


@pytest.mark.parametrize("name", sorted(variables.ROWS))
def test_every_row_is_read(name: str) -> None:
    row = name.removeprefix("JUMAR_")
    by_row = re.compile(rf"\b(variables|rows)\.{row}\b\.(read|text)\(|\b(variables|rows)\.{row},")
    by_name = re.compile(rf'(getenv|setting|environ\.get)\(\s*"{name}"|environ\["{name}"\]|"{name}"')
    assert any(by_row.search(text) or by_name.search(text) for text in [*_python().values(), *_native().values()])


@pytest.mark.parametrize(
    ("row", "text", "value"),
    [
        (variables.EMULATE, "1", True), (variables.EMULATE, "0", False), (variables.EMULATE, "", None),
        (variables.CARDS, "4", 4), (variables.CARDS, "", 8), (variables.MEMORY, "2G", 2048),
        (variables.MEMORY, "1048576", 1), (variables.MEMORY, "", 0), (variables.CLOUD_PAUSE, "0.5", 0.5),
    ],
)  # fmt: skip
def test_values_are_typed(row: variables.Variable[object], text: str, value: object) -> None:
    assert row.read({row.name: text}) == value


@pytest.mark.parametrize(
    ("row", "text", "message", "hint"),
    [
        (variables.EMULATE, "yes", "`JUMAR_EMULATE=yes` is not a switch", "write 0 or 1"),
        (variables.CARDS, "65", "`JUMAR_CARDS=65` is not a number of cards", "take 1 to 64"),
        (variables.CARDS, "many", "`JUMAR_CARDS=many` is not a number of cards", "take 1 to 64"),
        (variables.MEMORY, "12T", "`JUMAR_MEMORY=12T` is not a memory size", "write it as `32G` or `21534M`"),
        (variables.MEMORY, "0", "`JUMAR_MEMORY=0` is not a memory size", "write it as `32G` or `21534M`"),
        (variables.MINDSPORE_TARGET, "GPU", "`JUMAR_MINDSPORE_TARGET=GPU` is not a device target",
         "write `Ascend` or `CPU`"),
    ],
)  # fmt: skip
def test_values_that_mean_nothing_are_told(row: variables.Variable[object], text: str, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        row.read({row.name: text})
    assert (caught.value.message, caught.value.hint) == (message, hint)
