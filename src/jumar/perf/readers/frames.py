"""Gives operators the Python function they ran in, where the trace has functions apart from operators.

A profiler with `with_stack=True` writes Python functions as events of their own; the line is the one where the function
begins, as no other is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern

from jumar.perf.places import is_framework
from jumar.perf.profile import HostOp
from jumar.perf.readers.collect import Raw


def attach(ops: list[HostOp], rows: Iterable[Raw], origin: int) -> list[HostOp]:
    """Operators in order of start, each without a call stack with the innermost function of the program around it."""
    by_thread: dict[int, list[tuple[float, float, str]]] = {}
    for name, _, thread, start, length, _ in rows:
        if not name.startswith("<") and not is_framework(name):
            begin = (start - origin) / 1000
            by_thread.setdefault(thread, []).append((begin, begin + length / 1000, intern(name)))
    if not by_thread:
        return ops
    for found in by_thread.values():
        found.sort(key=lambda row: (row[0], -row[1]))
    open_: dict[int, list[tuple[float, float, str]]] = {thread: [] for thread in by_thread}
    at = dict.fromkeys(by_thread, 0)
    return [op if op.stack or op.thread not in by_thread else _with(op, by_thread, open_, at) for op in ops]


def _with(
    op: HostOp,
    by_thread: dict[int, list[tuple[float, float, str]]],
    open_: dict[int, list[tuple[float, float, str]]],
    at: dict[int, int],
) -> HostOp:
    rows, stack, index = by_thread[op.thread], open_[op.thread], at[op.thread]
    while index < len(rows) and rows[index][0] <= op.start:
        while stack and stack[-1][1] < rows[index][0]:
            stack.pop()
        stack.append(rows[index])
        index += 1
    at[op.thread] = index
    while stack and stack[-1][1] < op.start:
        stack.pop()
    return op._replace(stack=stack[-1][2]) if stack else op
