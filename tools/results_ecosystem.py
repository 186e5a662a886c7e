"""The facts of docs/results/ecosystem.md: what tools/ecosystem.py wrote about each stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROWS = Path(__file__).parents[1] / "docs" / "results" / "data" / "ecosystem.json"
_STATES = {
    "loss": {
        "equal": {"en": "trains; losses equal", "zh": "可训练；损失一致"},
        "differs": {"en": "trains; losses differ", "zh": "可训练；损失不同"},
        "runs": {"en": "trains; nothing to compare with", "zh": "可训练；无对照"},
    },
    "token": {
        "equal": {"en": "generates; tokens equal", "zh": "可生成；token 一致"},
        "differs": {"en": "generates; tokens differ", "zh": "可生成；token 不同"},
        "runs": {"en": "generates; nothing to compare with", "zh": "可生成；无对照"},
    },
}
_NOTHING = {
    "fails": {"en": "does not run", "zh": "不能运行"},
    "not installed": {"en": "cannot be installed", "zh": "无法安装"},
}


def page() -> dict[str, Any]:
    return {
        "title": {
            "en": "Results: training and inference stacks on emulated cards",
            "zh": "结果：训练和推理框架在仿真卡上运行",
        },
        "about": {
            "en": "Each script of [examples/ecosystem](../../examples/ecosystem) trains a tiny model with random "
            "weights, in an environment of its own. Its losses are compared with those of the same script on the CPU. "
            "Losses are equal when they differ by at most 0.002 %; in half precision, which card and CPU round in "
            "other places, the result names the distance. Stacks for inference generate text instead, and every token "
            "must be the same.",
            "zh": "[examples/ecosystem](../../examples/ecosystem) 中的每个脚本在各自的环境中训练一个随机权重的小模型。"
            "其损失与同一脚本在 CPU 上的损失比较；相差不超过 0.002 % 即为一致；"
            "半精度时卡与 CPU 的舍入位置不同，结果中写明相差的范围。"
            "用于推理的框架则生成文本，每个 token 都必须相同。",
        },
        "section": [_stacks()],
    }


def _stacks() -> dict[str, Any]:
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    return {
        "title": {"en": "Stacks", "zh": "框架"},
        "command": "`tools/ecosystem.py`",
        "columns": [
            {"en": "stack", "zh": "框架"}, {"en": "command", "zh": "命令"}, {"en": "result", "zh": "结果"},
            {"en": "steps", "zh": "步数"}, {"en": "versions", "zh": "版本"}, {"en": "date", "zh": "日期"},
            {"en": "note", "zh": "说明"},
        ],
        "rows": [_row(row) for row in rows],
    }  # fmt: skip


def _row(row: dict[str, Any]) -> list[Any]:
    note = row["why"].replace("|", "&#124;")
    state = {**_NOTHING, **_STATES[row.get("kind", "loss")]}[row["state"]]
    if row["state"] == "equal" and "close" in row:
        within = f"{100 * row['close']:g} %"
        state = {"en": f"trains; losses within {within}", "zh": f"可训练；损失相差不超过 {within}"}
    return [row["name"], f"`{row['command']}`", state, row["steps"], row["versions"], row["date"], note]
