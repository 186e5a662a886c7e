"""What a training script is made of, and whether it can be turned into a distributed one.

Built once per file; the multi-card rules read it and say what to write.
"""

from __future__ import annotations

import ast
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary

from jumar.migrate import lines
from jumar.migrate.passes.multicard import entry, models, program
from jumar.migrate.passes.multicard.entry import ScriptEntry
from jumar.migrate.passes.multicard.models import Model
from jumar.migrate.passes.multicard.program import Program
from jumar.migrate.passes.multicard.training import Training
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Settings
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
    "first_decides",
    "PartOfSampler",
    "PartOfItems",
    "shard_over_cards",
    "full_state_dict",
    "load_full_state_dict",
    "full_optimizer_state_dict",
    "load_full_optimizer_state_dict",
    "save_from_all",
)
"""What the added code is called; a script that has one of them itself is left to a person."""


_scripts: WeakKeyDictionary[PyFile, Script] = WeakKeyDictionary()


def rows(section: str) -> dict[str, object]:
    """A section of the table of names."""
    found: dict[str, object] = table("multicard.toml")[section]
    return found


def of(file: PyFile) -> Script:
    """The analysis of the program that a file belongs to, made on first use."""
    if file not in _scripts:
        script = _whole_program(file)
        if script is None:
            script = Script(Program([file]), file.settings.sharded)
            script.is_part_of_distributed = file.source.path in file.settings.facts.distributed
        else:
            _adopt(file, script.file.files[file.source.path])
        _scripts[file] = script
    return _scripts[file]


def _adopt(file: PyFile, own: PyFile) -> None:
    """Rules ask `file` about nodes of the program, which read the same text once more: from here on it has those."""
    file.tree, file.index, file.lost = own.tree, own.index, own.lost


def _whole_program(file: PyFile) -> Script | None:
    """The program that the file starts, else the first one that uses it and can be made distributed."""
    path = file.source.path
    having = [texts for texts in file.settings.facts.programs if any(path == one for one, _ in texts)]
    having.sort(key=lambda texts: texts[0][0] != path)
    found: list[Script] = []
    for texts in having:
        script = _linked(texts, file.settings.sharded)
        if script is not None and path in script.file.files:
            same = script.file.files[path].source.data == file.source.data
            is_main = texts[0][0] == path
            speaks = any(is_main or script.here(file, one) for one in script.backwards)
            if not same or not (speaks or script.ready):
                continue
            found.append(script)
            if script.ready or is_main:
                return script
    return found[0] if found else None


@lru_cache(maxsize=64)
def _linked(texts: tuple[tuple[str, str], ...], sharded: bool) -> Script | None:
    found = program.read(texts, Settings())
    return Script(found, sharded) if found is not None else None


class Script(Training):
    is_part_of_distributed = False
    """Does another file of its program make it distributed?"""

    def here(self, file: PyFile, node: ast.AST) -> bool:
        """Does a node stand in this file of the program?"""
        return self.file.file_of(node).source.path == file.source.path

    def calls_in(self, file: PyFile) -> list[ast.Call]:
        """The calls in a file of the program that its main file comes to, in order."""
        return self._calls.get(file.source.path, [])

    @cached_property
    def _calls(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for call in filter(self.is_reached, self.flow.calls):
            found.setdefault(self.file.file_of(call).source.path, []).append(call)
        return {path: sorted(calls, key=lambda call: (call.lineno, call.col_offset)) for path, calls in found.items()}

    def is_main(self, file: PyFile) -> bool:
        return self.file.main.source.path == file.source.path

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
        if self.is_part_of_distributed:
            return False
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
        if self.sharded and self._second_derivative:
            return _TWICE
        if self.sharded and self._scalar:
            return f"`{self._scalar}` is a parameter without dimensions, which `fully_shard` refuses", _SCALAR
        return self._crowded

    @property
    def _second_derivative(self) -> bool:
        """Does training take gradients of gradients?"""
        words = [keyword for call in self.flow.calls if self.is_reached(call) for keyword in call.keywords]
        return any(one.arg == "create_graph" and not _is_false(one.value) for one in words)

    @property
    def _scalar(self) -> str:
        """A parameter of a single number in the program: `nn.Parameter(torch.tensor(0.07))`."""
        for call in self.flow.calls:
            if self.file.name(call.func) == "torch.nn.Parameter" and call.args and self._is_number(call.args[0]):
                return self.file.text(call)
        return ""

    def _is_number(self, node: ast.expr) -> bool:
        """`torch.tensor(1.0)`, `torch.ones([])`, and what is computed from one such tensor and numbers."""
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            return any(map(self._is_number, sides)) and all(
                self._is_number(one) or isinstance(one, ast.Constant) for one in sides
            )
        if not isinstance(node, ast.Call) or not node.args:
            return False
        name, first = self.file.name(node.func) or "", node.args[0]
        if name == "torch.tensor":
            return isinstance(first, (ast.Constant, ast.BinOp, ast.UnaryOp))
        if name in ("torch.zeros", "torch.ones", "torch.empty", "torch.rand", "torch.randn"):
            return isinstance(first, (ast.List, ast.Tuple)) and not first.elts
        return name.startswith("torch.") and self._is_number(first)

    @cached_property
    def _crowded(self) -> tuple[str, str] | None:
        """A needed place that shares its line with other code."""
        assert self.entry is not None
        statements = [model.behind for model in self.models]
        statements += [self.flow.bounds[home][0].statement for home in self.foreign_loaders]
        places = [lines.after(self.file.file_of(one), one, []) for one in statements]
        if self.entry.first is not None:
            places.append(lines.before(self.file.main, self.entry.first, []))
        if None in places or entry.end_of_imports(self.file.main) is None:
            return "its imports, its start or its model share a line with other code", "put each on a line of its own"
        return None

    @cached_property
    def models(self) -> list[Model]:
        return models.trained(self)

    @cached_property
    def entry(self) -> ScriptEntry | None:
        return entry.find(self, self.models)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


_TWICE = (
    "it takes gradients of gradients (`create_graph=True`), which a sharded model does not get right",
    "use `--multi-card ddp`",
)
_SCALAR = "give it one element (`torch.tensor([…])`), or use `--multi-card ddp`"
_HAND = "set up the process group where the program starts, as the guide `multi-card` shows"
_NO_LOADER = (
    "this training step does not take its batches from a `DataLoader` made in this file, so the data cannot be split",
    "let each process take its part of the data (`data[RANK::WORLD_SIZE]`), then wrap the model in "
    "`DistributedDataParallel`, as the guide `multi-card` shows",
)
