"""A number added up over batches: with the data split over the cards it is only this card's part."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import metrics
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT306",
    name="loss-sum",
    summary="a loss or count added up over the batches of a loop",
    keywords=("import",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for total in metrics.find(script):
        if not script.here(file, total.loop):
            continue
        _, end = file.source.span(total.loop)
        line = f"{total.name} = {total.how or 'mean'}_over_cards({total.name})"
        edit = lines.after(file, total.loop, [line]) if total.how else None
        if edit is not None:
            yield file.rewrite(RULE, (end, end), f"`{total.name}` becomes its {total.how} over all cards", edit)
            continue
        reason = total.reason or "the loop shares its line"
        message = f"`{total.name}` holds only this card's part: {reason}"
        fix = f"after the loop write `mean_over_cards(…)` of the average, or `sum_over_cards({total.name})`"
        yield file.report(RULE, total.step, State.HAND, message, fix)  # type: ignore[arg-type]
