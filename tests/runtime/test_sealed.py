"""A cache of built libraries is used only if nobody else can have written what is in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.runtime import compiled, sealed

ANOTHER = 65534


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> None:
    sealed._check.cache_clear()
    sealed._is_sound.cache_clear()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUMAR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Maker:
    """Builds without a compiler, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def build(self) -> compiled.Build:
        return compiled.Build("the test", "glue", "library.so", "1", (b"source",), lambda _, out: [str(out)])

    def compile(self, command: list[str], scratch: str) -> tuple[int, str]:
        self.times += 1
        Path(command[0]).write_bytes(b"built")
        os.chmod(command[0], 0o775)
        return 0, ""


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> Maker:
    made = Maker()
    monkeypatch.setattr(compiled, "_compile", made.compile)
    monkeypatch.setattr(compiled, "tell", lambda _: None)
    monkeypatch.setattr(compiled, "shipped", lambda _: None)
    return made


def test_a_library_is_built_once_and_closed_to_others(place: Path, maker: Maker) -> None:
    old = os.umask(0o002)
    try:
        file = compiled.library(maker.build())
    finally:
        os.umask(old)
    assert compiled.library(maker.build()) == file
    assert maker.times == 1
    for one in (file, file.with_name("library.so.sha256"), *file.relative_to(place).parents):
        assert not (place / one).stat().st_mode & 0o022, one


def _replaced(file: Path) -> None:
    file.write_bytes(b"other")


def _truncated(file: Path) -> None:
    os.truncate(file, 2)


def _without_record(file: Path) -> None:
    file.with_name("library.so.sha256").unlink()


def _linked(file: Path) -> None:
    other = file.with_name("other.so")
    shutil.copy(file, other)
    file.unlink()
    file.symlink_to(other)


def _open_to_others(file: Path) -> None:
    file.chmod(0o666)


def _record_open_to_others(file: Path) -> None:
    file.with_name("library.so.sha256").chmod(0o666)


def _folder_open_to_others(file: Path) -> None:
    file.parent.chmod(0o777)


def _cache_open_to_group(file: Path) -> None:
    compiled.cache_dir().chmod(0o775)


CHANGES = (_replaced, _truncated, _without_record, _linked, _open_to_others, _record_open_to_others,
           _folder_open_to_others, _cache_open_to_group)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_what_is_not_what_was_built_is_built_anew(
    change: Callable[[Path], None], place: Path, maker: Maker, tmp_path: Path
) -> None:
    file = compiled.library(maker.build())
    change(file)
    assert compiled.library(maker.build()) == file
    assert maker.times == 2
    assert file.read_bytes() == b"built" and not file.is_symlink()
    assert compiled.library(maker.build()) == file
    assert maker.times == 2


def test_without_a_compiler_only_what_is_sound_is_taken(
    place: Path, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = compiled.library(maker.build())
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert compiled.library(maker.build()) == file
    _replaced(file)
    with pytest.raises(UserError, match="needs a C\\+\\+ compiler"):
        compiled.library(maker.build())


def test_a_folder_above_that_everybody_may_write_is_refused(
    tmp_path: Path, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("JUMAR_CACHE", str(tmp_path / "open" / "cache"))
    with pytest.raises(UserError, match="everybody may write to") as error:
        compiled.library(maker.build())
    assert "chmod o-w" in str(error.value.hint)
    (tmp_path / "open").chmod(0o1777)  # as /tmp
    sealed._check.cache_clear()
    assert compiled.library(maker.build()).exists()


@pytest.mark.parametrize("name", ["cache", "cache/glue", "."])
def test_a_cache_of_another_user_is_refused(name: str, tmp_path: Path, place: Path, maker: Maker) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    compiled.library(maker.build())
    os.chown(tmp_path / name, ANOTHER, ANOTHER)
    sealed._check.cache_clear()
    try:
        with pytest.raises(UserError, match="belongs to another user"):
            compiled.library(maker.build())
    finally:
        os.chown(tmp_path / name, 0, 0)


def test_a_library_of_another_user_is_built_anew(place: Path, maker: Maker) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    file = compiled.library(maker.build())
    os.chown(file, ANOTHER, ANOTHER)
    assert compiled.library(maker.build()).stat().st_uid == 0
    assert maker.times == 2


def test_a_digest_is_computed_once_in_a_process(place: Path, maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    file = compiled.library(maker.build())
    assert sealed.is_sound(file)
    monkeypatch.setattr(sealed, "_digest", lambda _: pytest.fail("computed again"))
    assert sealed.is_sound(file)
