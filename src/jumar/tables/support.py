"""Is an API of torch supported on a chip with a torch version: the vendor's table, the kernels, the wheel, and runs.

Three of these are claims. The fourth is an experiment: the real torch_npu ran the API on an emulated card
(tools/refresh_api_evidence.py). Where a claim and the experiment disagree, the verdict holds both.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from jumar.core.compat import StrEnum, dataclass
from jumar.tables.load import table


class Support(StrEnum):
    UNSUPPORTED = "unsupported"
    UNTRIED = "not listed as supported, but has a kernel"
    DISPUTED = "not listed as supported, but ran"
    FALLBACK = "runs on the CPU"
    PARTLY = "runs on the CPU for some data types"
    LIMITED = "limited"
    FULL = "supported"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one API; `table` says which version of which table."""

    support: Support
    table: str
    claim: str = ""
    """What that table says of it."""
    dtypes: tuple[str, ...] = ()
    """Only these data types, when the table names some."""
    run: Run | None = None
    """What happened when it ran on the emulated card; None when it has not."""


class Outcome(StrEnum):
    RAN = "ran"
    FELL_BACK = "fell back"
    """torch_npu ran it on the CPU."""
    REFUSED = "refused"
    """The emulator does not have it, which says nothing about a card."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the experiment."""

    outcome: Outcome
    torch_npu: str
    words: str = ""
    """What the error said."""


_CLAIMS = {
    Support.FULL: "says supported",
    Support.LIMITED: "names limits",
    Support.PARTLY: "says that it may run on the CPU",
    Support.FALLBACK: "says that it may run on the CPU",
}
_PRODUCTS = ("A2", "A3", "950")
_PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_", "sparse": "sparse_"}
_OPERATIONS = {"torch", "Tensor", "torch.Tensor", "torch.nn", "torch.nn.functional"}
_OPERATIONS |= {f"torch.{part}" for part in _PREFIXES}
_SUFFIXES = ("", "withindices", "withnoise", "_")


@cache
def product(chip: str) -> str:
    """`A2`, `A3`, `950`, or `other` for chips that the API table does not know (910, 310P, 310B).

    `910B` without a digit is a first-generation 910, not an A2.
    """
    name = chip.removeprefix("Ascend").removeprefix("_").upper()
    if re.match(r"910B\d", name):
        return "A2"
    if name.startswith(("910_93", "910C")):
        return "A3"
    return "950" if name.startswith("950") else "other"


@cache
def nearest(torch: str) -> str:
    """The version of the API table that is nearest to a torch version; the older of two equally near ones."""
    minor = _minor(torch)
    versions: list[str] = table("api_support.json")["versions"]
    return min(versions, key=lambda version: (abs(_minor(version) - minor), _minor(version)))


@cache
def judge(name: str, torch: str, chip: str) -> Verdict | None:
    """The verdict on `torch.…` or `Tensor.…`; None when nothing is known against it."""
    claimed = _claimed(name, torch, chip)
    found = run(_long(name)) if product(chip) != "other" else None
    if found is None or found.outcome is Outcome.REFUSED:
        return claimed
    if claimed is None:
        if found.outcome is not Outcome.FELL_BACK:
            return None
        return Verdict(Support.FALLBACK, "the vendor's tables", "do not list it as running on the CPU", run=found)
    return replace(claimed, support=_weighed(claimed.support, found.outcome), run=found)


@cache
def run(name: str) -> Run | None:
    """What happened to an API on the emulated card."""
    raw = table("api_evidence.json")
    text = raw["apis"].get(name)
    if text is None:
        return None
    outcome, _, words = text.partition(": ")
    return Run(Outcome(outcome), raw["torch_npu"], words)


def _weighed(claimed: Support, outcome: Outcome) -> Support:
    """A claim and an experiment together. One that fails has met a limit of some kind: the claim stays."""
    if outcome is Outcome.FELL_BACK:
        return Support.PARTLY if claimed is Support.PARTLY else Support.FALLBACK
    if outcome is Outcome.RAN and claimed in (Support.UNSUPPORTED, Support.UNTRIED):
        return Support.DISPUTED
    return Support.PARTLY if outcome is Outcome.RAN and claimed is Support.FALLBACK else claimed


