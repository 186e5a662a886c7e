"""An option of the script that holds a path, and its value in a job."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.cloud import options
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA102",
    name="path-option",
    summary="an option that holds a path or describes devices",
    keywords=("add_argument",),
)
SAID = {
    "data": "is set from `--data_url`: the part of the data that its value names, otherwise all of it",
    "results": "is below `--train_url`",
    "start": "may also be an address: pass it as a job input; a folder with one file means that file",
    "config": "is searched beside the script, because a job does not start in the code folder",
    "id": "is the `DEVICE_ID` of the process",
    "rank": "is the `RANK_ID` of the process",
    "count": "is the job's `RANK_SIZE`",
    "many": "is true when the job has more than one device",
    "target": "is `Ascend` in a job",
    "job": "is true in a job, so that the script sends its results itself",
}


def finish(file: PyFile) -> Iterator[Finding]:
    line = options.of(file)
    if not line.sites or line.is_hidden or any(line.is_staged(call) for call in line.sites):
        return
    for option in line.options:
        kind = line.kinds.get(option.name) or line.devices.get(option.name)
        if kind is not None:
            yield file.rewrite(RULE, option.call, f"`--{option.name}` {SAID[kind]}", subject=option.name)
        elif line.is_unsure(option):
            message = f"`--{option.name}` looks like a path; nothing in the program says what for, so it stays as it is"
            fix = f'add "{option.name}" to `data` or `results` of `jumar_cloud.add_arguments`'
            yield file.report(RULE, option.call, State.HAND, message, fix, subject=option.name)
