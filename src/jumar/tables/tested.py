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
    return tuple(Pair(**row) for row in table("tested.toml")["pairs"])


@cache
def mindspores() -> tuple[MindSpore, ...]:
    """The default first."""
    return tuple(MindSpore(**{**row, "python": tuple(row["python"])}) for row in table("tested.toml")["mindspore"])


def pair() -> Pair:
    """The pair that the extra `emulator` installs."""
    return pairs()[0]


def mindspore() -> MindSpore:
    return mindspores()[0]


def pair_hint() -> str:
    """For messages about a torch and a torch_npu that do not go together."""
    return f"the tested pair is torch {pair().torch} with torch_npu {pair().torch_npu}"


def pythons() -> tuple[str, ...]:
    """Of the whole suite with the default pair, lowest first."""
    return tuple(table("tested.toml")["python"]["versions"])


def supported() -> tuple[str, ...]:
    """Every Python that Jumar installs on, lowest first."""
    return tuple(table("tested.toml")["python"]["supported"])
