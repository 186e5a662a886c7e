"""What the published torch_npu wheel really has, and where each name of `torch.cuda` goes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from jumar.core.finding import State
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Row:
    """What becomes of one CUDA name."""

    cuda: str
    npu: str | None = None
    agnostic: str | None = None
    state: State = State.REWRITTEN
    note: str = ""


@cache
def npu_names() -> frozenset[str]:
    """Every public dotted name that exists in torch.npu and torch_npu, as the wheel's introspection found it."""
    found: set[str] = set()
    for module, names in table("torch_npu.json").items():
        if module.startswith(("torch.npu", "torch_npu")):
            found.update(f"{module}.{name}" for name in names)
    found.update(
        name.replace("torch.npu.", "torch_npu.npu.", 1) for name in list(found) if name.startswith("torch.npu.")
    )
    return frozenset(found)


@cache
def cuda_rows() -> dict[str, Row]:
    """The rows kept by hand: names that move, or that have no counterpart."""
    rows = {}
    for cuda, fields in table("torch_cuda.toml")["names"].items():
        state = State[fields["state"].upper()] if "state" in fields else State.REWRITTEN
        rows[cuda] = Row(cuda, fields.get("npu"), fields.get("agnostic"), state, fields.get("note", ""))
    return rows


def cuda_row(name: str) -> Row:
    """The row for `torch.cuda.…`: by hand, else the same name under `torch.npu` if the wheel has it."""
    rows = cuda_rows()
    if name in rows:
        return rows[name]
    twin = name.replace("torch.cuda", "torch.npu", 1)
    if name == "torch.cuda" or twin in npu_names():
        return Row(name, twin)
    head, _, last = name.rpartition(".")
    if head.startswith("torch.cuda."):
        outer = cuda_row(head)
        if outer.npu is not None and (outer.npu in _classes() or outer.npu + "." + last in npu_names()):
            return Row(name, f"{outer.npu}.{last}", None, outer.state, outer.note)
    return Row(name, None, None, State.UNSUPPORTED, f"`{twin}` does not exist in torch_npu")


@cache
def _classes() -> frozenset[str]:
    """Names with attributes of their own that the introspection did not list (classes)."""
    return frozenset(name for name in npu_names() if name.rpartition(".")[2][:1].isupper())
