"""The import hook of all features: order, errors, and that it changes nothing else."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jumar.runtime.hooks import imports
from jumar.runtime.hooks.alone import without_backends
from jumar.runtime.hooks.imports import Hook, on_import


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that nobody imported before; hooks are gone afterwards."""
    (tmp_path / "hooked_one.py").write_text("seen = list(__import__('sys').hooked)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "hooked", [], raising=False)
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if not isinstance(one, imports.Finder)])
    yield "hooked_one"
    sys.modules.pop("hooked_one", None)


def _say(word: str) -> None:
    sys.hooked.append(word)  # type: ignore[attr-defined]


def test_hooks_run_in_order_around_the_module(module: str) -> None:
    @contextmanager
    def around() -> Iterator[None]:
        _say("in")
        yield
        _say("out")

    on_import(module, Hook(lambda: _say("before"), around, lambda found: _say(f"after {found.__name__}")))
    on_import(module, Hook(after=lambda _: _say("second")))
    found = importlib.import_module(module)
    assert found.seen == ["before", "in"]
    assert sys.hooked == ["before", "in", "out", "after hooked_one", "second"]  # type: ignore[attr-defined]
    assert sum(isinstance(one, imports.Finder) for one in sys.meta_path) == 1


def test_the_real_loader_answers_for_the_source(module: str) -> None:
    on_import(module, Hook())
    found = importlib.import_module(module)
    assert found.__spec__ is not None and found.__spec__.loader is not None
    assert "hooked" in (found.__spec__.loader.get_source(module) or "")  # type: ignore[attr-defined]


def test_a_module_that_is_missing_is_missing(module: str) -> None:
    on_import("hooked_nowhere", Hook())
    with pytest.raises(ModuleNotFoundError, match="No module named 'hooked_nowhere'"):
        importlib.import_module("hooked_nowhere")


def test_torch_alone_leaves_the_variable_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "TORCH_DEVICE_BACKEND_AUTOLOAD"
    monkeypatch.delenv(name, raising=False)
    with without_backends():
        assert os.environ[name] == "0"
    assert name not in os.environ
    monkeypatch.setenv(name, "1")
    with without_backends():
        assert os.environ[name] == "0"
    assert os.environ[name] == "1"
