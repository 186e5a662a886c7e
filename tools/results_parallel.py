"""Sections of docs/results/parallel.md: predictions against compiled dry runs, and published plans beside ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from jumar.core.compat import tomllib

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "results" / "data"
sys.path.insert(0, str(ROOT / "bench"))
import parallel_compiled  # noqa: E402  a tool of another folder, also when this file is loaded by its path

MIB = 1 << 20


def sections() -> list[dict[str, Any]]:
    return [_compiled(), _proved(), _hub(), _published(), _times()]


def _compiled() -> dict[str, Any]:
    """Predicted by the model as it is now, compiled as recorded."""
    data = json.loads((DATA / "parallel_compiled.json").read_text(encoding="utf-8"))
    rows, within = [], 0
    done = [row for row in data["rows"] if "compiled" in row]
    for row in done:
        memory, volume = parallel_compiled.compare(row)
        error = memory / row["compiled"] - 1
        within += abs(error) <= 0.08 and not parallel_compiled.half(row)
        sent = f"{100 * (volume / row['sent'] - 1):+.1f} %" if row["sent"] else ""
        rows.append([str(row["number"]), parallel_compiled.what(row), parallel_compiled.plan(row), f"{memory // MIB:,}",
                     f"{row['compiled'] // MIB:,}", f"{100 * error:+.1f} %", sent])  # fmt: skip
    count = sum(not parallel_compiled.half(row) for row in data["rows"])
    whole = [row for row in done if not parallel_compiled.half(row)]
    unseen = [row for row in whole if row["number"] not in parallel_compiled.SEEN]
    good = sum(abs(parallel_compiled.compare(row)[0] / row["compiled"] - 1) <= 0.08 for row in unseen)
    late, zh_late = _late([row for row in done if "seed" in row])
    return {
        "title": {"en": "MindSpore: settings drawn at random", "zh": "MindSpore：随机抽取的设置"},
        "date": data["date"], "command": "`bench/parallel_compiled.py`", "versions": "MindSpore 2.10.0, dry run",
        "columns": ["", {"en": "network", "zh": "网络"}, {"en": "plan and stage", "zh": "方案与流水线级"},
                    {"en": "predicted, MiB", "zh": "预测，MiB"}, {"en": "compiled, MiB", "zh": "编译，MiB"},
                    {"en": "memory", "zh": "内存"}, {"en": "communication", "zh": "通信量"}],
        "rows": rows,
        "after": {
            "en": f"{len(whole)} of {count} settings, drawn by seed {data['seed']} before any was compiled, were "
                  f"compiled; {within} are within 8 % of memory. The model was mended with 0 to 7 and 12 in view "
                  "(gathered weights at the optimizer, heads of interleaved stages, gradients made before the loss); "
                  f"of the {len(unseen)} others, {good} are within 8 %. The printed error bar is that of all of them; "
                  "plans with weights in half precision have that of the last rows. The model of MindSpore's "
                  f"unfused optimizer was made with 40 to 47; {late}",
            "zh": f"{count} 个设置由种子 {data['seed']} 在编译之前抽取，已编译 {len(whole)} 个；"
                  f"其中 {within} 个的内存误差不超过 8 %。模型曾对照编号 0 到 7 和 12 修正"
                  "（优化器运行时的已聚合权重、交错流水线的输出层、损失之前生成的梯度）；"
                  f"其余 {len(unseen)} 个中有 {good} 个不超过 8 %。输出中的误差范围来自全部设置；"
                  "权重为半精度的方案，误差范围来自表末各行。MindSpore 未融合优化器的模型由 40 到 47 得出；"
                  f"{zh_late}",
        },
    }  # fmt: skip


def _late(rows: list[dict[str, Any]]) -> tuple[str, str]:
    """Settings that were drawn when the model was done, in both languages."""
    near = sum(abs(parallel_compiled.compare(row)[0] / row["compiled"] - 1) <= 0.08 for row in rows)
    numbers = f"{rows[0]['number']} … {rows[-1]['number']}"
    return (
        f"{numbers} were drawn by seed {rows[0]['seed']} after it and not looked at before they were compiled: "
        f"{near} of {len(rows)} are within 8 %; the communication of 52 was 22 % high then (a table on two stages). "
        "Masks of attention are counted now: with micro-batches each layer has "
        "two, or three if it is recomputed, each of 4 MiB.",
        f"{numbers} 在此之后由种子 {rows[0]['seed']} 抽取，编译之前没有看过：{len(rows)} 个中有 {near} 个不超过 8 %；"
        "52 的通信量当时高 22 %（两级共用的表）。"
        "现在计入注意力的掩码：有微批时每层两个，重计算时三个，各 4 MiB。",
    )


def _proved() -> dict[str, Any]:
    """As recorded: the command itself compared them."""
    data = json.loads((DATA / "parallel_proved.json").read_text(encoding="utf-8"))
    rows = []
    for row in data["rows"]:
        words = [row["name"], f"{row['cards']}", f"{row['batch']} x {row['seq']:,}"]
        if "refused" in row:
            rows.append([*words, row["refused"], "", "", "", ""])
            continue
        stages = ", ".join(str(stage["stage"]) for stage in row["stages"])
        spans = [_span(row["stages"], *pair) for pair in
                 (("predicted", "compiled"), ("predicted_volume", "compiled_volume"))]  # fmt: skip
        rows.append([*words, row["plan"], str(row["layers"]), stages, *spans])
    return {
        "title": {"en": "MindSpore: the first plan for models of public hubs", "zh": "MindSpore：公开模型的首选方案"},
        "date": data["date"], "command": "`bench/parallel_proved.py`", "versions": "MindSpore 2.10.0, dry run",
        "columns": [{"en": "model", "zh": "模型"}, {"en": "cards", "zh": "卡数"},
                    {"en": "batch, tokens", "zh": "批次，词元"},
                    {"en": "first plan", "zh": "首选方案"}, {"en": "layers in the proof", "zh": "证明中的层数"},
                    {"en": "stages compiled", "zh": "编译的流水线级"}, {"en": "memory", "zh": "内存"},
                    {"en": "communication", "zh": "通信量"}],
        "rows": rows,
        "after": {
            "en": "Predicted against compiled, by `--prove 1`: the smallest and the largest difference of the stages. "
                  "The last three models were held back while the reader was mended; the others were compiled "
                  "before masks of attention were counted, and their first plans are still the same.",
            "zh": "用 `--prove 1` 比较预测与编译：各级中最小和最大的差异。最后三个模型在修正读取时被留出；"
                  "其余的在计入注意力掩码之前编译，按现在的时间模型，首选方案相同。",
        },
    }  # fmt: skip


def _span(stages: list[dict[str, int]], predicted: str, compiled: str) -> str:
    errors = [100 * (stage[predicted] / max(1, stage[compiled]) - 1) for stage in stages]
    low, high = f"{min(errors):+.1f}", f"{max(errors):+.1f}"
    return f"{low} %" if low == high else f"{low} … {high} %"


def _hub() -> dict[str, Any]:
    """Parameters of hub configurations: ours, transformers' and the published ones, and the plan that comes out."""
    data = json.loads((DATA / "parallel_hub.json").read_text(encoding="utf-8"))
    rows, told = [], {False: [0, 0, 0], True: [0, 0, 0]}
    for row in data["rows"]:
        count = told[row["held"]]
        if "refused" in row:
            count[2] += 1
            rows.append([row["name"], "", "", f"{row['published']:,}", "", row["refused"].split(": ", 1)[-1],
                         _mark(row)])  # fmt: skip
            continue
        right = (row["transformers"] or row["published"] * 1e9) / row["ours"] - 1
        count[0] += 1
        count[1] += abs(right) <= 0.01
        plan = f"{row['cards']:,}: {row['plan']}, {row['gib']} GiB" + ("" if row["fits"] else " (!)")
        off = f"{100 * (row['ours'] / row['transformers'] - 1):+.2f} %" if row["transformers"] else ""
        rows.append([row["name"], f"{row['ours'] / 1e9:,.3f}", off, f"{row['published']:,}", plan,
                     "; ".join(row["notes"]), _mark(row)])  # fmt: skip
    (seen, good, out), (unseen, fine, left) = told[False], told[True]
    return {
        "title": {"en": "Configurations of public hubs", "zh": "公开模型的配置"},
        "date": data["date"], "command": "`bench/parallel_hub.py`",
        "columns": [{"en": "model", "zh": "模型"}, {"en": "billions of parameters", "zh": "参数量，十亿"},
                    {"en": "against transformers", "zh": "与 transformers 相比"},
                    {"en": "published", "zh": "公布的"}, {"en": "cards: first plan", "zh": "卡数：首选方案"},
                    {"en": "what is said", "zh": "输出的说明"}, ""],
        "rows": rows,
        "after": {
            "en": f"A hash of the name divided the models before the reader was mended. Of those looked at, {good} of "
                  f"{seen} have the right size within 1 %, and {out} are refused; of those held back (held), {fine} of "
                  f"{unseen}, and {left} are refused. A text model inside another is compared by itself. Every type "
                  "that transformers 5.23 can build was compared too: `src/jumar/data/parallel_types.json`.",
            "zh": f"修正读取之前，按名称的散列把模型分成两半。看过的 {seen} 个里有 {good} 个参数量误差在 1 % 以内，"
                  f"另有 {out} 个被拒绝；留出的（held）{unseen} 个里有 {fine} 个，另有 {left} 个被拒绝。"
                  "嵌在其他模型中的文本模型单独比较。transformers 5.23 能构建的每个类型也都比较过："
                  "`src/jumar/data/parallel_types.json`。",
        },
    }  # fmt: skip


