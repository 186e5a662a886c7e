"""The versions of torch, torch_npu, CANN, MindSpore and Python that Jumar is tested with (`data/tested.toml`).

Which torch_npu the vendor pairs with which torch is another question: `tables/versions.py`.
"""

from __future__ import annotations

from functools import cache

from jumar.core.compat import dataclass
from jumar.tables.load import table


@dataclass(frozen=True, slots=True)
class Pair:
    """A torch and the torch_npu that was run with it."""

    torch: str
    torch_npu: str
    cann: str
    """What the stand-ins report to this torch_npu."""
    state: str
    """`tested`: the whole suite; `runs`: every check of tools/versions.py; `basic checks`: some; `fails`: none."""
    python: str = ""
    """The Python that it was run on; empty for the default pair, which runs on all of `pythons()`."""
    date: str = ""
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Names of checks, each with what went wrong: `ddp: RuntimeError: …`."""
    sample: tuple[int, ...] = ()
    """Cases of the vendor's base-operator tests: passed, and all that they do not skip themselves."""
    sample_of: str = ""
    """Where the sample was taken from."""

    @property
    def failed_checks(self) -> tuple[str, ...]:
        return tuple(text.split(":", 1)[0] for text in self.failed)


@dataclass(frozen=True, slots=True)
class MindSpore:
    mindspore: str
    cann: str
    numpy: str
    """The range of numpy it works with: `<2`."""
    python: tuple[str, ...]
    """The Python versions of its wheels."""
    state: str

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f"pip install mindspore=={self.mindspore} 'numpy{self.numpy}'"


@cache
def pairs() -> tuple[Pair, ...]:
    """The default first."""
    lists = ("passed", "failed", "sample")
    rows = table("tested.toml")["pairs"]
    return tuple(Pair(**{**row, **{name: tuple(row.get(name, ())) for name in lists}}) for row in rows)


def find(torch: str, torch_npu: str) -> Pair | None:
    """The row of exactly these versions, whatever build they are (`+cpu`)."""
    wanted = tuple(version.split("+")[0] for version in (torch, torch_npu))
    return next((row for row in pairs() if (row.torch, row.torch_npu) == wanted), None)


@cache
def mindspores() -> tuple[MindSpore, ...]:
    """The default first."""
    return tuple(MindSpore(**{**row, "python": tuple(row["python"])}) for row in table("tested.toml")["mindspore"])


def pair() -> Pair:
    """The pair that the extra `emulator` installs."""
    return pairs()[0]


def mindspore() -> MindSpore:
    return mindspores()[0]


def triton() -> dict[str, str]:
    """The wheels whose kernels run on the emulated card, and their versions."""
    return dict(table("tested.toml")["triton"])


def pair_hint() -> str:
    """For messages about a torch and a torch_npu that do not go together."""
    return f"the tested pair is torch {pair().torch} with torch_npu {pair().torch_npu}"


def pythons() -> tuple[str, ...]:
    """Of the whole suite with the default pair, lowest first."""
    return tuple(table("tested.toml")["python"]["versions"])


def supported() -> tuple[str, ...]:
    """Every Python that Jumar installs on, lowest first."""
    return tuple(table("tested.toml")["python"]["supported"])
