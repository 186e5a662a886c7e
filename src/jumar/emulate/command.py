"""`jumar run` as a value: which program is started, with which variables, on real or emulated NPUs."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, NoReturn

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.emulate import env, mindspore, prefix, program
from jumar.runtime import process

DRIVERS = ("/usr/local/Ascend/driver", "/usr/local/npu/driver", "/dev/davinci_manager")
"""Any of these says that the driver is there; some newer machines keep it in /usr/local/npu."""
INSTALL = "pip install 'jumar[emulator]'"
_WITH_VALUE = {"-W", "-X", "--check-hash-based-pycs"}
"""Options of the interpreter that take the next word."""


class Wish(NamedTuple):
    """What the user asked for beside the program itself."""

    soc: str | None = None
    cards: int | None = None
    memory: str | None = None
    cuda: bool = False
    ops: Path | None = None
    on: str | None = None
    python: str | None = None


class Command(NamedTuple):
    """A process to be: `execute` turns this one into it."""

    argv: tuple[str, ...]
    variables: dict[str, str]
    """What is added to the environment."""
    where: str
    """One line for the user: on which NPUs it runs."""
    glue: bool = True
    """Whether an emulated run needs torch's dispatcher glue."""


def build(words: Sequence[str], wish: Wish, environ: Mapping[str, str], folder: Path = Path()) -> Command:
    """The command for `script.py ARGS`, `-m module ARGS`, `-c code ARGS`, `-` or a program on the path."""
    framework = program.framework(words, folder) or _only_framework(wish)
    if framework == program.MINDSPORE:
        return _mindspore(words, wish, environ, folder)
    _only_mindspore(wish)
    argv = argv_of(words, folder)
    real = devices() if environ.get("JUMAR_EMULATE") != "1" else []
    if environ.get("JUMAR_EMULATE") == "0" or real:
        return _on_real(argv, wish, real)
    glue = framework == program.TORCH or _has("torch")
    if glue:
        _check_packages()
    values = env.environment(wish.soc, wish.cards, wish.memory, environ)
    place = prefix.default_place(values)
    return Command(argv, {**prefix.variables(place, values, environ), **_extras(wish)}, _emulating(values), glue)


def _mindspore(words: Sequence[str], wish: Wish, environ: Mapping[str, str], folder: Path) -> Command:
    if wish.cuda or wish.ops is not None:
        raise UserError(f"`--{'cuda' if wish.cuda else 'ops'}` is for torch, and this program is MindSpore's")
    python = wish.python or sys.executable
    argv = argv_of(words, folder, python)
    if wish.on == "cpu":
        said = mindspore.warning(mindspore.check(python))
        where = "jumar: device_target becomes CPU, whatever the program says"
        return Command(argv, mindspore.on_cpu(environ, python), "\n".join(filter(None, [said, where])), glue=False)
    real = devices() if environ.get("JUMAR_EMULATE") != "1" else []
    if environ.get("JUMAR_EMULATE") == "0" or real:
        return _on_real(argv, wish, real)
    found = mindspore.check(python)
    values = env.environment(wish.soc, wish.cards, wish.memory, environ)
    where = "\n".join(filter(None, [mindspore.warning(found), _emulating(values)]))
    return Command(argv, mindspore.emulated(values, environ, python, found.mindspore), where, glue=False)


def _only_framework(wish: Wish) -> str | None:
    """Where the program does not tell: MindSpore, in an environment that has it and not torch."""
    asked = wish.on is not None or wish.python is not None
    return program.MINDSPORE if asked or (_has("mindspore") and not _has("torch")) else None


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _only_mindspore(wish: Wish) -> None:
    for name, given in (("on", wish.on), ("python", wish.python)):
        if given is not None:
            raise UserError(
                f"`--{name}` is for MindSpore programs, and this one does not import mindspore",
                "leave it out; a torch program runs with the interpreter that jumar is installed for",
            )


def _emulating(values: Mapping[str, str]) -> str:
    size = env.memory_mib(values)
    return f"jumar: no NPU found, emulating {values['JUMAR_CARDS']} x {values['JUMAR_SOC']} with {size} MiB each"


