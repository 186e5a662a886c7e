"""What a training script is made of, and whether it can be turned into a distributed one.

Built once per file; the multi-card rules read it and say what to write.
"""

from __future__ import annotations

import ast
from functools import cached_property
from weakref import WeakKeyDictionary

from jumar.migrate import lines
from jumar.migrate.passes.multicard import entry, models
from jumar.migrate.passes.multicard.entry import ScriptEntry
from jumar.migrate.passes.multicard.models import Model
from jumar.migrate.passes.multicard.training import Training
from jumar.migrate.pyfile import PyFile
from jumar.tables.load import table

NAMES = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "CARD",
    "unwrapped",
    "sum_over_cards",
    "mean_over_cards",
    "split_over_cards",
)
"""What the added code is called; a script that has one of them itself is left to a person."""


_scripts: WeakKeyDictionary[PyFile, Script] = WeakKeyDictionary()


def of(file: PyFile) -> Script:
    """The analysis of a file, made on first use."""
    if file not in _scripts:
        _scripts[file] = Script(file)
    return _scripts[file]


class Script(Training):
    @cached_property
    def distributed(self) -> tuple[ast.expr, str, str] | None:
        """The name that says the script is distributed already, with its full form and its note."""
        rows = table("multicard.toml")["distributed"]
        found: list[tuple[ast.expr, str, str]] = []
        for kind in (ast.Attribute, ast.Name):
            for node in self.file.index.nodes[kind]:
                name = None if isinstance(self.file.parent(node), ast.Attribute) else self.file.name(node)
                if name is None:
                    continue
                assert isinstance(node, ast.expr)
                found += [(node, name, rows[row]) for row in rows if name == row or name.startswith(row + ".")]
        return min(found, key=lambda one: ("multiprocessing" in one[1], one[0].lineno), default=None)

    @cached_property
    def taken(self) -> str | None:
        """A name of the script itself that the added code would hide."""
        for scope in {id(scope): scope for scope in self.file.index.scope.values()}.values():
            for name in NAMES:
                if name in scope.bindings:
                    return name
        return None

    @property
    def ready(self) -> bool:
        """Can the script be turned into a distributed one?"""
        return bool(self.backwards) and self.distributed is None and self.obstacle is None

    @cached_property
    def obstacle(self) -> tuple[str, str] | None:
        """Why a script with a training step is left to a person, and what to do."""
        if self.taken is not None:
            return f"the script already uses the name `{self.taken}`", f"rename `{self.taken}` and run again"
        if not self.loops:
            return _NO_LOADER
        if self.entry is None:
            return "no main program in this file reaches this training step", _HAND
        if not self.models:
            return "it is unclear which model is trained", _HAND
        if not self.training_loaders and not self.foreign_loaders:
            return "it is unclear which loader holds the training data", _HAND
        return self._crowded

    @cached_property
    def _crowded(self) -> tuple[str, str] | None:
        """A needed place that shares its line with other code."""
        assert self.entry is not None
        places = [lines.after(self.file, model.behind, []) for model in self.models]
        for home in self.foreign_loaders:
            places.append(lines.after(self.file, self.flow.bounds[home][0].statement, []))
        if self.entry.first is not None:
            places.append(lines.before(self.file, self.entry.first, []))
        if None in places or entry.end_of_imports(self) is None:
            return "its imports, its start or its model share a line with other code", "put each on a line of its own"
        return None

    @cached_property
    def models(self) -> list[Model]:
        return models.trained(self)

    @cached_property
    def entry(self) -> ScriptEntry | None:
        return entry.find(self, self.models)


_HAND = "set up the process group where the program starts, as the guide `multi-card` shows"
_NO_LOADER = (
    "this training step does not take its batches from a `DataLoader` made in this file, so the data cannot be split",
    "let each process take its part of the data (`data[RANK::WORLD_SIZE]`), then wrap the model in "
    "`DistributedDataParallel`, as the guide `multi-card` shows",
)
