"""A program that starts Megatron without MindSpeed, which has to replace its CUDA parts before they are imported.

MindSpeed's README: `import mindspeed.megatron_adaptor` right under `import torch`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PK181",
    name="megatron-without-mindspeed",
    summary="a program that starts Megatron without MindSpeed",
    keywords=(),
    words=("megatron",),
)
_STARTS = (
    "megatron.core", "megatron.training", "megatron.initialize", "megatron.model", "megatron.inference",
    "megatron.legacy.model", "megatron.text_generation",
)  # fmt: skip
_MESSAGE = "Megatron's kernels are CUDA ones: MindSpeed replaces them when it is imported first"
_FIX = "install MindSpeed and write `import mindspeed.megatron_adaptor` right under `import torch`"


def finish(file: PyFile) -> Iterator[Finding]:
    if not file.is_script or file.imports("mindspeed"):
        return
    start = next((node for node in file.index.imports if _starts_megatron(node)), None)
    if start is None:
        return
    own = "megatron" in file.settings.facts.own_modules
    note = "; it fits the releases of Megatron that its table names, so compare your copy with them" if own else ""
    yield file.report(RULE, file.source.span(start), State.HAND, _MESSAGE + note, _FIX, subject="megatron")


def _starts_megatron(node: ast.Import | ast.ImportFrom) -> bool:
    """Does it import what computes on cards? Tokenizers and datasets do not."""
    if isinstance(node, ast.Import):
        return any(alias.name.startswith(_STARTS) for alias in node.names)
    module = node.module or ""
    if node.level or module.partition(".")[0] != "megatron":
        return False
    return module.startswith(_STARTS) or any(f"{module}.{alias.name}".startswith(_STARTS) for alias in node.names)
