"""What tools/mindspore_st.py found, for docs/results/mindspore.md: from docs/results/data/mindspore_st.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "docs" / "results" / "data" / "mindspore_st.json"
_HALVES = {
    "tuned": {"en": "looked at while operators were added", "zh": "补充算子时看过的一半"},
    "held": {"en": "only counted", "zh": "只计数的一半"},
}
_COLUMNS = (
    ({"en": "half of the files", "zh": "文件的一半"}, ""),
    ({"en": "files run, of", "zh": "运行的文件数 / 总数"}, ""),
    ({"en": "passed", "zh": "通过"}, "passed"),
    ({"en": "refused by name", "zh": "按名称拒绝"}, "refused"),
    ({"en": "wrong", "zh": "结果错误"}, "wrong"),
    ({"en": "other errors", "zh": "其他错误"}, "failed"),
    ({"en": "out of time", "zh": "超时"}, "out of time"),
    ({"en": "passed, of what can run", "zh": "通过率（可运行的用例）"}, ""),
    ({"en": "cannot run", "zh": "无法运行"}, "not runnable"),
)


def section() -> dict[str, Any]:
    record = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        "title": {"en": "MindSpore's own tests", "zh": "MindSpore 自己的测试"},
        "date": record["date"],
        "command": "`python tools/mindspore_st.py CLONE --python PY --record`",
        "versions": f"MindSpore {record['mindspore']}",
        "about": {
            "en": "Cases of `tests/st` that are marked for Ascend, each file in a process of its own. The public "
            "repository ends before 2.4.0: tests of calls that newer releases no longer have cannot run, nor those "
            "that need data sets, `mpirun` or packages. A hash of its path puts a file into one of two halves and "
            "into an order; the files run are the first of that order.",
            "zh": "`tests/st` 中标记为 Ascend 的用例，每个文件一个进程。公开仓库止于 2.4.0 之前：新版本已删除的接口、"
            "需要数据集、`mpirun` 或其他软件包的用例无法运行。文件按路径的哈希分成两半并排序；运行的是排在前面的文件。",
        },
        "columns": [column for column, _ in _COLUMNS],
        "rows": [_row(record, half) for half in _HALVES],
    }


def _row(record: dict[str, Any], half: str) -> list[Any]:
    found = record["figures"][half]
    counted = sum(found.values()) - found["skipped"] - found["not runnable"]
    share = f"{100 * found['passed'] / counted:.1f} %" if counted else ""
    cells: list[Any] = [str(found[state]) if state else share for _, state in _COLUMNS]
    return [_HALVES[half], f"{record['files'][half]} / {record['of'][half]}", *cells[2:]]
