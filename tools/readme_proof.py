"""The table of judges in the README, in both languages, from docs/results/data and the table of versions."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumar.tables import tested

DATA = Path(__file__).parents[1] / "docs" / "results" / "data"
JUDGES = {
    "Ascend/op-plugin `test/test_base_ops`": {
        "en": "the vendor's operator tests (Ascend/op-plugin `test_base_ops`)",
        "zh": "厂商的算子测试（Ascend/op-plugin `test_base_ops`）",
    },
    "Ascend/op-plugin `test/test_custom_ops`": {
        "en": "the vendor's tests of NPU-only operators (`test_custom_ops`)",
        "zh": "厂商的 NPU 专有算子测试（`test_custom_ops`）",
    },
    "Ascend/pytorch `test/nn`": {
        "en": "torch_npu's own tests of layers (Ascend/pytorch `test/nn`)",
        "zh": "torch_npu 自己的网络层测试（Ascend/pytorch `test/nn`）",
    },
    "PyTorch's operator database": {
        "en": "PyTorch's operator database, equal to the CPU bit for bit",
        "zh": "PyTorch 的算子数据库，与 CPU 逐位相同",
    },
}
"""The first row of docs/results/data/emulator.toml that begins so, and how the README calls it."""
WORDS = {
    "en": {
        "head": "| judge | result |\n| --- | --- |",
        "share": "{passed:,} of {total:,} pass ({share:.1f} %)",
        "stacks": "training stacks and vLLM in their newest releases, losses and tokens against the CPU",
        "stacks_result": "{equal} of {count} runs equal",
        "stacks_close": ", {close} in half precision close",
        "pairs": "pairs of torch and torch_npu that run, from {first} to {last}",
        "pairs_result": "{runs} of {count} tried",
        "pages": ("docs/results/emulator.md", "docs/results/ecosystem.md", "docs/results/versions.md"),
    },
    "zh": {
        "head": "| 检验 | 结果 |\n| --- | --- |",
        "share": "{total:,} 个中通过 {passed:,} 个（{share:.1f} %）",
        "stacks": "最新版本的训练框架和 vLLM，损失和 token 与 CPU 比较",
        "stacks_result": "{count} 次运行中 {equal} 次相同",
        "stacks_close": "，{close} 次半精度接近",
        "pairs": "可以运行的 torch 与 torch_npu 组合，从 {first} 到 {last}",
        "pairs_result": "试过的 {count} 组中有 {runs} 组",
        "pages": (
            "docs/results/emulator.zh-CN.md", "docs/results/ecosystem.zh-CN.md", "docs/results/versions.zh-CN.md",
        ),
    },
}  # fmt: skip


def block(language: str) -> str:
    """The table that stands between the marks of the README."""
    return "\n".join(["", str(WORDS[language]["head"]), *_rows(language), "", ""])


def _rows(language: str) -> Iterator[str]:
    words: dict[str, Any] = WORDS[language]
    operators, ecosystem, versions = words["pages"]
    for begin, name in JUDGES.items():
        row = _judge(begin)
        share = words["share"].format(share=100 * row["passed"] / row["total"], **row)
        yield f"| [{name[language]}]({operators}) | {share} |"
    runs = json.loads((DATA / "ecosystem.json").read_text(encoding="utf-8"))
    close = sum(run["state"] == "equal" and "close" in run for run in runs)
    equal = sum(run["state"] == "equal" for run in runs) - close
    result = words["stacks_result"].format(equal=equal, count=len(runs))
    result += words["stacks_close"].format(close=close) if close else ""
    yield f"| [{words['stacks']}]({ecosystem}) | {result} |"
    good = [pair.torch for pair in tested.pairs() if pair.state in ("tested", "runs")]
    good.sort(key=lambda release: [int(part) for part in release.split(".")])
    pairs = words["pairs"].format(first=good[0], last=good[-1])
    result = words["pairs_result"].format(runs=len(good), count=len(tested.pairs()))
    yield f"| [{pairs}]({versions}) | {result} |"


def _judge(begin: str) -> dict[str, Any]:
    sections = tomllib.loads((DATA / "emulator.toml").read_text(encoding="utf-8"))["section"]
    rows = [row for section in sections for row in section.get("judge", [])]
    names = [row["what"] if isinstance(row["what"], str) else row["what"]["en"] for row in rows]
    return next(row for row, name in zip(rows, names, strict=True) if name.startswith(begin))
