"""The section of docs/results/mindspore.md on networks of the public model collection."""

from __future__ import annotations

from typing import Any

_HALVES = {"tuned": {"en": "looked at", "zh": "看过"}, "held": {"en": "run first", "zh": "先运行"}}
_ABOUT = {
    "en": "Networks of the collection mindspore-ai/models, written for 1.x, as `jumar migrate --write` left them, in "
    "small sizes, without dropout, on seeded data, in graph mode. Two lists were fixed before any was tried, the "
    "second by a draw of one folder from each of 24 kinds, and split by a hash: one half could be looked at while "
    "Jumar was mended, the other was run first and looked at afterwards. A loss is that of the "
    "last step; a difference is the largest of all steps. Equal means within 0.1 %. "
    "Where a network differs, the CPU target was run once more with other vector instructions "
    "(`DNNL_MAX_CPU_ISA=SSE41`): the column beside says how far rounding alone takes it.",
    "zh": "模型集合 mindspore-ai/models 中为 1.x 编写的网络，经 `jumar migrate --write` 迁移，小尺寸、不用 "
    "dropout、固定种子的数据、图模式。两份名单都在试运行之前确定，第二份从 24 个类型中各抽一个目录，并按哈希分成两半："
    "一半可以在修补 Jumar 时查看，另一半先运行、后查看。损失是最后一步的损失；差异是所有步中最大的。0.1 % 以内算相等。"
    "有差异的网络另在 CPU 后端上换用其他向量指令（`DNNL_MAX_CPU_ISA=SSE41`）运行一次："
    "相应一列说明仅舍入误差能造成多大差异。",
}
_COLUMNS: list[Any] = [
    {"en": "network", "zh": "网络"},
    {"en": "kind", "zh": "类型"},
    {"en": "half", "zh": "一半"},
    {"en": "loss, emulated Ascend", "zh": "损失，仿真 Ascend"},
    {"en": "loss, CPU target", "zh": "损失，CPU 后端"},
    {"en": "difference", "zh": "差异"},
    {"en": "CPU target from itself", "zh": "CPU 后端与自身的差异"},
    {"en": "places migrated", "zh": "迁移处数"},
    {"en": "changed by hand", "zh": "手工修改"},
    {"en": "first run, if different", "zh": "首次运行（如不同）"},
]


def section(record: dict[str, Any]) -> dict[str, Any]:
    rows = record["rows"]
    return {
        "title": {"en": "Networks of the public collection", "zh": "公开模型集合中的网络"},
        "date": record["date"],
        "command": "`python tools/mindspore_networks.py CLONE --python PY --record`",
        "versions": f"MindSpore {record['mindspore']}",
        "about": _ABOUT,
        "columns": _COLUMNS,
        "rows": [_row(name, row) for name, row in rows.items()],
        "after": _joined(_counts(rows), *_waiting(record), *_survey(record)),
    }


def _row(name: str, row: dict[str, Any]) -> list[Any]:
    apart = f"{row['apart']:.1e}" if "apart" in row else ""
    places = sum(row["migrated"].get("rewritten", {}).values())
    link = f"{name} (`{row['folder']}`)"
    return [
        link,
        row["what"],
        _HALVES[row["half"]],
        _loss(row["npu"]),
        _loss(row["cpu"]),
        apart,
        f"{row['control_apart']:.1e}" if "control_apart" in row else "",
        str(places),
        _hand(row),
        row["first"] or "",
    ]


def _loss(side: dict[str, Any]) -> str:
    if "losses" not in side:
        return str(side["error"])[:160].replace("|", "/")
    return ", ".join(f"{loss:.6g}" for loss in side["losses"][-1])


def _hand(row: dict[str, Any]) -> Any:
    if not row["hand"]:
        return {"en": "nothing", "zh": "无"}
    return {tongue: "; ".join(reason[tongue] for reason in row["hand"]) for tongue in ("en", "zh")}


def _counts(rows: dict[str, Any]) -> dict[str, str]:
    said: dict[str, list[str]] = {"en": [], "zh": []}
    for half, words in _HALVES.items():
        mine = [row for row in rows.values() if row["half"] == half]
        equal = sum(row["state"] == "equal" for row in mine)
        alone = sum(row["state"] == "equal" and not row["hand"] for row in mine)
        said["en"].append(f"{words['en']}: {equal} of {len(mine)} equal, {alone} of them without a hand")
        said["zh"].append(f"{words['zh']}：{len(mine)} 个中 {equal} 个相等，其中 {alone} 个无需手工修改")
    return {"en": "; ".join(said["en"]) + ".", "zh": "；".join(said["zh"]) + "。"}


def _waiting(record: dict[str, Any]) -> list[dict[str, str]]:
    """The networks of the list that were not run yet."""
    names = record.get("waiting", [])
    if not names:
        return []
    return [
        {"en": f"On the list and not run yet: {', '.join(names)}.", "zh": f"在名单上但尚未运行：{'、'.join(names)}。"}
    ]


def _survey(record: dict[str, Any]) -> list[dict[str, str]]:
    """What MindSpore refuses of the whole collection, before and after."""
    if "survey" not in record:
        return []
    before, after = record["survey"]["before"], record["survey"]["after"]
    said = {
        "en": f"In {before['folders']} of the {before['of']} folders of the collection some file uses a name of "
        f"MindSpore that 2.10.0 does not have, or calls one with arguments that it does not take; after "
        f"`jumar migrate --write` in {after['folders']} (`tools/mindspore_survey.py`). Most of those "
        "never fitted any release.",
        "zh": f"集合的 {before['of']} 个目录中，有 {before['folders']} 个目录的文件用到 2.10.0 没有的 MindSpore 名称，"
        f"或以它不接受的参数调用；经 `jumar migrate --write` 之后剩 {after['folders']} 个"
        "（`tools/mindspore_survey.py`）。其中多数写法在任何版本中都不成立。",
    }
    return [said]


def _joined(*texts: dict[str, str]) -> dict[str, str]:
    return {"en": " ".join(text["en"] for text in texts), "zh": "".join(text["zh"] for text in texts)}
