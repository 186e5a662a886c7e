"""Numbers that mean something else on several cards: learning rate, seeds, accumulated steps, random splits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.multicard import models
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.passes.multicard.script import Script
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT309",
    name="one-card-number",
    summary="a number that means something else on several cards",
    keywords=("backward",),
)
_SPLITS = frozenset({"torch.utils.data.random_split", "sklearn.model_selection.train_test_split"})


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for call in models.optimizers(script):
        message = "the batch of one step is `WORLD_SIZE` times as large: the learning rate may need scaling"
        fix = "multiply `lr` by `WORLD_SIZE` (with a warm-up), or divide `batch_size` by it"
        yield file.report(RULE, call, State.BENIGN, message, fix)
    seeded = False
    for call in script.flow.calls:
        if file.name(call.func) in ("torch.manual_seed", "torch.random.manual_seed"):
            seeded = True
            message = "all processes start with the same seed: random augmentation repeats on every card"
            yield file.report(RULE, call, State.BENIGN, message, "add `RANK` to the seed after the model is created")
    for call in script.flow.calls:
        if file.name(call.func) in _SPLITS and not seeded and not _is_fixed(file, call):
            message = "each process would split the data in its own way, so test data could be trained on"
            yield file.report(RULE, call, State.HAND, message, "give it a generator or `random_state` with a seed")
    yield from _accumulated(script)


def _is_fixed(file: PyFile, call: ast.Call) -> bool:
    return any(file.keyword(call, word) is not None for word in ("generator", "random_state"))


def _accumulated(script: Script) -> Iterator[Finding]:
    """`if (step + 1) % n == 0: optimizer.step()`: gradients are exchanged in every step, which is right but slow."""
    for loop in script.loops:
        for node in ast.walk(loop.node):
            is_every = isinstance(node, ast.If) and any(isinstance(one, ast.Mod) for one in ast.walk(node.test))
            if is_every and any(script.flow.contains(one, "zero_grad") for one in node.body):  # type: ignore[attr-defined]
                message = "gradients are exchanged in every step, even in accumulating ones"
                fix = "run the accumulating steps under `with model.no_sync():`"
                yield script.file.report(RULE, node.test, State.BENIGN, message, fix)  # type: ignore[attr-defined]
