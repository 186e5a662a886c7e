"""Runs the samples of mindspore_mint.py with MindSpore, whose interpreter need not have Jumar, and compares.

Usage: python tools/mindspore_mint_worker.py CASES OUT NAMES
       python tools/mindspore_mint_worker.py FILE

The second writes the names that `mint` has.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import mint

_PARTS = ("", "nn", "nn.functional", "linalg", "special", "optim")
# Their values are drawn: only shape and type are compared.
_DRAWN = {"bernoulli", "dropout", "dropout2d", "empty", "empty_like", "multinomial", "normal", "rand", "rand_like",
          "randint", "randint_like", "randn", "randn_like", "randperm"}  # fmt: skip
_NEAR = {"rtol": 2e-3, "atol": 2e-4}


def main(path: str, out: str, only: str) -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
    with open(path, "rb") as file:
        cases = pickle.load(file)
    functions = names()
    done = {row["case"] for row in _rows(Path(out)) if row["state"] != "started"}
    wanted = set(filter(None, only.split(","))) or set(functions)
    with open(out, "a", encoding="utf-8", buffering=1) as lines:

        def tell(case: str, name: str, state: str, text: str = "") -> None:
            lines.write(json.dumps({"case": case, "name": name, "state": state, "text": text[-1500:]}) + "\n")

        for case in cases:
            if case["name"] not in wanted or case["case"] in done or case["name"] not in functions:
                continue
            tell(case["case"], case["name"], "started")
            tell(case["case"], case["name"], *_judged(functions[case["name"]], case))
        for name in sorted(wanted & {*functions} - {case["name"] for case in cases}):
            tell(name, name, "no sample")


def names() -> dict[str, Any]:
    """What `mint` has, each under its first place, without what is for several processes."""
    found: dict[str, Any] = {}
    for part in reversed(_PARTS):
        module = mint
        for word in filter(None, part.split(".")):
            module = getattr(module, word)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name, None)
            if callable(value) and "distributed" not in value.__module__:
                found[f"{part}.{name}".lstrip(".")] = value
    return found


def _rows(out: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []


def _judged(function: Any, case: dict[str, Any]) -> tuple[str, str]:
    try:
        return _compare(function, case)
    except (TypeError, ValueError, AttributeError, NotImplementedError) as problem:
        state = "error" if "jumar" in str(problem) else "not taken"
        return state, f"{type(problem).__name__}: {problem}"
    except Exception as problem:
        return "error", f"{type(problem).__name__}: {problem}"


def _compare(function: Any, case: dict[str, Any]) -> tuple[str, str]:
    if case["kind"] == "optimizer":
        return _different("steps", _steps(function, case), case["outs"], False) or ("passed", "")
    if case["kind"] == "module":
        function = _module(function, case)
    leaves: list[Any] = []
    args = [_given(one, leaves) for one in case["args"]]
    kwargs = {name: _given(one, leaves) for name, one in case["kwargs"].items()}
    drawn = case["name"].rpartition(".")[2].lower() in _DRAWN
    outs = _tensors(function(*[_filled(one, leaves) for one in args], **_filled(kwargs, leaves)))
    values = [one.asnumpy() for one in outs]
    wrong = _different("value", values, case["outs"], drawn)
    if wrong or not case["grads"] or drawn or case["name"].endswith("_"):
        return wrong or ("passed", "")

    def total(*leaves: Any) -> Any:
        results = _tensors(function(*[_filled(one, leaves) for one in args], **_filled(kwargs, leaves)))
        parts = [
            (one * ms.Tensor(w)).sum()
            for one, w in zip(results, case["weights"], strict=True)
            if one.dtype in (ms.float32, ms.float16, ms.bfloat16, ms.float64)
        ]
        return sum(parts[1:], parts[0])

    try:
        found = ms.grad(total, grad_position=tuple(range(len(leaves))))(*leaves)
    except RuntimeError as problem:
        if "bprop not defined" in str(problem):
            return "passed", "MindSpore has no gradient"
        raise
    found = found if isinstance(found, tuple) else (found,)
    return _different("gradient", [one.asnumpy() for one in found], case["grads"], False) or ("passed", "")


def _different(what: str, found: list[Any], wanted: list[Any], drawn: bool) -> tuple[str, str] | None:
    if len(found) != len(wanted):
        return "wrong", f"{what}: {len(found)} results, not {len(wanted)}"
    for at, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one.shape != other.shape:
            return "wrong", f"{what} {at}: shape {one.shape}, not {other.shape}"
        if drawn or np.allclose(one.astype(other.dtype), other, equal_nan=True, **_NEAR):
            continue
        far = np.abs(one.astype(np.complex128) - other.astype(np.complex128))
        return "wrong", f"{what} {at}: off by {np.nanmax(far):.3g} of {np.nanmax(np.abs(other)):.3g}, shape {one.shape}"
    return None


def _steps(function: Any, case: dict[str, Any]) -> list[Any]:
    weight = ms.Parameter(ms.Tensor(case["args"][0]), name="weight")
    optimizer = function([weight], **case["kwargs"])
    step = ms.value_and_grad(lambda: (weight**2).sum(), None, [weight])
    for _ in range(3):
        optimizer(step()[1])
    return [weight.asnumpy()]


def _module(function: Any, case: dict[str, Any]) -> Any:
    args, kwargs = case["made"]
    cell = function(*[_filled(_given(one, []), []) for one in args],
                    **{name: _filled(_given(one, []), []) for name, one in kwargs.items()})  # fmt: skip
    own = dict(cell.parameters_and_names())
    for name, value in case["parameters"].items():
        if name not in own:
            raise ValueError(f"no parameter {name}")
        own[name].set_data(ms.Tensor(value))
    cell.set_train()
    return cell


class _Leaf:
    def __init__(self, at: int) -> None:
        self.at = at


def _given(value: Any, leaves: list[Any]) -> Any:
    """A value of the file; what has a gradient goes to `leaves`, in torch's order."""
    if not isinstance(value, tuple):
        return value
    if value[0] == "type":
        return getattr(ms, value[1] + "_" if value[1] == "bool" else value[1])
    if value[0] == "list":
        members = [_given(one, leaves) for one in value[1]]
        return tuple(members) if value[2] else members
    if not value[2]:
        return ms.Tensor(value[1])
    leaves.append(ms.Tensor(value[1]))
    return _Leaf(len(leaves) - 1)


def _filled(value: Any, leaves: Any) -> Any:
    if isinstance(value, _Leaf):
        return leaves[value.at]
    if isinstance(value, dict):
        return {name: _filled(one, leaves) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(one, leaves) for one in value)
    return value


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, ms.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [one for member in value for one in _tensors(member)]
    return []


if __name__ == "__main__":
    if len(sys.argv) == 2:
        Path(sys.argv[1]).write_text(json.dumps(sorted(names())), encoding="utf-8")
    else:
        main(*sys.argv[1:])
