"""Versions that a log prints (`pip list`, collect_env, npu-smi) and that do not fit each other: a likely cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from jumar.machine.explain.result import Cause, Explanation, Occurrence
from jumar.tables import errors
from jumar.tables.errors import Certainty, Role, Signature, Trait

_NUMBER = r"(\d+\.\d+(?:\.(?:\d+|[A-Za-z]+\d*))*(?:rc\d+|[+.-]\w+)?)"
_PARTS = {
    "torch": rf"^[ \t]*(?:\[pip3\] )?torch(?:==|[ \t]+|: )v?{_NUMBER}|PyTorch version: {_NUMBER}",
    "torch_npu": rf"\btorch[-_]npu(?:==|:?[ \t]+(?:version:? )?)v?{_NUMBER}",
    "cann": rf"package_name=Ascend-cann-toolkit\s+version={_NUMBER}|\bCANN(?: [Vv]ersion)?(?:: |=|==){_NUMBER}",
    "driver": rf"\bnpu-smi[ \t]+{_NUMBER}",
    "python": rf"\bPython version: {_NUMBER}",
    "vllm": rf"^[ \t]*(?:\[pip3\] )?vllm(?:==|[ \t]+){_NUMBER}|\bvLLM Version: {_NUMBER}",
    "vllm_ascend": rf"\bvllm[-_]ascend(?:==|[ \t]+){_NUMBER}|\bvLLM Ascend Version: {_NUMBER}",
}
_FAILS = ("import", "kernels", "pta", "runtime", "version")
"""Kinds of failures that versions which do not fit mostly cause."""
_VAGUE = (Role.SYMPTOM, Role.DETAIL, Role.WRAPPER)
_BARE = (Role.GENERIC, Role.UNKNOWN)
_TEXT = 200


class Place(NamedTuple):
    """A version and where a log prints it."""

    version: str
    line: int
    text: str


class Mismatch(NamedTuple):
    """Two versions that do not fit, by which table, and where the log prints the second one."""

    why: str
    source: str
    place: Place


def added(result: Explanation, heads: list[str]) -> Explanation:
    """The explanation with two versions that do not fit; before causes that only know a code or an exception."""
    if not result.has_error or any(_is_told(cause) for cause in result.causes):
        return result
    for order, text in enumerate(heads):
        mismatch = next(mismatches(places(text)), None)
        if mismatch is not None:
            cause = _cause(result.files[order].name, order, mismatch)
            at = 0 if _is_vague(result.causes[0].signature) else 1
            return result._replace(causes=(*result.causes[:at], cause, *result.causes[at:]))
    return result


def _is_told(cause: Cause) -> bool:
    """Does the log itself say that versions do not fit?"""
    return Trait.PRINTED_VERSIONS in cause.signature.traits


def places(text: str) -> dict[str, Place]:
    """Each part with its version; parts that a log gives two versions of are left out."""
    parts: dict[str, Place] = {}
    for name, pattern in _PARTS.items():
        matches = list(re.finditer(pattern, text, re.M))
        numbers = [next(group for group in match.groups() if group).rstrip(".,") for match in matches]
        if len({number.split("+")[0].lower() for number in numbers}) == 1:
            start = matches[0].start(matches[0].lastindex or 0)
            line = text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]
            parts[name] = Place(numbers[0], text.count("\n", 0, start) + 1, line.strip()[:_TEXT])
    return parts


def mismatches(parts: dict[str, Place]) -> Iterator[Mismatch]:
    """The pairs that a table excludes; what no table knows is left out."""
    if len(parts) < 2:
        return
    from jumar.machine import pairs

    version = {name: place.version for name, place in parts.items()}
    plugin, server = version.get("torch_npu", ""), version.get("vllm_ascend", "")
    rows = pairs.torch_npu(plugin)
    asked: dict[tuple[str, str], Callable[[], pairs.Answer]] = {
        ("vllm", "vllm_ascend"): lambda: pairs.vllm_and_plugin(version["vllm"], server),
        ("vllm_ascend", "cann"): lambda: pairs.framework_and_cann(
            "vllm-ascend", server, pairs.vllm_ascend(server), version["cann"]
        ),
        ("torch", "torch_npu"): lambda: pairs.torch_and_torch_npu(version["torch"], plugin),
        ("torch_npu", "cann"): lambda: pairs.framework_and_cann("torch_npu", plugin, rows, version["cann"]),
        ("driver", "cann"): lambda: pairs.driver_and_cann(version["driver"], version["cann"]),
        ("torch_npu", "python"): lambda: pairs.python_and_framework(version["python"], "torch_npu", plugin, rows),
    }
    for (first, second), ask in asked.items():
        if first in version and second in version and (answer := ask()).fit is pairs.Fit.DOES_NOT:
            yield Mismatch(answer.why, answer.source, parts[second])


def _cause(file: str, order: int, mismatch: Mismatch) -> Cause:
    row = replace(
        errors.with_trait(Trait.PRINTED_VERSIONS),
        certainty=Certainty.POSSIBLE,
        what=f"versions that the log prints do not fit each other: {mismatch.why}",
        why="missing symbols, functions, arguments and kernels follow from that",
        source=mismatch.source,
        is_filled=True,
    )
    item = Occurrence(
        file, order, mismatch.place.line, mismatch.place.text, rank=None, time=None, code="", times=1, facts={},
        is_mild=False, is_survived=False, is_at_exit=False, is_chained=False, around=(), frames=(), values={},
    )  # fmt: skip
    return Cause(row, (item,))


def _is_vague(row: Signature) -> bool:
    """Does the best cause know no more than a code, an exception or a missing name?"""
    if row.role in _BARE or Trait.OTHER_VERSION in row.traits:
        return True
    return row.category in _FAILS and not row.is_thread and (row.role in _VAGUE or row.certainty is Certainty.POSSIBLE)
