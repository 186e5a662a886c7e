"""`attn_implementation="flash_attention_2"` of transformers, and the questions that lead to it.

transformers runs it on NPUs through `torch_npu.npu_fusion_attention` (integrations/npu_flash_attention.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import shapes
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT202",
    name="flash-attention-choice",
    summary="the choice of flash attention in transformers",
    keywords=("flash_attention_", "flash_attn_2_available", "flash_attn_available", "use_flash_attn"),
    roots=("transformers",),
)
_QUESTIONS = {"is_flash_attn_2_available", "is_flash_attn_3_available", "is_flash_attn_greater_or_equal_2_10"}
_FA3 = "transformers has FlashAttention 3 for CUDA only"


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    if node.value not in ("flash_attention_2", "flash_attention_3") or shapes.is_text(node, file):
        return
    if node.value == "flash_attention_2":
        message = "transformers runs `flash_attention_2` on NPUs through torch_npu; flash_attn itself is not needed"
        yield file.report(RULE, node, State.BENIGN, message, subject="flash_attention_2")
    else:
        fix = "write `flash_attention_2` or `sdpa`"
        yield file.report(RULE, node, State.UNSUPPORTED, _FA3, fix, subject="flash_attention_3")


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    if node.module is None or node.level or node.module.partition(".")[0] != "transformers":
        return
    for alias in node.names:
        if alias.name in _QUESTIONS:
            message = f"`{alias.name}` imports on any machine"
            yield file.report(RULE, alias, State.BENIGN, message, subject=alias.name)


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    last = name.rpartition(".")[2]
    if last in _QUESTIONS:
        message = f"`{last}` is False on an NPU machine, although `flash_attention_2` works"
        fix = "test `is_torch_npu_available() or …`, or use `flash_attention_2` without a test"
        yield file.report(RULE, node, State.HAND, message, fix, subject=name)
