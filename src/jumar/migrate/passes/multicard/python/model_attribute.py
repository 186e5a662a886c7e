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
    keywords=("import",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    for use in [*uses.find(script), *(uses.optimizer_states(script) if script.sharded else ())]:
        if not script.here(file, use.node):
            continue
        if use.reason is None:
            way = "takes or gives the whole state" if script.sharded else "goes through the unwrapped model"
            message = f"{use.what} {way}"
            yield file.rewrite(RULE, use.node, message, file.replace(use.node, use.spelling))
        else:
            fix = "move the method's work into `forward` and call the model itself"
            if "a part of each" in use.reason:
                fix = "gather the values on all processes: `parameter.full_tensor()`, also for `parameter.grad`"
            elif "sharded" in use.reason or "unclear" in use.reason:
                fix = _FIX_SHARDS
            if use.what.endswith(".cpu()`"):
                fix = f"keep `{use.spelling}` on its card; move a copy of its `state_dict()` instead"
            yield file.report(RULE, use.node, State.HAND, f"{use.what}: {use.reason}", fix)


_FIX_SHARDS = (
    "use the whole states: `full_state_dict(model)`, `full_optimizer_state_dict(model, optimizer)`; make copies before "
    "the model is sharded"
)
