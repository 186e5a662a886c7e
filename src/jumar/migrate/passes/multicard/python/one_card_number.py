"""Numbers that mean something else on several cards: learning rate, seeds, random splits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.multicard import models
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT309",
    name="one-card-number",
    summary="a number that means something else on several cards",
    keywords=("import",),
)
_SPLITS = frozenset({"torch.utils.data.random_split", "sklearn.model_selection.train_test_split"})


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    calls = script.calls_in(file)
    for call in models.optimizers(script):
        if not script.here(file, call):
            continue
        message = "the batch of one step is `WORLD_SIZE` times as large: the learning rate may need scaling"
        fix = "multiply `lr` by `WORLD_SIZE` (with a warm-up), or divide `batch_size` by it"
        yield file.report(RULE, call, State.BENIGN, message, fix)
    seeded = False
    for call in calls:
        if file.name(call.func) in ("torch.manual_seed", "torch.random.manual_seed"):
            seeded = True
            message = "all processes start with the same seed: random augmentation repeats on every card"
            yield file.report(RULE, call, State.BENIGN, message, "add `RANK` to the seed after the model is created")
    for call in calls:
        name = file.name(call.func) or ""
        if name.startswith("torch.optim.lr_scheduler.") and _counts_samples(file, call):
            message = "this schedule counts steps of one card: each process takes `WORLD_SIZE` times fewer"
            yield file.report(RULE, call, State.HAND, message, "count the steps with `len(train_loader)`")
        elif _is_double(file, call) and _is_model(script, call):
            message = "HCCL has no float64: the gradients of this model cannot be exchanged"
            yield file.report(RULE, call, State.HAND, message, "train in float32")
    for call in calls:
        if file.name(call.func) in _SPLITS and not seeded and not _is_fixed(file, call):
            message = "each process would split the data in its own way, so test data could be trained on"
            yield file.report(RULE, call, State.HAND, message, "give it a generator or `random_state` with a seed")


def _is_model(script: scripts.Script, call: ast.Call) -> bool:
    """Is this about a model that is trained, or about all of them?"""
    if not isinstance(call.func, ast.Attribute) or call.args:
        return True
    var, statement = script.flow.var(call.func.value), script.file.statement(call)
    return any(
        var in model.aliases or statement in [bound.statement for bound in script.flow.bounds[model.home]]
        for model in script.models
    )


def _counts_samples(file: PyFile, call: ast.Call) -> bool:
    """Does a schedule count its steps from the size of the data and the batch, not from the length of a loader?"""
    text = file.text(call)
    return "batch_size" in text and ("//" in text or "/" in text) and "len(" in text


def _is_double(file: PyFile, call: ast.Call) -> bool:
    name, func = file.name(call.func), call.func
    if name in ("torch.set_default_dtype", "torch.set_default_tensor_type") and call.args:
        return any(word in file.text(call.args[0]) for word in ("float64", "double", "Double"))
    return isinstance(func, ast.Attribute) and func.attr == "double" and not call.args and name is None


def _is_fixed(file: PyFile, call: ast.Call) -> bool:
    return any(file.keyword(call, word) is not None for word in ("generator", "random_state"))
