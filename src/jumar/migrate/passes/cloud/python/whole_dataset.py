"""A MindSpore dataset that every device would read as a whole: `num_shards` and `shard_id` give each its part."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.cloud import callers, helper, paths
from jumar.migrate.passes.cloud.paths import Paths
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA107",
    name="whole-dataset",
    summary="a MindSpore dataset that every device reads in full",
    keywords=("dataset",),
)
_FLAGS = ("training", "is_training", "do_train", "is_train", "train", "train_mode", "istrain")
_WORDS = ("usage", "mode", "split", "phase", "status")


def finish(file: PyFile) -> Iterator[Finding]:
    assert file.settings.cloud is not None
    if file.settings.cloud.divides_data or b"num_shards" in file.source.data:
        return
    found = paths.of(file)
    for call in found.flow.calls:
        name = file.name(call.func) or ""
        if not name.startswith("mindspore.dataset.") or found.dataset_class(call) is None:
            continue
        if file.has_stars(call) or file.keyword(call, "sampler") is not None or _is_other(file, found, call):
            continue
        yield _divided(file, found, call)


def _is_other(file: PyFile, found: Paths, call: ast.Call) -> bool:
    """Does a name around the call say that this data is not trained on?"""
    owner = found.flow.owner(call)
    words = [str(getattr(owner, "name", "")), *callers.texts(call)]
    statement = file.statement(call)
    if isinstance(statement, ast.Assign):
        words += [file.text(target) for target in statement.targets]
    return any(callers.OTHER.search(word) for word in words)


def _divided(file: PyFile, found: Paths, call: ast.Call) -> Finding:
    owner = found.flow.owner(call)
    when = _training(owner)
    if when is None and isinstance(owner, ast.FunctionDef) and not _is_called_once(file, found, owner):
        fix = "add `num_shards=jumar_cloud.num_shards(), shard_id=jumar_cloud.shard_id()` if it is training data"
        message = "every device reads this dataset in full; it is unclear whether it is training data"
        return file.report(RULE, call, State.HAND, message, fix, subject="num_shards")
    text = f"num_shards={helper.NAME}.num_shards({when or ''}), shard_id={helper.NAME}.shard_id({when or ''})"
    new = lines.add_argument(file, call, text)
    assert new is not None
    message = "each device reads its part of the training data; one device reads all of it"
    return file.rewrite(RULE, call, message, new, needs=helper.NEEDS, subject="num_shards")


def _is_called_once(file: PyFile, found: Paths, owner: ast.FunctionDef) -> bool:
    assert file.settings.cloud is not None
    return len(found.flow.callers(owner)) == 1 or owner.name in file.settings.cloud.called_once


def _training(owner: ast.AST) -> str | None:
    """The expression over a function's parameters that says whether it makes training data."""
    if not isinstance(owner, ast.FunctionDef):
        return None
    names = [arg.arg for arg in [*owner.args.args, *owner.args.kwonlyargs]]
    flag = next((name for name in names if name.lower() in _FLAGS), None)
    word = next((name for name in names if name.lower() in _WORDS), None)
    return flag or (f'{word} == "train"' if word else None)
