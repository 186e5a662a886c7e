"""What the user asked of a migration; a plain value that every rule may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from jumar.core.compat import StrEnum, dataclass
from jumar.tables import tested


class Style(StrEnum):
    NPU = "npu"
    AGNOSTIC = "agnostic"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Facts:
    """What one quick look over the whole project found; the same for every file of it."""

    own_methods: frozenset[str] = frozenset()
    """Method names such as `cuda` that a class of the project itself defines and that mean something else."""
    own_movers: frozenset[str] = frozenset()
    """Such names of methods that do move their object to a device."""
    own_modules: frozenset[str] = frozenset()
    """Top-level module names that lie in the project and so hide packages of the same name."""
    kernels: frozenset[str] = frozenset()
    """Functions and classes of the project that start a kernel which only CUDA has."""
    extensions: frozenset[str] = frozenset()
    """Modules that the project compiles from CUDA sources, by their dotted names."""
    own_words: frozenset[str] = frozenset()
    """Variables that are given "cuda" and also words that name no device: an implementation, a mode."""
    device_names: frozenset[str] = frozenset()
    """Variables that are given "cuda" and nothing but devices."""
    npu_twins: frozenset[str] = frozenset()
    """Names for CUDA that the project also has for NPUs (`is_cuda_available`, `MULTI_GPU`): they keep their meaning."""
    packages: frozenset[str] = frozenset()
    """Folders that hold an `__init__.py`, as paths of the same kind as those of the files."""
    programs: tuple[tuple[tuple[str, str], ...], ...] = ()
    """For `--multi-card`: the programs for one card, paths and texts (as Latin-1) of each, its main file first."""
    distributed: frozenset[str] = frozenset()
    """For `--multi-card`: the files of programs that run on several cards already."""
    mindspore: bool = False
    """Does a file of the project import MindSpore?"""


class Place(NamedTuple):
    """Where a function takes a path."""

    position: int
    name: str


@dataclass(frozen=True, slots=True)
class Cloud:
    """What `jumar cloud adapt` works on; with it, only the rules of the family `cloud` run."""

    boot: str
    """Path of the file that the job starts."""
    many_devices: bool = False
    """Does some file of the program already divide its work among devices?"""
    divides_data: bool = False
    """Does one already divide its data among them?"""
    called_once: frozenset[str] = frozenset()
    """Functions that the program calls in one place, which is not about other data than that of the training."""
    is_adapted: bool = False
    """Does the boot file use the helper already?"""
    has_parser: bool = False
    """Does some file of the program define options of a command line?"""
    modules: frozenset[str] = frozenset()
    """The program's own modules by their dotted names."""
    writers: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    """Functions of the program that write to a path they are given."""
    readers: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    """Functions of the program that read from a path they are given."""
    evidence: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What the whole program does with each option: `data`, `results`, `start`, or `word` for one that is no path."""


class RuleFile(NamedTuple):
    """A file with a rule of the user's own, and the content that the user trusts."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Settings:
    to: Style = Style.NPU
    torch: str = field(default_factory=lambda: tested.pair().torch)
    chip: str = "910B3"
    unsafe: bool = False
    multi_card: bool = False
    sharded: bool = False
    """With `multi_card`: is the model split over the cards (FSDP) instead of copied to each (DDP)?"""
    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    facts: Facts = Facts()
    rows: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Extra rows from the user's `jumar.toml`, by table name."""
    rule_files: tuple[RuleFile, ...] = ()
    """Files with the user's own rules."""
    cloud: Cloud | None = None
