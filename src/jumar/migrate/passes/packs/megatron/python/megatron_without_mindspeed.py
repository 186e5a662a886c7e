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
    keywords=("megatron",),
)
_MESSAGE = "Megatron's kernels are CUDA ones: MindSpeed replaces them when it is imported first"
_FIX = "install MindSpeed and write `import mindspeed.megatron_adaptor` right under `import torch`"


def finish(file: PyFile) -> Iterator[Finding]:
    if not file.is_script or file.imports("mindspeed"):
        return
    for node in file.index.imports:
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if not node.level else []
        else:
            names = [alias.name for alias in node.names]
        if any(name == "megatron" or name.startswith("megatron.") for name in names):
            own = "megatron" in file.settings.facts.own_modules
            note = (
                "; it fits the releases of Megatron that its table names, so compare your copy with them" if own else ""
            )
            yield file.report(RULE, file.source.span(node), State.HAND, _MESSAGE + note, _FIX, subject="megatron")
            return
