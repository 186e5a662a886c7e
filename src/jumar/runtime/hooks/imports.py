"""Does something before, around or after an import of the program: the one import hook of all features.

Python 3.7 and the standard library only: interpreters without Jumar load this file by its path (site/sitecustomize.py).
"""

from __future__ import annotations

import contextlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, ContextManager, NamedTuple  # noqa: UP035


def _nothing(*_: Any) -> None:
    pass


class Hook(NamedTuple):
    """What a feature does when a program imports a module."""

    before: Callable[[], None] = _nothing
    """Called before the module is looked for."""
    around: Callable[[], ContextManager[None]] = contextlib.nullcontext
    """Entered while the module runs."""
    after: Callable[[ModuleType], None] = _nothing
    """Called with the module once it has run."""


def on_import(name: str, hook: Hook) -> None:
    """Register a hook for a module; hooks of one module are called in the order of registration."""
    finder = next((one for one in sys.meta_path if isinstance(one, Finder)), None)
    if finder is None:
        finder = Finder()
        sys.meta_path.insert(0, finder)
    finder.hooks.setdefault(name, []).append(hook)


class Finder(MetaPathFinder):
    """Finds nothing itself: asks those behind it, and puts a loader around theirs."""

    def __init__(self) -> None:
        self.hooks: dict[str, list[Hook]] = {}

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        hooks = self.hooks.get(name)
        if not hooks:
            return None
        for hook in hooks:
            hook.before()
        spec = find(name, path, self)
        if spec is not None and spec.loader is not None:
            spec.loader = Wrapped(spec.loader, hooks)
        return spec


def find(name: str, path: Any, asking: object) -> ModuleSpec | None:
    """What the finders behind `asking` find."""
    at = next(place for place, one in enumerate(sys.meta_path) if one is asking)
    return next(filter(None, (finder.find_spec(name, path) for finder in sys.meta_path[at + 1 :])), None)


class Wrapped(Loader):
    """A loader that does something more around the module's code."""

    def __init__(self, loader: Loader, hooks: list[Hook]) -> None:
        self._loader, self._hooks = loader, hooks

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with contextlib.ExitStack() as stack:
            for hook in self._hooks:
                stack.enter_context(hook.around())
            self._loader.exec_module(module)
        for hook in self._hooks:
            hook.after(module)

    def __getattr__(self, name: str) -> Any:
        # Resources and source of the package are asked of the real loader.
        return getattr(self._loader, name)
