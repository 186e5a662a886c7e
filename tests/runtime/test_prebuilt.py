"""Which library of a wheel is taken, and what happens where none fits."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.runtime import compiled, prebuilt

SOURCES = (b"int answer() { return 42; }",)
TORCH = metadata.version("torch").split("+")[0]
Write = Callable[..., Path]


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Puts one library into the folder of the wheel, with other facts as the test wants them."""
    folder, includes = tmp_path / "prebuilt", tmp_path / "include"
    includes.mkdir()
    (includes / "a.h").write_text("struct Stream { int id; };\n")
    monkeypatch.setattr(prebuilt, "FOLDER", folder)
    monkeypatch.setenv("JUMAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", "no-such-compiler")

    def write(**other: Any) -> Path:
        row = {
            "file": "libthing-torch.so", "library": "libthing.so", "machine": platform.machine(), "torch": TORCH,
            "string_abi": compiled.string_abi(), "sources": prebuilt.digest(SOURCES), "torch_npu": "2.0.0",
            "headers": ["a.h"], "headers_digest": prebuilt.digest_of(includes, ["a.h"]), **other,
        }  # fmt: skip
        folder.mkdir()
        (folder / prebuilt.INDEX).write_text(json.dumps([row]))
        prebuilt.rows.cache_clear()
        return folder / "libthing-torch.so"

    prebuilt.rows.cache_clear()
    yield write
    prebuilt.rows.cache_clear()


def _build(tmp_path: Path) -> compiled.Build:
    return compiled.Build(
        "the thing", "thing", "libthing.so", "torch-1", SOURCES, lambda words, out: [words, str(out)],
        includes=tmp_path / "include",
    )  # fmt: skip


def test_a_library_that_fits_is_taken_without_a_compiler(shipped: Write, tmp_path: Path) -> None:
    file = shipped()
    assert compiled.library(_build(tmp_path)) == file
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "other",
    [{"torch": "1.0.0"}, {"machine": "riscv64"}, {"string_abi": "-D_GLIBCXX_USE_CXX11_ABI=2"}, {"sources": "0"},
     {"library": "libother.so"}, {"headers_digest": "0"}, {"headers": ["a.h", "gone.h"]}],
)  # fmt: skip
def test_a_library_of_anything_else_is_left(shipped: Write, tmp_path: Path, other: dict[str, Any]) -> None:
    shipped(**other)
    with pytest.raises(UserError, match=f"the thing needs a C\\+\\+ compiler once for torch {TORCH}") as error:
        compiled.library(_build(tmp_path))
    known = "torch that needs none: 1.0.0" if "torch" in other else "torch_npu that needs none: 2.0.0"
    is_offered = not {"machine", "library"} & set(other)
    offer = f"; or take a {known}" if is_offered else ""
    assert error.value.hint == f"sudo apt install g++{offer}"


def test_a_changed_header_of_torch_npu_is_seen(shipped: Write, tmp_path: Path) -> None:
    shipped()
    (tmp_path / "include" / "a.h").write_text("struct Stream { long id; };\n")
    with pytest.raises(UserError, match="needs a C"):
        compiled.library(_build(tmp_path))


def test_a_header_that_declares_the_same_is_taken(shipped: Write, tmp_path: Path) -> None:
    file = shipped()
    other = "/* Copyright\n 2026 */\n#include <acl/acl.h>\n\nstruct Stream {  // of a card\n    int id;\n};\n"
    (tmp_path / "include" / "a.h").write_text(other)
    assert compiled.library(_build(tmp_path)) == file


def test_without_libraries_in_the_wheel_the_hint_is_a_compiler(shipped: Write, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="`no-such-compiler` was not found") as error:
        compiled.library(_build(tmp_path))
    assert error.value.hint == "sudo apt install g++"


def test_what_was_built_stays_when_the_compiler_goes(
    shipped: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho built > $1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    built = compiled.library(_build(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert compiled.library(_build(tmp_path)) == built
