"""The facts of docs/results/versions.md: the state of every pair of torch and torch_npu in tested.toml."""

from __future__ import annotations

from typing import Any

from jumar.tables import tested

_STATES = {
    "tested": {"en": "tested: the whole suite", "zh": "已测试：整个测试集"},
    "runs": {"en": "runs: all checks", "zh": "可运行：全部检查通过"},
    "basic checks": {"en": "some checks", "zh": "部分检查通过"},
    "fails": {"en": "does not run", "zh": "不能运行"},
}
_NEWER = {"recorder", "perf"}
"""Checks that older rows were not asked for."""
_CHECKS = [
    ["`guide`", {"en": "the guides' checks: eight cards, a sum on one of them", "zh": "指南中的检查：八张卡、求和"}],
    ["`cnn`, `gpt`", {"en": "four training steps with the losses of the CPU", "zh": "训练四步，损失与 CPU 相同"}],
    ["`half`", {"en": "mixed precision with loss scaling", "zh": "带损失缩放的混合精度"}],
    ["`fused`", {"en": "an NPU-only operator and its gradient", "zh": "NPU 专有算子及其梯度"}],
    ["`ddp`", {"en": "`jumar launch` with two ranks, the weights of one", "zh": "`jumar launch` 两个 rank，权重不变"}],
    ["`compare`", {"en": "`jumar compare record` writes a record", "zh": "`jumar compare record` 写出记录"}],
    ["`recorder`", {"en": "the recorder in C++ wrote it", "zh": "记录由 C++ 记录器写出"}],
    ["`perf`", {"en": "`jumar perf lint` records the kernels of a training", "zh": "`jumar perf lint` 记录训练的算子"}],
]  # fmt: skip


def page() -> dict[str, Any]:
    return {
        "title": {"en": "Results: pairs of torch and torch_npu", "zh": "结果：torch 与 torch_npu 的组合"},
        "about": {
            "en": "Each pair runs in an environment of its own, with the published wheels, on x86-64. `jumar run` says "
            "so when the installed pair is not in this table.",
            "zh": "每个组合在各自的环境中运行，使用已发布的 wheel，x86-64。"
            "已安装的组合不在此表中时，`jumar run` 会提示。",
        },
        "section": [_pairs(), _what()],
    }


def _pairs() -> dict[str, Any]:
    return {
        "title": {"en": "Pairs", "zh": "组合"},
        "command": "`tools/versions.py --tests CLONE`",
        "about": {
            "en": "The last column counts the cases of every n-th file of op-plugin's `test/test_base_ops`, from the "
            "branch of the release; only what the tests skip themselves is left out.",
            "zh": "最后一列是 op-plugin 的 `test/test_base_ops` 中每隔若干个文件取一个的用例数，取自对应版本的分支；"
            "只有测试自身跳过的用例不计入。",
        },
        "columns": [
            "torch", "torch_npu", "Python", {"en": "state", "zh": "状态"}, {"en": "failed", "zh": "失败"},
            {"en": "vendor's tests", "zh": "厂商测试"}, {"en": "date", "zh": "日期"},
        ],
        "rows": [_row(pair) for pair in tested.pairs()],
    }  # fmt: skip


def _row(pair: tested.Pair) -> list[Any]:
    state: Any = _STATES.get(pair.state, pair.state)
    if pair.state == "runs" and (unasked := sorted(_NEWER - set(pair.passed))):
        names = [f"`{name}`" for name in unasked]
        state = {"en": f"runs; not asked for: {', '.join(names)}", "zh": f"可运行；未检查：{'、'.join(names)}"}
    failed = "; ".join(f"`{name}`" for name in pair.failed_checks)
    sample = f"{pair.sample[0]} / {pair.sample[1]} ({pair.sample_of})" if pair.sample else ""
    python = pair.python or ", ".join(tested.pythons())
    return [pair.torch, pair.torch_npu, python, state, failed, sample, pair.date]


def _what() -> dict[str, Any]:
    return {
        "title": {"en": "Checks", "zh": "检查"},
        "columns": [{"en": "check", "zh": "检查"}, {"en": "what it asks for", "zh": "内容"}],
        "rows": _CHECKS,
    }
