"""A PyTorch loader that every process would read as a whole: a sampler where the program has processes that meet."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.cloud import helper
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA111",
    name="whole-loader",
    summary="a PyTorch training loop without a distributed sampler",
    keywords=("dataloader",),
)
_OWN = ("sampler", "batch_sampler")


def finish(file: PyFile) -> Iterator[Finding]:
    cloud = file.settings.cloud
    assert cloud is not None
    if cloud.divides_data or b"DistributedSampler" in file.source.data:
        return
    script = scripts.of(file)
    meets = cloud.many_devices or script.distributed is not None
    if not script.backwards or not script.training_loaders:
        return
    for call in script.training_loaders if meets else ():
        if any(file.keyword(call, name) is not None for name in _OWN):
            continue
        edits = _edits(file, call)
        if edits is None:
            fix = "give it `sampler=jumar_cloud.sampler(dataset, shuffle=True)` and `shuffle=jumar_cloud.shuffle(True)`"
            yield file.report(RULE, call, State.HAND, "in a job every process trains on all the data", fix)
            continue
        message = "in a job each process reads its part; `loader.sampler.set_epoch(epoch)` gives each epoch a new order"
        yield file.rewrite(RULE, call, message, *edits, needs=helper.NEEDS, subject="sampler")
    if not meets:
        message = "with more than one device every process would train alone on all the data"
        fix = "`jumar migrate --multi-card` adds samplers and DistributedDataParallel; run it before or after this"
        yield file.report(RULE, script.training_loaders[0], State.HAND, message, fix)


def _edits(file: PyFile, call: ast.Call) -> list[Edit] | None:
    """Only for a loader over a variable: its name stands in the call twice afterwards."""
    data = file.argument(call, 0, "dataset")
    if file.has_stars(call) or not isinstance(data, (ast.Name, ast.Attribute)) or len(call.args) > 2:
        return None
    shuffled = file.keyword(call, "shuffle")
    how = f", shuffle={file.text(shuffled.value)}" if shuffled is not None else ""
    added = lines.add_argument(file, call, f"sampler={helper.NAME}.sampler({file.text(data)}{how})")
    if added is None or shuffled is None:
        return [added] if added is not None else None
    return [added, file.replace(shuffled.value, f"{helper.NAME}.shuffle({file.text(shuffled.value)})")]
