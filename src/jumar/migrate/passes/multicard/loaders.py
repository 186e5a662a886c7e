"""How a training loader gets its part of the data: the `DistributedSampler`, and the handling of `shuffle`."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jumar.core.compat import zip
from jumar.core.edit import Edit
from jumar.migrate import lines
from jumar.migrate.flow import Var
from jumar.migrate.passes.multicard import text
from jumar.migrate.passes.multicard.script import Script
from jumar.migrate.pyfile import PyFile


class Split(NamedTuple):
    """The edits that split a loader's data over the cards, or why that is left to a person and what to write."""

    edits: tuple[Edit, ...] = ()
    reason: str = ""
    fix: str = ""
    is_told_epochs: bool = True
    """Does its sampler want to hear the epoch?"""


def split(script: Script, call: ast.Call) -> Split:
    file = script.file.file_of(call)
    dataset = file.argument(call, 0, "dataset")
    if dataset is None or any(isinstance(arg, ast.Starred) for arg in call.args):
        return Split((), "its dataset is hidden in `*` or `**`", _FIX.format("dataset"))
    empty = file.keyword(call, "sampler")
    own = empty if empty is not None and not _is_none(empty.value) else None
    if file.keyword(call, "batch_sampler") is not None or len(call.args) > 3:
        return Split((), "it has its own sampler", _OWN_SAMPLER)
    if own is not None:
        return _part_of_sampler(file, own.value)
    if _is_iterable(script, dataset):
        start, end = file.source.span(dataset)
        return Split((Edit(start, start, b"PartOfItems("), Edit(end, end, b")")), is_told_epochs=False)
    name, edits = _named(script, dataset)
    if name is None:
        return Split((), "its dataset is made inside another expression", _FIX.format("dataset"))
    stars = [keyword for keyword in call.keywords if keyword.arg is None]
    shuffle = file.keyword(call, "shuffle")
    hidden = [star for star in stars if (keys := keys_of(script, star.value)) is None or "sampler" in " ".join(keys)]
    if hidden:
        kept = file.text(hidden[0].value)
        return Split((), f"`**{kept}` may hold `shuffle` or a sampler", _STARS.format(name, kept))
    shuffling = [star for star in stars if "shuffle" in (keys_of(script, star.value) or ())]
    if empty is not None:
        order = shuffle.value if shuffle is not None else call.args[2] if len(call.args) == 3 else None
        if shuffling:
            return Split((), "`shuffle` is hidden in `**`", _STARS.format(name, file.text(shuffling[0].value)))
        new = text.sampler(name, file.text(order) if order is not None else "False")
        off = (file.replace(order, "False"),) if order is not None else ()
        return Split((*edits, file.replace(empty.value, new), *off))
    if shuffling:
        words = file.text(shuffling[0].value)
        added = lines.add_argument(file, call, "sampler=" + text.sampler(name, f'{words}.get("shuffle", False)'))
        emptied = file.replace(shuffling[0], f'**{{**{words}, "shuffle": False}}')
        return Split((*edits, added, emptied) if added else ())
    if shuffle is not None:
        new = "sampler=" + text.sampler(name, file.text(shuffle.value))
        return Split((*edits, file.replace(shuffle, new)))
    if len(call.args) == 3:
        return Split((*edits, file.replace(call.args[2], "sampler=" + text.sampler(name, file.text(call.args[2])))))
    added = lines.add_argument(file, call, "sampler=" + text.sampler(name, "False"))
    return Split((*edits, added)) if added else Split((), "arguments cannot be added to it", _FIX.format(name))