def _claimed(name: str, torch: str, chip: str) -> Verdict | None:
    """What the vendor's table, the kernels and the wheel say."""
    kind, name = product(chip), _long(name)
    kernel = _kernel(name, torch, kind)
    if kind != "other":
        listed = _listed(name, nearest(torch), _PRODUCTS.index(kind), kernel)
        if listed is not None:
            return listed
    if kernel is None or kernel is True:
        return None
    where = f"torch_npu for torch {torch} on {kind if kind != 'other' else chip}"
    is_known = _operator(name) in table("op_support.json")["operators"]
    return Verdict(Support.UNSUPPORTED if is_known and kind == "other" else Support.FALLBACK, where, "has no kernel")


def _listed(name: str, version: str, column: int, kernel: bool | None) -> Verdict | None:
    """What the vendor's table says. Methods marked missing under a class marked present are an error of the table."""
    row = _row(name, version)
    if row is None or row[column] == "-":
        return None
    where = f"the vendor's table for torch {version} on {_PRODUCTS[column]}"
    types = re.search(r"\d+$", row[3:])
    dtypes = tuple(table("api_support.json")["dtypes"][int(types.group())].split()) if types else ()
    if row[column] == "0":
        owner = _row(name.rpartition(".")[0], version)
        if owner is not None and owner[column] == "1":
            return None
        if kernel is None:
            return Verdict(Support.UNSUPPORTED, where, "says unsupported")
        return Verdict(Support.UNTRIED if kernel else Support.FALLBACK, where, "says unsupported")
    flags = row[3 : types.start() + 3] if types else row[3:]
    support = Support.LIMITED if "l" in flags else Support.FULL
    if "c" in flags:
        support = Support.PARTLY if kernel or name.startswith("torch.optim.") else Support.FALLBACK
    return Verdict(support, where, _CLAIMS[support], dtypes)


@cache
def _row(name: str, version: str) -> str | None:
    apis = table("api_support.json")["apis"]
    row = apis.get(name)
    found: str | None = row if isinstance(row, str) or row is None else row.get(version)
    return found


def _long(name: str) -> str:
    """`torch.distributions.Gamma` is listed under its module, `torch.Tensor.add` as `Tensor.add`."""
    if name.startswith("torch.Tensor."):
        return name.removeprefix("torch.")
    head, _, last = name.rpartition(".")
    return _distributions().get(last, name) if head == "torch.distributions" else name


@cache
def _distributions() -> dict[str, str]:
    names = (name.split(".") for name in table("api_support.json")["apis"])
    return {words[3]: ".".join(words) for words in names if words[:2] == ["torch", "distributions"] and len(words) == 4}


def _operator(name: str) -> str:
    """The operator behind a function or layer: `torch.linalg.eig` is `linalg_eig`, `torch.nn.ReLU` is `relu`."""
    words = name.split(".")
    if words[:2] == ["torch", "nn"] and len(words) == 3 and words[2][:1].isupper():
        layer = words[2].lower()
        return next((found for suffix in _SUFFIXES if (found := _squeezed().get(layer + suffix))), "")
    return _PREFIXES.get(words[-2], "") + words[-1] if len(words) > 1 else name


@cache
def _squeezed() -> dict[str, str]:
    """Operators by their name without underscores."""
    names = {*table("op_support.json")["operators"], *_wheel("aten_cpu_without_npu_kernel")}
    return {name.replace("_", ""): name for name in sorted(names)}


@cache
def _kernel(name: str, torch: str, kind: str) -> bool | None:
    """Has the operator behind the function a kernel; None when it is no operator, or made of others."""
    operator = _operator(name) if _is_operation(name) else ""
    row = table("op_support.json")["operators"].get(operator)
    if row is not None:
        return _covers(row[0], torch) or (kind != "other" and _covers(row[1], torch))
    if operator in _wheel("aten_native_on_npu"):
        return True
    return False if operator in _wheel("aten_cpu_without_npu_kernel") else None


def _is_operation(name: str) -> bool:
    """Is it a function or layer that one operator stands behind?"""
    head = name.rpartition(".")[0]
    return head in _OPERATIONS


def _covers(span: str, torch: str) -> bool:
    first, _, last = span.partition("-")
    return span == "*" or (bool(span) and _minor(first) <= _minor(torch) <= _minor(last))


@cache
def _wheel(part: str) -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in table("torch_npu.json")[part])


def _minor(version: str) -> int:
    major, _, rest = version.partition(".")
    return int(major) * 1000 + int(rest.partition(".")[0] or 0)


@cache
def device_properties() -> frozenset[str]:
    """The fields that `torch.npu.get_device_properties(...)` has."""
    return frozenset(name for name in table("torch_npu.json")["device_properties"] if not name.startswith("_"))
