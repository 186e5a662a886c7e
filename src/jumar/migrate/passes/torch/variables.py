"""What to do about an environment variable and its value, the same in scripts, Dockerfiles and configs."""

from __future__ import annotations

from typing import NamedTuple

from jumar.core.finding import State
from jumar.tables.environment import convert, variable, variables


class Verdict(NamedTuple):
    state: State
    message: str
    npu: str | None = None
    """The new name, where the name is to be written anew."""
    value: str | None = None
    """The new value, where it changes."""
    is_own_row: bool = True
    """Does the table name the variable itself, not only its family?"""


def verdict(name: str, value: str | None = None, is_constant: bool = True) -> Verdict | None:
    """What becomes of a variable; `value` is None for a mere mention, `is_constant` is false for `$X` and the like."""
    row = variable(name)
    if row is None:
        return None
    own = name in variables()
    if not row.is_renamed or row.npu is None:
        state = State.HAND if row.state is State.REWRITTEN else row.state
        return Verdict(state, f"`{name}`: {row.note}", is_own_row=own)
    message = f"`{name}` becomes `{row.npu}`"
    if value is None:
        return Verdict(State.REWRITTEN, message, row.npu)
    if not is_constant:
        note = ", whose cards must ascend" if row.value == "devices" else ""
        return Verdict(State.REWRITTEN, message + note, row.npu)
    new = convert(row, value)
    if new is None:
        return Verdict(State.HAND, f"`{name}={value}` has no counterpart in `{row.npu}`: {row.note}")
    if new == value:
        return Verdict(State.REWRITTEN, message, row.npu)
    return Verdict(State.REWRITTEN, f"{message}, and its value `{new}`", row.npu, new)
