"""A C++ extension bound to Python in a source that uses CUDA: `PYBIND11_MODULE` or `TORCH_LIBRARY`."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.passes.torch.native.cuda_kernel import ADVICE
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.native import Item
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="CU102",
    name="extension-binding",
    summary="Python bindings of a C++ source that uses CUDA",
    keywords=("pybind11_module", "torch_library"),
    safety=Safety.SHOW,
)


def visit_items(items: list[Item], file: TextFile) -> Iterator[Finding]:
    names = [item.name for item in items if item.kind == "defined"]
    uses_cuda = any(item.kind in ("kernel", "launch", "call") for item in items) or b"cuda" in file.source.data.lower()
    shown = ", ".join(f"`{name}`" for name in dict.fromkeys(names)) or "nothing readable"
    for item in items:
        if item.kind != "binding":
            continue
        span = (item.start, item.end)
        if uses_cuda:
            message = f"extension `{item.name}` exposes {shown} to Python and uses CUDA"
            yield file.report(RULE, span, State.UNSUPPORTED, message, ADVICE, subject=item.name)
        else:
            message = f"extension `{item.name}` exposes {shown} to Python and does not use CUDA"
            yield file.report(RULE, span, State.BENIGN, message, subject=item.name)
