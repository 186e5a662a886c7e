"""One operator alone, as a script without other files: the same call on the reference and on a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jumar.compare.result import STATS, Pair, RecordEntry
from jumar.compare.store import RecordedStep

_SKIP = {"device", "layout", "pin_memory", "generator"}
_TEMPLATE = '''"""{title}

Written by `jumar compare`. Run it with a device: python {file} npu:0
It prints the relative error of the operator there against float64 (or float32) on the CPU.
"""

import sys

import torch

device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
if device.startswith("npu"):
    import torch_npu  # noqa: F401
torch.manual_seed(0)

{inputs}


def call(tensors):
    return torch.ops.{op}({arguments})


def flat(value):
    return [one for one in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(one, torch.Tensor)]


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


try:
    expected = flat(call([wide(tensor.clone()) for tensor in inputs]))
except RuntimeError as error:
    print("no float64 on the CPU, float32 is the reference:", str(error).splitlines()[0])
    expected = flat(call([tensor.float() if tensor.is_floating_point() else tensor.clone() for tensor in inputs]))
found = flat(call([tensor.clone().to(device) for tensor in inputs]))
for place, (want, got) in enumerate(zip(expected, found)):
    if want.is_floating_point() and want.shape == got.shape:
        error = (got.cpu().double() - want.double()).norm() / want.double().norm().clamp_min(1e-30)
        print(f"output {{place}} on {{device}}: relative error {{error.item():.3g}} (recorded {recorded:.3g})")
'''


def script(step: RecordedStep, pair: Pair, record: Path) -> str:
    """The source of the script; with the recorded tensors if a second pass kept them, else with ones like them."""
    entry = pair.a
    saved = record / "tensors" / f"{entry.label}.pt"
    if saved.is_file() and pair.step == 0:
        inputs = f'inputs = torch.load({str(saved.absolute())!r}, weights_only=True)["inputs"]'
    else:
        lines = [_tensor(step, entry, place) for place in range(len(entry.inputs))]
        inputs = "inputs = [\n" + "".join(f"    {line},\n" for line in lines) + "]"
    return _TEMPLATE.format(
        title=f"`{entry.op}` of `{entry.module or 'the program'}`, {entry.phase}, {entry.where or 'no line known'}.",
        file="reproduce.py", inputs=inputs, op=entry.op, recorded=pair.error,
        arguments=", ".join(f"{name}={_value(value)}" for name, value in entry.args.items() if name not in _SKIP),
    )  # fmt: skip


def _tensor(step: RecordedStep, entry: RecordEntry, place: int) -> str:
    """A tensor with the shape, type, mean and spread of the recorded one."""
    source = step.entries[entry.inputs[place]]
    if not source.outs:
        return "torch.zeros(())"
    out = source.outs[0]
    shape = entry.shapes[place] if place < len(entry.shapes) and entry.shapes[place] is not None else out.shape
    size = list(shape or ())
    row = dict(zip(STATS, map(float, step.numbers[out.row]))) if out.row >= 0 else {}
    if out.dtype.startswith(("float", "bfloat")) and row:
        mean = row["sum"] / max(1, out.numel)
        spread = max(row["norm"] ** 2 / max(1, out.numel) - mean**2, 0.0) ** 0.5
        return f"(torch.randn({size}) * {spread:.6g} + {mean:.6g}).to(torch.{out.dtype})"
    if out.dtype == "bool":
        return f"torch.rand({size}) < 0.5"
    low, high = int(row.get("min", 0)), int(row.get("max", 1))
    return f"torch.randint({low}, {high + 1}, {size}).to(torch.{out.dtype})"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        if value.startswith("$"):
            return f"tensors[{value[1:]}]"
        if value.startswith("torch."):
            return value
        return f'float("{value}")' if value in ("inf", "-inf", "nan") else repr(value)
    return repr(value)
