"""`fp16=True` with the default optimizer of the Trainer, `adamw_torch_fused`: the first step fails on NPUs.

accelerate chooses `torch.npu.amp.GradScaler`, which cannot drive torch's fused optimizers (transformers 5.22.2,
accelerate 1.15.0, torch_npu 2.13.0; run in tests/migrate/test_traps.py). `adamw_torch` computes the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PK121",
    name="fp16-default-optimizer",
    summary="fp16 training with the fused default optimizer of the Trainer",
    keywords=("fp16",),
    beside=("transformers", "trl"),
)
_ARGUMENTS = ("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")
_TRL = ("SFTConfig", "DPOConfig", "GRPOConfig", "RewardConfig", "ORPOConfig", "KTOConfig", "PPOConfig")
_WHY = "`torch.npu.amp.GradScaler` cannot drive the fused optimizer, and the first step raises `TypeError`"


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    fp16 = file.keyword(node, "fp16")
    if fp16 is None or not _is_arguments(file.name(node.func) or ""):
        return
    if isinstance(fp16.value, ast.Constant) and fp16.value.value is not True:
        return
    optim = file.keyword(node, "optim")
    if optim is None and not file.has_stars(node):
        message = f"`fp16` with the default optimizer `adamw_torch_fused`: {_WHY}"
        if not isinstance(fp16.value, ast.Constant):
            fix = 'write `optim="adamw_torch"` as well'
            yield file.report(RULE, fp16, State.HAND, message, fix, subject="fp16")
            return
        end = file.source.span(fp16)[1]
        edit = Edit(end, end, b', optim="adamw_torch"')
        yield file.rewrite(RULE, fp16, f'{message}; `optim="adamw_torch"` is added', edit, subject="fp16")
    elif optim is not None and isinstance(optim.value, ast.Constant) and optim.value.value == "adamw_torch_fused":
        edits = file.in_string(optim.value, "adamw_torch_fused", "adamw_torch") or ()
        message = f"`adamw_torch_fused` becomes `adamw_torch`: {_WHY}"
        yield file.rewrite(RULE, optim, message, *edits, subject="fp16")


def _is_arguments(name: str) -> bool:
    package, _, word = name.rpartition(".")
    return name in _ARGUMENTS or (package.partition(".")[0] == "trl" and word in _TRL)
