"""torch_npu beside a CUDA build of torch; that the names go and come back is tested in native/tests/keys_test.cpp."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumar.emulate import allocator_keys, env

TORCH = allocator_keys._libraries()


class _Library:
    def __init__(self) -> None:
        self.calls: list[tuple[str, int | None]] = []

    def jumar_keep_keys(self, keys: ctypes.c_void_p) -> None:
        self.calls.append(("keep", keys.value))

    def jumar_restore_keys(self, keys: ctypes.c_void_p) -> None:
        self.calls.append(("restore", keys.value))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Library]:
    made = _Library()
    monkeypatch.setattr(allocator_keys, "_library", lambda: made)
    allocator_keys._keys.cache_clear()
    yield made
    allocator_keys._keys.cache_clear()


def _build(folder: Path, *names: str) -> Path:
    """A folder of torch's libraries, with the real libc10.so."""
    assert TORCH is not None
    for name in names:
        (folder / name).symlink_to(TORCH / "libc10.so")
    return folder


def test_a_cpu_build_is_left_alone(library: _Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _build(tmp_path, "libc10.so")
    monkeypatch.setattr(allocator_keys, "_libraries", lambda: folder)
    allocator_keys.keep()
    allocator_keys.restore()
    assert library.calls == []


def test_of_a_cuda_build_the_one_set_is_kept_and_restored(
    library: _Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _build(tmp_path, "libc10.so", "libc10_cuda.so")
    monkeypatch.setattr(allocator_keys, "_libraries", lambda: folder)
    allocator_keys.keep()
    allocator_keys.restore()
    assert [name for name, _ in library.calls] == ["keep", "restore"]
    assert library.calls[0][1] == library.calls[1][1] != 0


def test_an_older_torch_has_no_such_set(library: _Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _build(tmp_path, "libc10.so", "libc10_cuda.so")
    monkeypatch.setattr(allocator_keys, "_libraries", lambda: folder)
    monkeypatch.setattr(allocator_keys, "_SET", "no_such_function")
    allocator_keys.keep()
    assert library.calls == []


def test_the_stand_ins_have_both_functions() -> None:
    made = ctypes.CDLL(str(env.libraries()[0]))
    assert made.jumar_keep_keys and made.jumar_restore_keys
