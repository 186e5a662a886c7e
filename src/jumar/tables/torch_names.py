"""Names of torch outside `torch.cuda` that are about CUDA, and the NPU counterpart of each."""

from __future__ import annotations

from functools import cache

from jumar.core.compat import dataclass
from jumar.core.finding import State
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class TorchName:
    name: str
    npu: str | None = None
    state: State = State.REWRITTEN
    note: str = ""
    fix: str | None = None
    at_run_time: bool = False
    """Does `torch_npu.contrib.transfer_to_npu` take care of it when the program runs?"""


@cache
def torch_names() -> dict[str, TorchName]:
    return {
        name: TorchName(
            name,
            row.get("npu"),
            State[row["state"].upper()] if "state" in row else State.REWRITTEN,
            row["note"],
            row.get("fix"),
            row.get("at_run_time", False),
        )
        for name, row in table("torch_names.toml")["names"].items()
    }


@cache
def torch_name(name: str) -> TorchName | None:
    """The row for a dotted name: its own or that of the longest name above it."""
    rows = torch_names()
    above = name
    while above.count(".") >= 1:
        if above in rows:
            return rows[above]
        above = above.rpartition(".")[0]
    return rows["torch._C._cuda"] if name.startswith("torch._C._cuda") else None
