"""All `JUMAR_*` variables: one row each, with its type, its default, who sets it and what it does.

Python reads them through their rows. docs/reference/variables.md is written from here (tools/generate.py); a test
compares the rows with the names in the sources and in native/.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from jumar.core import lang
from jumar.core.errors import UserError

T = TypeVar("T")
USER, INTERNAL = "you", "Jumar"


class Kind(NamedTuple):
    """A type of values: its name in messages, a hint, and the test that a value must pass."""

    words: str
    hint: str
    accepts: Callable[[str], bool]


class Variable(Generic[T]):
    """A row; `read` returns the typed value, `text` the string."""

    def __init__(self, name: str, kind: Kind, parse: Callable[[str], T], default: T, setter: str, does: str) -> None:
        self.name, self.kind, self.default, self.setter, self.does = name, kind, default, setter, does
        self._parse = parse

    def read(self, environ: Mapping[str, str] | None = None) -> T:
        """The value; the default where it is not set or empty. Raises `UserError` for a value of another kind."""
        text = self.text(environ)
        return self._parse(self.checked(text)) if text else self.default

    def text(self, environ: Mapping[str, str] | None = None) -> str:
        """The value as a string; empty if it is not set."""
        return (os.environ if environ is None else environ).get(self.name, "")

    def checked(self, text: str) -> str:
        """The text itself; raises `UserError` if it is not a value of this variable."""
        if not self.kind.accepts(text):
            raise UserError(f"`{self.name}={text}` is not {self.kind.words}", self.kind.hint)
        return text

    def __str__(self) -> str:
        return self.name


_TEXT = Kind("a text", "", lambda _: True)
_PATH = Kind("a path", "", lambda _: True)
_SWITCH = Kind("a switch", "write 0 or 1", lambda text: text in ("0", "1"))
_CARDS = Kind("a number of cards", "take 1 to 64", lambda text: text.isdecimal() and 1 <= int(text) <= 64)
_COUNT = Kind("a whole number", "write it as `3`", str.isdecimal)
_SECONDS = Kind("a number of seconds", "write it as `2.5`", lambda text: bool(re.fullmatch(r"\d+(\.\d+)?", text)))
_LANGUAGE = Kind("a language", "write `zh` or `en`", lambda text: text in lang.LANGUAGES)
_TARGET = Kind("a device target", "write `Ascend` or `CPU`", lambda text: text in ("Ascend", "CPU"))
_TUNING = Kind("a choice of configurations", "write `first` or `all`", lambda text: text in ("first", "all"))
NUMERICS_MODES = ("cpu", "card")
"""Whose arithmetic emulated cards have."""
_NUMERICS = Kind(
    "an arithmetic", "write `card`, `card:SEED` with a whole number, or `cpu`",
    lambda text: bool(re.fullmatch(r"cpu|card(:\d{1,18})?", text)),
)  # fmt: skip
_MEMORY = Kind(
    "a memory size",
    "write it as `32G` or `21534M`",
    lambda text: bool(re.fullmatch(r"\d+(\.\d+)?[KMGkmg]?", text)) and float(text.rstrip("KMGkmg")) > 0,
)
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def mebibytes(size: str) -> int:
    """`32G`, `21534M` or plain bytes, in MiB."""
    return int(float(size.rstrip("KMGkmg")) * _UNITS.get(size[-1].lower(), 1)) >> 20


ROWS: dict[str, Variable[Any]] = {}
"""By name."""


def _row(name: str, kind: Kind, parse: Callable[[str], T], default: T, does: str, setter: str = USER) -> Variable[T]:
    row = Variable(name, kind, parse, default, setter, does)
    ROWS[name] = row
    return row


def _on(text: str) -> bool:
    return text == "1"


# fmt: off
ANNOUNCED = _row(
    "JUMAR_ANNOUNCED", _TEXT, str, "",
    "`1` where somebody has said that cards are emulated; else the process whose tree says it once", INTERNAL)
CACHE = _row("JUMAR_CACHE", _PATH, str, "", "folder of built glue and emulated CANN directories; else the user's cache")
CANN = _row("JUMAR_CANN", _TEXT, str, "", "CANN release that the emulated machine shows, such as `8.5.0`")
CARDS = _row("JUMAR_CARDS", _CARDS, int, 8, "number of emulated cards")
CLOUD_CACHE = _row(
    "JUMAR_CLOUD_CACHE", _PATH, str, "",
    "local folder of a job that uses `jumar_cloud.py`; else `CACHE_DIR`, `/cache` or the temporary folder")
CLOUD_HOME = _row("JUMAR_CLOUD_HOME", _PATH, str, "", "folder of the cloud stand-in: its store, jobs and keys")
CLOUD_ISOLATE = _row(
    "JUMAR_CLOUD_ISOLATE", _SWITCH, _on, True, "`0`: jobs of the stand-in get no private `/cache` and `/home/ma-user`")
CLOUD_PAUSE = _row(
    "JUMAR_CLOUD_PAUSE", _SECONDS, float, 2.0, "seconds before `jumar_cloud.py` tries a failed transfer again")
CLOUD_TIMEOUT = _row(
    "JUMAR_CLOUD_TIMEOUT", _SECONDS, float, 14400.0,
    "seconds that `jumar_cloud.py` waits for another process to fetch the data")
CREDENTIALS = _row("JUMAR_CREDENTIALS", _PATH, str, "", "file with the access keys of `jumar cloud`")
CUDA = _row(
    "JUMAR_CUDA", _SWITCH, _on, False, "`1`: apply torch_npu's run-time migration (`jumar run --cuda`)", INTERNAL)
DEBUG = _row("JUMAR_DEBUG", _SWITCH, _on, False, "`1`: `jumar migrate` shows the traceback of a rule that crashed")
DEVICE_TARGET = _row(
    "JUMAR_DEVICE_TARGET", _TARGET, str, "", "device target that `jumar_cloud.py` gives MindSpore; else `Ascend`")
DRY = _row("JUMAR_DRY", _PATH, str, "", "folder for what a dry run finds (`jumar run --dry`)", INTERNAL)
DRY_EXACT = _row(
    "JUMAR_DRY_EXACT", _COUNT, int, 65536, "elements up to which a dry run computes (`jumar run --exact`)", INTERNAL)
DRY_STEPS = _row(
    "JUMAR_DRY_STEPS", _COUNT, int, 0, "updates after which a dry run ends (`jumar run --dry --steps`)", INTERNAL)
DRY_SYNTHETIC = _row(
    "JUMAR_DRY_SYNTHETIC", _SWITCH, _on, False, "data loaders of a dry run repeat one sample (`--synthetic`)", INTERNAL)
DRY_TRACE = _row(
    "JUMAR_DRY_TRACE", _PATH, str, "",
    "folder for the order of operators and collectives, of a dry run or of an emulated one", INTERNAL)
DRY_VALUES = _row(
    "JUMAR_DRY_VALUES", _TEXT, str, "", "values by line of the program (`jumar run --dry --value`)", INTERNAL)
DRY_WORLD = _row("JUMAR_DRY_WORLD", _COUNT, int, 0, "cards of the job that a dry run plays one rank of", INTERNAL)
EMULATE: Variable[bool | None] = _row(
    "JUMAR_EMULATE", _SWITCH, _on, None, "`1`: programs get emulated NPUs; `0`: never, whatever else asks for them")
EXPLAIN = _row("JUMAR_EXPLAIN", _SWITCH, _on, True, "`0`: `jumar run` does not explain the error of a failed program")
LANG = _row(
    "JUMAR_LANG", _LANGUAGE, str, "",
    "language of messages, help and pages: `zh` or `en`; else that of the locale (`LC_ALL`, `LC_MESSAGES`, `LANG`)")
MACHINE = _row(
    "JUMAR_MACHINE", _TEXT, str, "",
    "name of the emulated machine: processes with the same name share its cards; else chip, cards and memory")
MEMORY = _row("JUMAR_MEMORY", _MEMORY, mebibytes, 0, "memory of each emulated card, such as `32G`; else the chip's own")
NOISE = _row(
    "JUMAR_NOISE", _SWITCH, _on, False, "`1`: show the warnings of torch_npu that mean nothing; else one line says so")
MINDSPORE_KERNELS = _row(
    "JUMAR_MINDSPORE_KERNELS", _PATH, str, "", "folder of the operators that MindSpore's process computes", INTERNAL)
MINDSPORE_MEET = _row(
    "JUMAR_MINDSPORE_MEET", _PATH, str, "", "folder in which the ranks of a MindSpore job tell that they have ended",
    INTERNAL)
MINDSPORE_PORT = _row(
    "JUMAR_MINDSPORE_PORT", _COUNT, int, 0, "port at which the ranks of a MindSpore job meet", INTERNAL)
MINDSPORE_PYTHON = _row(
    "JUMAR_MINDSPORE_PYTHON", _PATH, str, "", "interpreter with MindSpore for `jumar parallel --prove` and the tests")
MINDSPORE_TARGET = _row(
    "JUMAR_MINDSPORE_TARGET", _TARGET, str, "", "device target that MindSpore programs get", INTERNAL)
NUMERICS = _row(
    "JUMAR_NUMERICS", _NUMERICS, str, "cpu",
    "`card`: emulated cards compute as far as is known like the chip; `card:7` draws open orders with this seed")
OPS = _row("JUMAR_OPS", _PATH, str, "", "file for the operators that ran (`jumar run --ops`)", INTERNAL)
PREFIX = _row("JUMAR_PREFIX", _PATH, str, "", "the emulated CANN directory in use", INTERNAL)
PROFILE = _row("JUMAR_PROFILE", _PATH, str, "", "folder for profiles (`jumar run --profile`)", INTERNAL)
PROFILE_STEPS = _row(
    "JUMAR_PROFILE_STEPS", _COUNT, int, 0, "updates after which a profiled program ends (`jumar perf lint --steps`)",
    INTERNAL)
QUIET = _row("JUMAR_QUIET", _SWITCH, _on, False, "`1`: nothing says that cards are emulated or warnings folded")
RECORD = _row("JUMAR_RECORD", _TEXT, str, "", "what `jumar compare record` asks of the program", INTERNAL)
REFUSAL_FILE = _row(
    "JUMAR_REFUSAL_FILE", _PATH, str, "", "file for refused calls and fallbacks to the CPU, one per line",
    INTERNAL)
REFUSALS: Variable[bool | None] = _row(
    "JUMAR_REFUSALS", _SWITCH, _on, None,
    "refused calls on stderr: not set, each function once; `1`, every call, operators too; `0`, none")
SOC = _row("JUMAR_SOC", _TEXT, str, "Ascend910B3", "emulated chip")
TRITON_AUTOTUNE = _row(
    "JUMAR_TRITON_AUTOTUNE", _TUNING, str, "first",
    "configurations of `triton.autotune` that the emulator runs: the `first`, or `all`, compared with each other")
# fmt: on
