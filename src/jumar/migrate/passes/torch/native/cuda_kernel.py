"""A CUDA kernel and its launches: they have to be written anew, replaced by an operator, or left to the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.native import Item
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="CU101",
    name="cuda-kernel",
    summary="a CUDA kernel or its launch",
    keywords=("__global__", "<<<"),
    safety=Safety.SHOW,
)
ADVICE = "use an operator of torch or torch_npu that does the same, write it in Ascend C, or compute it on the CPU"


def visit_items(items: list[Item], file: TextFile) -> Iterator[Finding]:
    launched: dict[str, list[int]] = {}
    for item in items:
        if item.kind == "launch":
            launched.setdefault(item.name, []).append(file.source.line_of(item.start))
    defined = {item.name: item for item in items if item.kind == "kernel"}
    for item in items:
        span = (item.start, item.end)
        if item.kind == "kernel" and defined[item.name] is not item:
            message = f"CUDA kernel `{item.name}`, which is reported below"
            yield file.report(RULE, span, State.BENIGN, message, subject=item.name)
        elif item.kind == "kernel":
            lines = ", ".join(map(str, launched.get(item.name, ())))
            where = f", launched in line {lines}" if lines else ", not launched in this file"
            message = f"CUDA kernel `{item.name}`{where}"
            yield file.report(RULE, span, State.UNSUPPORTED, message, ADVICE, subject=item.name)
        elif item.kind == "launch":
            message = f"launch of the CUDA kernel `{item.name}`"
            if item.name in defined:
                yield file.report(RULE, span, State.BENIGN, f"{message}, which is reported itself", subject=item.name)
            else:
                yield file.report(RULE, span, State.UNSUPPORTED, message, ADVICE, subject=item.name)
