"""The loader of the training data: each process gets its part through a `DistributedSampler`."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import loaders
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT302",
    name="training-loader",
    summary="the loader of the training data",
    keywords=("import",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for call in script.training_loaders:
        if not script.here(file, call):
            continue
        plan = loaders.split(script, call)
        if plan.edits:
            message = "the training data is split over the cards; `batch_size` counts per card"
            yield file.rewrite(RULE, call, message, *plan.edits)
        else:
            yield file.report(RULE, call, State.HAND, f"the training data is not split: {plan.reason}", plan.fix)
    for home in script.foreign_loaders:
        statement = script.flow.bounds[home][0].statement
        if not script.here(file, statement):
            continue
        edit = lines.after(file, statement, [f"{home.name} = split_over_cards({home.name})"])
        message = f"the data of `{home.name}` is split over the cards; its batch size counts per card"
        assert edit is not None
        yield file.rewrite(RULE, statement, message, edit)
