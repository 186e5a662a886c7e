"""Arguments of the transformers Trainer and of `from_pretrained` that only work with CUDA."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.around import Place, about_option
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import shapes
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT205",
    name="trainer-argument",
    summary="an argument of transformers that only works with CUDA",
    keywords=("tf32", "no_cuda", "apex_fused", "_8bit", "_4bit", "paged_", "torch_fused", "multi_gpu"),
)
_BITSANDBYTES = ("adamw_bnb_8bit", "adamw_8bit", "lion_8bit", "ademamix_8bit", "rmsprop_bnb", "ademamix")
_ADAMW = "adamw_torch"
# Not `adamw_torch_npu_fused`: the Trainer calls `model.zero_grad()`, which does not reach its joined gradients (PK120).


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    value = node.value
    if not isinstance(value, str) or "_" not in value or " " in value or shapes.is_text(node, file):
        return
    if value == "adamw_apex_fused":
        edits = file.in_string(node, value, _ADAMW)
        message = f"optimizer `{value}` becomes `{_ADAMW}`: apex is compiled for CUDA"
        if edits:
            yield file.rewrite(RULE, node, message, *edits, subject=value, styles=WRITTEN_STYLES)
        else:
            yield file.report(RULE, node, State.HAND, message, f"write `{_ADAMW}`", subject=value)
    elif value == "adamw_torch_fused":
        message = f"`{value}` works on NPUs, but not together with fp16 loss scaling"
        yield file.report(RULE, node, State.BENIGN, message, subject=value)
    elif value in _BITSANDBYTES or value.startswith(("paged_adamw", "paged_lion", "rmsprop_bnb")):
        message = f"optimizer `{value}` comes from bitsandbytes, which has no NPU backend"
        yield file.report(RULE, node, State.UNSUPPORTED, message, f"write `{_ADAMW}`", subject=value)


def visit_keyword(node: ast.keyword, file: PyFile) -> Iterator[Finding]:
    if node.arg not in ("tf32", "no_cuda", "load_in_8bit", "load_in_4bit"):
        return
    if isinstance(node.value, ast.Constant) and not node.value.value:
        return
    call = file.parent(node)
    word = shapes.last_word(call.func) if isinstance(call, ast.Call) else ""
    if node.arg == "tf32" and word.endswith(("Arguments", "Config")):
        fix = "leave it out and set `torch.npu.matmul.allow_hf32 = True`"
        yield file.report(RULE, node, State.HAND, "`tf32` raises an error without an Ampere card", fix)
    elif node.arg == "no_cuda" and word.endswith("Arguments"):
        yield file.report(
            RULE, node, State.BENIGN, "`no_cuda` means the CPU on every machine; `use_cpu` is its new name"
        )
    elif node.arg in ("load_in_8bit", "load_in_4bit"):
        fix = "load in bfloat16, or quantize with msModelSlim"
        message = f"`{node.arg}` needs bitsandbytes, which has no NPU backend"
        yield file.report(RULE, node, State.UNSUPPORTED, message, fix, subject=node.arg)


def visit_Attribute(node: ast.Attribute, file: PyFile) -> Iterator[Finding]:
    if node.attr == "MULTI_GPU" and (file.name(node) or "").startswith("accelerate."):
        yield file.report(RULE, node, State.HAND, "accelerate calls several NPUs `MULTI_NPU`", "add that case")


def noise(finding: Finding, place: Place) -> str:
    return about_option(place)
