"""The facts of docs/results/arm.md: what `make arm` found on aarch64 under qemu, from docs/results/data/arm.json."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "docs" / "results" / "data" / "arm.json"
_PARTS = {
    "native": {"en": "C++ tests of the stand-ins", "zh": "替身库的 C++ 测试"},
    "native-64k": {"en": "the same with pages of 64 KiB", "zh": "同上，页大小为 64 KiB"},
    "torch": {"en": "torch and torch_npu for aarch64", "zh": "aarch64 版 torch 与 torch_npu"},
    "commands": {"en": "commands on the emulated machine", "zh": "仿真机器上的命令"},
    "mindspore": {"en": "MindSpore for aarch64", "zh": "aarch64 版 MindSpore"},
    "wheel": {"en": "a wheel of `tools/wheels.py`, no compiler", "zh": "`tools/wheels.py` 的 wheel，没有编译器"},
}
_CHECKS = {
    "guide": {"en": "the guides' checks: eight cards, a sum on one of them", "zh": "指南中的检查：八张卡、求和"},
    "cnn": {"en": "a CNN: four training steps with the losses of the CPU", "zh": "CNN：训练四步，损失与 CPU 相同"},
    "gpt": {
        "en": "a small GPT: four training steps with the losses of the CPU",
        "zh": "小型 GPT：训练四步，损失与 CPU 相同",
    },
    "half": {"en": "mixed precision with loss scaling", "zh": "带损失缩放的混合精度"},
    "fused": {"en": "an NPU-only operator and its gradient", "zh": "NPU 专有算子及其梯度"},
    "ddp": {
        "en": "`jumar launch`, two processes: DDP with the weights of one process, and an all-reduce",
        "zh": "`jumar launch` 两个进程：DDP 的权重与单进程相同，以及 all-reduce",
    },
    "compare": {"en": "`jumar compare record` writes a record", "zh": "`jumar compare record` 写出记录"},
    "recorder": {"en": "the recorder in C++ wrote it", "zh": "记录由 C++ 记录器写出"},
    "perf": {"en": "`jumar perf lint` records the kernels of a training", "zh": "`jumar perf lint` 记录训练的算子"},
    "all": {
        "en": "the guides' checks, a CNN, a small GPT, mixed precision, an NPU-only operator",
        "zh": "指南中的检查、CNN、小型 GPT、混合精度、NPU 专有算子",
    },
    "built": {"en": "nothing was compiled", "zh": "没有编译任何内容"},
    "same-numbers": {
        "en": "sketches and checksums are those of x86-64, bit by bit",
        "zh": "摘要和校验和与 x86-64 逐位相同",
    },
    "npu-smi": {"en": "`npu-smi info` in `jumar emulate shell`", "zh": "`jumar emulate shell` 中的 `npu-smi info`"},
    "smi": {"en": "`jumar smi --once`", "zh": "`jumar smi --once`"},
    "doctor": {
        "en": "`jumar doctor` on the emulated machine: aarch64, no error",
        "zh": "仿真机器上的 `jumar doctor`：aarch64，无错误",
    },
    "plan": {
        "en": "`jumar plan` for a 910B: packages for aarch64",
        "zh": "为 910B 运行 `jumar plan`：aarch64 的软件包",
    },
    "run_check": {"en": "`mindspore.run_check()` on an emulated card", "zh": "仿真卡上的 `mindspore.run_check()`"},
}  # fmt: skip


def page() -> dict[str, Any]:
    record = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        "title": {"en": "Results: aarch64", "zh": "结果：aarch64"},
        "about": {
            "en": "What ran on Arm, the processor of Kunpeng servers. No Arm machine was at hand: a cross compiler "
            "builds the programs, and qemu runs them on x86-64, with Debian's arm64 packages and the published wheels "
            "for aarch64. Times say nothing about a real machine. qemu on x86-64 does not reorder memory accesses; how "
            "their order was checked is in [HCCL on emulated cards](../concepts/hccl.md#weakly-ordered-processors).",
            "zh": "在 Arm（鲲鹏服务器的处理器）上运行的内容。手头没有 Arm 机器：程序由交叉编译器构建，"
            "在 x86-64 上由 qemu 运行，使用 Debian 的 arm64 软件包和已发布的 aarch64 wheel。耗时不代表真实机器。"
            "x86-64 上的 qemu 不会重排内存访问；访问次序的检查方法见"
            "[仿真卡上的 HCCL](../concepts/hccl.md#weakly-ordered-processors)（英文）。",
        },
        "section": [_section(record)],
    }


def _section(record: dict[str, Any]) -> dict[str, Any]:
    parts = {part["name"] for part in record["parts"]}
    packages = [package for package in record["packages"] if re.split("[_=]", package)[0] in parts]
    tools = [f"qemu {record['qemu']}", f"g++ {record['compiler']}"]
    return {
        "title": {"en": "Checks", "zh": "检查"},
        "date": max(part["date"] for part in record["parts"]),
        "command": "`make arm`" + (", `tools/arm.py --only wheel --published WHEEL`" if "wheel" in parts else ""),
        "machine": f"qemu-aarch64, {record['cpu']}",
        "versions": ", ".join([f"Python {record['python']}", *packages, *tools]),
        "columns": [{"en": "part", "zh": "部分"}, {"en": "check", "zh": "检查"}, {"en": "result", "zh": "结果"}],
        "rows": [row for part in record["parts"] for row in _rows(part)],
    }


def _rows(part: dict[str, Any]) -> list[list[Any]]:
    tests = [row for row in part["rows"] if row["check"].endswith("_test")]
    rows = [[row["check"], row["problem"]] for row in part["rows"] if row not in tests]
    found: list[list[Any]] = [[_PARTS[part["name"]], _CHECKS[name], _result(problem)] for name, problem in rows]
    if tests:
        names = ", ".join(f"`{row['check']}`" for row in tests)
        failed = [f"`{row['check']}`: {row['problem']}" for row in tests if row["problem"]]
        found.insert(0, [_PARTS[part["name"]], names, _result("; ".join(failed))])
    return found


def _result(problem: str) -> Any:
    return {"en": f"failed: {problem}", "zh": f"失败：{problem}"} if problem else {"en": "passed", "zh": "通过"}