def _part_of_sampler(file: PyFile, own: ast.expr) -> Split:
    """A sampler of the script's own: each process takes every `WORLD_SIZE`-th of its indices."""
    start, end = file.source.span(own)
    if isinstance(own, ast.IfExp):  # `sampler=MySampler() if balanced else None`
        if not _is_none(own.orelse) and not _is_none(own.body):
            return Split((Edit(start, start, b"PartOfSampler("), Edit(end, end, b")")), is_told_epochs=False)
        return Split((), "it may have a sampler of its own", _OWN_SAMPLER)
    if isinstance(own, ast.Name) and "Distributed" in own.id:
        return Split((), "it has its own sampler", _OWN_SAMPLER)
    return Split((Edit(start, start, b"PartOfSampler("), Edit(end, end, b")")), is_told_epochs=False)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _named(script: Script, dataset: ast.expr) -> tuple[str | None, tuple[Edit, ...]]:
    """The dataset's spelling; one that is made in place gets a name there."""
    file = script.file.file_of(dataset)
    at: ast.AST = dataset
    while isinstance(at, (ast.Attribute, ast.Subscript)):
        at = at.value
    if isinstance(at, ast.Name):
        return file.text(dataset), ()
    up = file.parent(dataset)
    scopes = (ast.ClassDef, ast.Lambda, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
    if not isinstance(dataset, ast.Call) or any(isinstance(one, scopes) for one in _to_function(script, dataset)):
        return None, ()
    taken = {var.name for var in script.flow.uses}
    name = next(word for word in ("train_set", "train_dataset", "training_set_", "train_set_") if word not in taken)
    start, end = file.source.span(dataset)
    is_keyword = isinstance(up, ast.keyword)
    head, tail = ("(", ")") if is_keyword else ("", "")
    edits = [Edit(start, start, f"{head}{name} := ".encode())]
    if tail:
        edits.append(Edit(end, end, tail.encode()))
    return name, tuple(edits)


def _to_function(script: Script, node: ast.AST) -> list[ast.AST]:
    found = []
    for up in script.file.ancestors(node):
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break
        found.append(up)
    return found


def _is_iterable(script: Script, dataset: ast.expr) -> bool:
    for origin in script.flow.origins(dataset):
        for target in script.flow.callees(origin) if isinstance(origin, ast.Call) else ():
            if isinstance(target, ast.ClassDef):
                bases = [script.file.text(base) for base in target.bases]
                return any(base.rpartition(".")[2] in {"IterableDataset", "IterDataPipe"} for base in bases)
    return False


def keys_of(script: Script, node: ast.expr, seen: frozenset[Var] = frozenset()) -> frozenset[str] | None:
    """Every key that a dict passed with `**` can hold, or None when that cannot be told."""
    if isinstance(node, ast.IfExp):
        return _union(keys_of(script, node.body, seen), keys_of(script, node.orelse, seen))
    if isinstance(node, ast.Dict):
        found: frozenset[str] | None = frozenset()
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                found = _union(found, frozenset({str(key.value)}))
            else:
                found = _union(found, keys_of(script, value, seen) if key is None else None)
        return found
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
        named = frozenset(keyword.arg for keyword in node.keywords if keyword.arg is not None)
        return named if len(named) == len(node.keywords) else None
    var = script.flow.var(node)
    if var is None or var in seen:
        return None if var is None else frozenset()
    return _keys_of_variable(script, var, seen | {var})


def _keys_of_variable(script: Script, var: Var, seen: frozenset[Var]) -> frozenset[str] | None:
    values: list[ast.expr | None] = [bound.value for bound in script.flow.bounds.get(var, ())]
    if script.flow.parameter(var) is not None:
        values += script.flow.arguments(var)
    if not values:
        return None
    found: frozenset[str] | None = frozenset()
    for value in values:
        found = _union(found, keys_of(script, value, seen) if value is not None else None)
    for use in script.flow.uses.get(var, ()):
        found = _union(found, _added_keys(script, use, seen))
    return found


def _added_keys(script: Script, use: ast.expr, seen: frozenset[Var]) -> frozenset[str] | None:
    """The keys that `kwargs.update(…)` or `kwargs["key"] = …` adds."""
    up = script.file.parent(use)
    if isinstance(up, ast.Subscript) and up.value is use and isinstance(up.ctx, ast.Store):
        return frozenset({str(up.slice.value)}) if isinstance(up.slice, ast.Constant) else None
    if isinstance(up, ast.Attribute) and up.attr == "update":
        call = script.file.parent(up)
        if isinstance(call, ast.Call):
            found: frozenset[str] | None = frozenset(kw.arg for kw in call.keywords if kw.arg is not None)
            for value in [*call.args, *(kw.value for kw in call.keywords if kw.arg is None)]:
                found = _union(found, keys_of(script, value, seen))
            return found
    if isinstance(up, ast.Attribute) and up.attr == "setdefault":
        return None
    return frozenset()


def _union(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other


_FIX = (
    "give the loader `sampler=DistributedSampler({}, num_replicas=WORLD_SIZE, rank=RANK, shuffle=True)`, no `shuffle`"
)
_OWN_SAMPLER = (
    "let the sampler give each process its part: `DistributedSampler(dataset, num_replicas=WORLD_SIZE, rank=RANK)`, "
    "or take every `WORLD_SIZE`-th index from `RANK` on in your sampler"
)
_STARS = (
    "write `sampler=DistributedSampler({0}, num_replicas=WORLD_SIZE, rank=RANK, shuffle=True), "
    '**{{**{1}, "shuffle": False}}`'
)