def _mark(row: dict[str, Any]) -> str:
    return "held" if row["held"] else ""


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


def _times() -> dict[str, Any]:
    """Measured against modelled steps, those that were held back marked."""
    data = json.loads((DATA / "parallel_times.json").read_text(encoding="utf-8"))
    groups = tomllib.loads((ROOT / "bench" / "published_times.toml").read_text(encoding="utf-8"))["groups"]
    rows = [[row["name"], row["group"], f"{row['cards']:,}", row["plan"], f"{row['measured']:.2f}",
             f"{row['modelled']:.2f}", f"{row['ratio']:.2f}", _mark(row)] for row in data["rows"]]  # fmt: skip
    told = {name: _spread([row["ratio"] for row in data["rows"] if row["held"] == kept and
                           (row["group"] == "mindspeed") == ascend])
            for name, kept, ascend in (("seen", False, True), ("unseen", True, True), ("other", False, False),
                                       ("others", True, False))}  # fmt: skip
    sources = "; ".join(f"{name}: {group['source']}" + (f" ({group['assumed']})" if group["assumed"] else "")
                        for name, group in groups.items())  # fmt: skip
    return {
        "title": {"en": "Modelled against measured step times", "zh": "模型时间与实测步时间"},
        "date": data["date"], "command": "`bench/parallel_times.py`",
        "columns": [{"en": "run", "zh": "训练"}, {"en": "source", "zh": "来源"}, {"en": "cards", "zh": "卡数"},
                    {"en": "plan", "zh": "方案"}, {"en": "measured, s", "zh": "实测，秒"},
                    {"en": "modelled, s", "zh": "模型，秒"}, {"en": "modelled / measured", "zh": "模型 / 实测"}, ""],
        "rows": rows,
        "after": {
            "en": "A hash of the name divided the runs before anything was tuned. Modelled over measured, Ascend: "
                  f"{told['seen']}; held back: {told['unseen']}. Other machines: {told['other']}; held back: "
                  f"{told['others']}. Before, they were modelled 1.2 to 4.1 times as long, experts 0.9 times: "
                  "a ring over nodes had the bandwidth of one port instead of one for each card, causal attention "
                  "counted twice, gathered weights hid behind one micro-batch, and products reached half of the peak. "
                  "Trust a time to about a third, less for experts (few runs) and for small models with long "
                  "sequences; the order of plans that differ by less than a quarter is not settled. "
                  f"Sources: {sources}.",
            "zh": "调整之前，按名称的散列把训练分成两半。模型除以实测，昇腾："
                  f"{told['seen']}；留出的：{told['unseen']}。其他机器：{told['other']}；留出的：{told['others']}。"
                  "此前，模型时间是实测的 1.2 到 4.1 倍，专家为 0.9 倍：跨节点的环只有一个端口的带宽而不是每卡一个，"
                  "因果注意力多算一倍，聚合权重只隐藏在一个微批之后，乘积只达到峰值的一半。"
                  "时间可信到约三分之一；专家（训练少）和长序列的小模型更差；相差不到四分之一的方案，先后没有定论。"
                  f"来源：{sources}。",
        },
    }  # fmt: skip


def _spread(ratios: list[float]) -> str:
    near = sum(0.8 <= ratio <= 1.25 for ratio in ratios)
    return f"{min(ratios):.2f} … {max(ratios):.2f}, {near} / {len(ratios)} within a quarter"
