"""Runs a case once and takes down what it left: tensors for the judge, and facts about each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jumar.selftest.case import Unit
from jumar.selftest.given import CPU, Given

PLAIN_FORMATS = (-1, 0, 2)
"""Undefined, NCHW and ND: the same order of values in memory."""


class Taken(NamedTuple):
    facts: dict[str, dict[str, Any]]
    tensors: dict[str, Any]
    """On the CPU."""


def once(unit: Unit, given: Given) -> Taken:
    """Run the case with these inputs. Random numbers begin anew for each run."""
    torch = given.torch
    torch.manual_seed(1)
    if given.device != CPU:
        torch.npu.manual_seed_all(1)
    return described(unit.case.run(given), given)


def described(made: Any, given: Given) -> Taken:
    """Facts and tensors of what a case returned."""
    facts: dict[str, dict[str, Any]] = {}
    tensors: dict[str, Any] = {}
    for name, result in named(made).items():
        if isinstance(result, given.torch.Tensor):
            facts[name] = _facts(result, given)
            tensors[name] = result.detach().to(CPU).contiguous().clone()
        else:
            facts[name] = {"value": result}
    return Taken(facts, tensors)


def named(made: Any) -> dict[str, Any]:
    """Results by name."""
    if isinstance(made, Mapping):
        return dict(made)
    if isinstance(made, (tuple, list)):
        return {str(place): result for place, result in enumerate(made)}
    return {"result": made}


def _facts(result: Any, given: Given) -> dict[str, Any]:
    found = {
        "dtype": str(result.dtype).replace("torch.", ""),
        "shape": list(result.shape),
        "stride": list(result.stride()),
        "device": result.device.type,
    }
    if result.device.type == "npu":
        format_ = int(given.npu.get_npu_format(result))
        found["format"] = "plain" if format_ in PLAIN_FORMATS else format_
    return found
