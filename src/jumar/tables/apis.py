"""What the published torch_npu wheel really has, and where each name of `torch.cuda` goes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from jumar.core.compat import dataclass
from jumar.core.finding import State
from jumar.tables.load import table

FLAT = ("memory", "random", "streams", "graphs")
"""Modules of torch.cuda whose public names torch.cuda shows itself."""


@dataclass(frozen=True, slots=True)
class Row:
    """What becomes of one CUDA name."""

    cuda: str
    npu: str | None = None
    agnostic: str | None = None
    state: State = State.REWRITTEN
    note: str = ""
    since: str = ""
    """The first torch version that has the new name."""


@dataclass(frozen=True, slots=True)
class Default:
    """A parameter that means CUDA when it is not given."""

    keyword: str
    position: int


@cache
def npu_names() -> frozenset[str]:
    """Every dotted name that exists in torch.npu and torch_npu, as the wheel's introspection found it."""
    found: set[str] = set()
    for module, names in [*table("torch_npu.json").items(), *table("torch_npu_modules.json")["modules"].items()]:
        if module.startswith(("torch.npu", "torch_npu")):
            found.update(f"{module}.{name}" for name in names)
            found.add(module)
    found.update(
        name.replace("torch.npu.", "torch_npu.npu.", 1) for name in list(found) if name.startswith("torch.npu.")
    )
    return frozenset(found)


@cache
def exported(module: str) -> frozenset[str]:
    """The `__all__` of a module of torch.npu: what `transfer_to_npu` copies into torch.cuda."""
    return frozenset(table("torch_npu_modules.json")["exported"].get(module, ()))


@cache
def cuda_rows() -> dict[str, Row]:
    """The rows kept by hand: names that move, or that have no counterpart."""
    rows = {}
    for cuda, fields in table("torch_cuda.toml")["names"].items():
        state = State[fields["state"].upper()] if "state" in fields else State.REWRITTEN
        npu = fields.get("npu")
        if npu is None and state is State.REWRITTEN:
            npu = _twin(cuda)
        rows[cuda] = Row(cuda, npu, fields.get("agnostic"), state, fields.get("note", ""), fields.get("since", ""))
    return rows


@cache
def defaults() -> dict[str, Default]:
    return {name: Default(**fields) for name, fields in table("torch_cuda.toml")["defaults"].items()}


@cache
def attributes() -> dict[str, str]:
    """Attributes of torch's own objects that carry CUDA in their name, and what they are called on an NPU."""
    found: dict[str, str] = table("torch_cuda.toml")["attributes"]
    return found


@cache
def keywords() -> dict[str, dict[str, str]]:
    """Keywords of calls that carry CUDA in their name, by the called CUDA name."""
    found: dict[str, dict[str, str]] = table("torch_cuda.toml")["keywords"]
    return found


@cache
def cuda_row(name: str) -> Row:
    """The row for `torch.cuda.…`: by hand, else the same name under `torch.npu` if the wheel has it."""
    rows = cuda_rows()
    if name in rows:
        return rows[name]
    twin = _twin(name)
    if name == "torch.cuda" or twin in npu_names():
        return Row(name, twin)
    head, _, last = name.rpartition(".")
    if not head.startswith("torch.cuda"):
        return Row(name, None, None, State.UNSUPPORTED, f"`{twin}` does not exist in torch_npu")
    if last.startswith("__") and last.endswith("__"):
        outer = cuda_row(head)
        return replace(outer, cuda=name, npu=f"{outer.npu}.{last}" if outer.npu else None, agnostic=None)
    if head.rpartition(".")[2] in FLAT:
        flat = cuda_row(f"torch.cuda.{last}")
        if flat.npu is None:
            return replace(flat, cuda=name)
    if head != "torch.cuda":
        outer = cuda_row(head)
        if outer.npu is not None and outer.npu in _classes():
            agnostic = f"{outer.agnostic}.{last}" if outer.agnostic else None
            return replace(outer, cuda=name, npu=f"{outer.npu}.{last}", agnostic=agnostic)
        if outer.npu is None:
            return replace(outer, cuda=name)
    return Row(name, None, None, State.UNSUPPORTED, f"`{twin}` does not exist in torch_npu")


def _twin(name: str) -> str:
    return name.replace("torch.cuda", "torch.npu", 1)


@cache
def _classes() -> frozenset[str]:
    """Names with attributes of their own that the introspection did not list: classes, functions with attributes."""
    found = {name for name in npu_names() if name.rpartition(".")[2][:1].isupper()}
    small = {"torch.npu.device", "torch.npu.device_of", "torch.npu.graph", "torch.npu.amp.autocast"}
    return frozenset(found | small | {"torch.OutOfMemoryError", "torch.AcceleratorError"})


def version(text: str) -> tuple[int, ...]:
    """`2.7.1` as numbers to compare."""
    digits = [part for part in text.split("+")[0].split(".") if part.isdigit()]
    return tuple(int(part) for part in digits)
