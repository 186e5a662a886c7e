"""A PyTorch loader that every process would read as a whole: points to the conversion for many cards."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA111",
    name="whole-loader",
    summary="a PyTorch training loop without a distributed sampler",
    keywords=("dataloader",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    assert file.settings.cloud is not None
    if file.settings.cloud.many_devices or b"DistributedSampler" in file.source.data:
        return
    script = scripts.of(file)
    if not script.backwards or script.distributed is not None or not script.training_loaders:
        return
    message = "with more than one device every process would train on all the data, for itself"
    fix = "`jumar migrate --multi-card` adds samplers and DistributedDataParallel; run it before or after this"
    yield file.report(RULE, script.training_loaders[0], State.HAND, message, fix)