def devices() -> list[str]:
    """The device files of real NPUs, where the driver is installed too."""
    if not any(os.path.exists(path) for path in DRIVERS):
        return []
    return sorted(glob.glob("/dev/davinci[0-9]*"))


def shown(command: Command) -> list[str]:
    """The command as shell lines that do the same."""
    import shlex

    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(command.variables.items())]
    return [*lines, shlex.join(command.argv)]


def prepare(command: Command, wish: Wish) -> None:
    """Make what an emulated run needs, here: a missing compiler or a full disk is no error of the program."""
    if command.variables["JUMAR_EMULATE"] != "1":
        return
    from jumar.emulate.glue import build, record

    if command.glue:
        build.library()
    prefix.prepare(command.variables)
    if wish.ops is not None:
        record.begin(wish.ops)


def execute(command: Command) -> NoReturn:
    """Become the command: exit code, signals and standard streams are then its own."""
    process.become(command.argv, {**os.environ, **command.variables})


def _on_real(argv: tuple[str, ...], wish: Wish, real: list[str]) -> Command:
    for name, given in (("soc", wish.soc), ("cards", wish.cards), ("memory", wish.memory), ("ops", wish.ops)):
        if given is not None:
            raise UserError(
                f"`--{name}` is for emulated NPUs, and this run uses real ones",
                "set `JUMAR_EMULATE=1` to emulate, or leave the option out",
            )
    count = len(real)
    what = f"{count} real NPU{'' if count == 1 else 's'}" if count else "real NPUs (JUMAR_EMULATE=0)"
    return Command(argv, {"JUMAR_EMULATE": "0", **_extras(wish)}, f"jumar: using {what}")


def _extras(wish: Wish) -> dict[str, str]:
    values = {"JUMAR_CUDA": "1"} if wish.cuda else {}
    if wish.ops is not None:
        values["JUMAR_OPS"] = str(wish.ops.absolute())
    return values


def argv_of(words: Sequence[str], folder: Path, python: str = sys.executable) -> tuple[str, ...]:
    """The process that these words mean, real or emulated."""
    flags, rest = _split(words)
    if not rest:
        raise UserError("nothing to run", "`jumar run train.py`, `jumar run -m package.train` or `jumar run -c 'code'`")
    first = rest[0]
    if _is_binary(folder / first):
        return tuple(rest)
    if first[:2] in ("-m", "-c") or first == "-" or (folder / first).exists():
        if first in ("-m", "-c") and len(rest) == 1:
            raise UserError(f"`{first}` needs a value")
        return (python, *flags, *rest)
    program = None if "/" in first or flags else _program(first, python)
    if program is None:
        raise UserError(f"no such script or program: `{first}`", _nearest_file(first, folder))
    return (program, *rest[1:])


def _is_binary(path: Path) -> bool:
    """Is it a program of its own, such as another interpreter given by its path?"""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The interpreter's own flags (`-u`, `-W error`), and what it shall run."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-" and words[at][:2] not in ("-m", "-c"):
        at += 2 if words[at] in _WITH_VALUE else 1
    return list(words[:at]), list(words[at:])


def _program(name: str, python: str) -> str | None:
    """A program such as torchrun or pytest: first the one that belongs to the interpreter."""
    return shutil.which(name, path=str(Path(python).parent)) or shutil.which(name)


def _nearest_file(name: str, folder: Path) -> str:
    parent = (folder / name).parent
    known = os.listdir(parent) if parent.is_dir() else []
    near = [os.path.join(os.path.dirname(name), file) for file in known]
    return did_you_mean(name, near, "check the path; `jumar run` takes the same words as `python`")


def _check_packages() -> None:
    for package in ("torch", "torch_npu"):
        if not _has(package):
            raise UserError(f"`{package}` is not installed in this environment", INSTALL)
    torch, npu = (metadata.version(name) for name in ("torch", "torch_npu"))
    if env.base_version(torch) != env.base_version(npu):
        raise UserError(f"torch {torch} and torch_npu {npu} do not belong together", f"{env.TESTED}: {INSTALL}")
