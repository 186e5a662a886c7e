"""The wrapped model used for something its wrapper does not carry: attributes, methods, `state_dict`, saving."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.passes.multicard import uses
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT305",
    name="model-attribute",
    summary="an attribute of the trained model that its wrapper does not have",
    keywords=("backward",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for use in uses.find(script):
        if use.reason is None:
            message = f"{use.what} goes through the unwrapped model"
            yield file.rewrite(RULE, use.node, message, file.replace(use.node, use.spelling))
        else:
            fix = "move the method's work into `forward` and call the model itself"
            if use.what.endswith(".cpu()`"):
                fix = f"keep `{use.spelling}` on its card; move a copy of its `state_dict()` instead"
            yield file.report(RULE, use.node, State.HAND, f"{use.what}: {use.reason}", fix)
