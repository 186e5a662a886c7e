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
        if file.name(call.func) in _SPLITS and not seeded and not _is_fixed(file, call):
            message = "each process would split the data in its own way, so test data could be trained on"
            yield file.report(RULE, call, State.HAND, message, "give it a generator or `random_state` with a seed")


def _is_fixed(file: PyFile, call: ast.Call) -> bool:
    return any(file.keyword(call, word) is not None for word in ("generator", "random_state"))
