"""Two sections of docs/results/parallel.md: predictions against compiled dry runs, and published plans beside ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "results" / "data"
sys.path.insert(0, str(ROOT / "bench"))
import parallel_compiled  # noqa: E402  a tool of another folder, also when this file is loaded by its path

MIB = 1 << 20


def sections() -> list[dict[str, Any]]:
    return [_compiled(), _published()]


def _compiled() -> dict[str, Any]:
    """Predicted by the model as it is now, compiled as recorded."""
    data = json.loads((DATA / "parallel_compiled.json").read_text(encoding="utf-8"))
    rows, within = [], 0
    done = [row for row in data["rows"] if "compiled" in row]
    for row in done:
        memory, volume = parallel_compiled.compare(row)
        error = memory / row["compiled"] - 1
        within += abs(error) <= 0.08
        sent = f"{100 * (volume / row['sent'] - 1):+.1f} %" if row["sent"] else ""
        rows.append([str(row["number"]), parallel_compiled.what(row), parallel_compiled.plan(row), f"{memory // MIB:,}",
                     f"{row['compiled'] // MIB:,}", f"{100 * error:+.1f} %", sent])  # fmt: skip
    count = len(data["rows"])
    unseen = [row for row in done if row["number"] not in parallel_compiled.SEEN]
    good = sum(abs(parallel_compiled.compare(row)[0] / row["compiled"] - 1) <= 0.08 for row in unseen)
    return {
        "title": {"en": "MindSpore: settings drawn at random", "zh": "MindSpore：随机抽取的设置"},
        "date": data["date"], "command": "`bench/parallel_compiled.py`", "versions": "MindSpore 2.10.0, dry run",
        "columns": ["", {"en": "network", "zh": "网络"}, {"en": "plan and stage", "zh": "方案与流水线级"},
                    {"en": "predicted, MiB", "zh": "预测，MiB"}, {"en": "compiled, MiB", "zh": "编译，MiB"},
                    {"en": "memory", "zh": "内存"}, {"en": "communication", "zh": "通信量"}],
        "rows": rows,
        "after": {
            "en": f"{len(done)} of {count} settings, drawn by seed {data['seed']} before any was compiled, were "
                  f"compiled; {within} are within 8 % of memory. The model was mended with 0 to 7 and 12 in view "
                  "(gathered weights at the optimizer, heads of interleaved stages, gradients made before the loss); "
                  f"of the {len(unseen)} others, {good} are within 8 %. The printed error bar is that of all of them.",
            "zh": f"{count} 个设置由种子 {data['seed']} 在编译之前抽取，已编译 {len(done)} 个；"
                  f"其中 {within} 个的内存误差不超过 8 %。模型曾对照编号 0 到 7 和 12 修正"
                  "（优化器运行时的已聚合权重、交错流水线的输出层、损失之前生成的梯度）；"
                  f"其余 {len(unseen)} 个中有 {good} 个不超过 8 %。输出中的误差范围来自全部设置。",
        },
    }  # fmt: skip


def _published() -> dict[str, Any]:
    data = json.loads((DATA / "parallel_published.json").read_text(encoding="utf-8"))
    rows = []
    for row in data["rows"]:
        gib = f"{row['gib']} GiB"
        first = "<br>".join(f"{name} ({ratio:.2f})" for name, ratio in row["first"])
        fits = {"en": f"{gib}, {'fits' if row['fits'] else 'does not fit'}",
                "zh": f"{gib}，{'放得下' if row['fits'] else '放不下'}"}  # fmt: skip
        place = str(row["place"]) if row["place"] else {"en": "later", "zh": "更后"}
        rows.append([row["name"], row["source"], f"{row['cards']:,}", row["published"], fits, f"{row['ratio']:.2f}",
                     place, first, row["why"]])  # fmt: skip
    return {
        "title": {"en": "Published plans", "zh": "公开的方案"},
        "date": data["date"], "command": "`bench/parallel_published.py`",
        "columns": [{"en": "run", "zh": "训练"}, {"en": "source", "zh": "来源"}, {"en": "cards", "zh": "卡数"},
                    {"en": "published", "zh": "公开的方案"}, {"en": "in our model", "zh": "按我们的模型"},
                    {"en": "its step / our fastest", "zh": "其一步 / 我们最快"},
                    {"en": "place of its shape", "zh": "其形状的名次"},
                    {"en": "our first five (step / fastest)", "zh": "我们的前五个（一步 / 最快）"},
                    {"en": "why they differ", "zh": "差异的原因"}],
        "rows": rows,
        "after": {
            "en": "Shape: tp, pp, ep and cp. Times are modelled with the constants of the machines of the runs "
                  "(bench/published_plans.toml). Ours are the best of all plans, also of those not generated.",
            "zh": "形状：tp、pp、ep 和 cp。时间用这些训练所用机器的常数建模（bench/published_plans.toml）。"
                  "我们的是所有方案中最快的，包括不能生成的方案。",
        },
    }  # fmt: skip
