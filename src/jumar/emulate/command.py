"""`jumar run` as a value: which program is started, with which variables, on real or emulated NPUs."""

from __future__ import annotations

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
from jumar.emulate import env, mindspore, pair, prefix, program
from jumar.emulate.numerics import mode
from jumar.runtime import activation, npus, process, variables

_WITH_VALUE = {"-W", "-X", "--check-hash-based-pycs"}
"""Options of the interpreter that take the next word."""


class RunRequest(NamedTuple):
    """The options of `jumar run`."""

    soc: str | None = None
    cards: int | None = None
    memory: str | None = None
    cuda: bool = False
    ops: Path | None = None
    numerics: str | None = None
    on: str | None = None
    python: str | None = None


class Command(NamedTuple):
    """A process to start: `execute` turns this one into it."""

    argv: tuple[str, ...]
    variables: dict[str, str]
    """What is added to the environment."""
    where: str
    """One line for the user: on which NPUs it runs."""
    glue: bool = True
    """Whether an emulated run needs torch's dispatcher glue."""


def build(words: Sequence[str], request: RunRequest, environ: Mapping[str, str], folder: Path = Path()) -> Command:
    """The command for `script.py ARGS`, `-m module ARGS`, `-c code ARGS`, `-` or a program on the path."""
    framework = program.framework(words, folder) or _only_framework(request)
    if framework == program.MINDSPORE:
        return _mindspore(words, request, environ, folder)
    _only_mindspore(request)
    argv = argv_of(words, folder)
    real = npus.devices()
    if not _emulates(environ, real):
        return _on_real(argv, request, real)
    glue = framework == program.TORCH or _has("torch")
    said = _check_packages() if glue else ""
    values = env.environment(request.soc, request.cards, request.memory, environ)
    place = prefix.default_place(values)
    added = {**prefix.environment(place, values, environ), **_extras(request)}
    arithmetic = mode.read({**environ, **added})
    computes = mode.told(arithmetic, environ) if arithmetic else ""
    where = "\n".join(filter(None, [said, _emulating(values, real), computes]))
    return Command(argv, added, where, glue)


def _mindspore(words: Sequence[str], request: RunRequest, environ: Mapping[str, str], folder: Path) -> Command:
    for name in ("cuda", "ops", "numerics"):
        if getattr(request, name):
            raise UserError(f"`--{name}` is for torch, but this is a MindSpore program")
    python = request.python or sys.executable
    argv = argv_of(words, folder, python)
    if request.on == "cpu":
        said = mindspore.warning(mindspore.check(python))
        where = "jumar: device_target is CPU, whatever the program sets"
        return Command(argv, mindspore.on_cpu(environ, python), "\n".join(filter(None, [said, where])), glue=False)
    real = npus.devices()
    if not _emulates(environ, real):
        return _on_real(argv, request, real)
    found = mindspore.check(python)
    mindspore.refuse_old(found)
    values = env.environment(request.soc, request.cards, request.memory, environ)
    where = "\n".join(filter(None, [mindspore.warning(found), _emulating(values, real)]))
    return Command(argv, mindspore.emulated(values, environ, python, found.mindspore), where, glue=False)


def _only_framework(request: RunRequest) -> str | None:
    """For a program that names none: MindSpore, if the environment has it and not torch."""
    asked = request.on is not None or request.python is not None
    return program.MINDSPORE if asked or (_has("mindspore") and not _has("torch")) else None


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _only_mindspore(request: RunRequest) -> None:
    for name, given in (("on", request.on), ("python", request.python)):
        if given is not None:
            raise UserError(
                f"`--{name}` is for MindSpore programs, but this one does not import mindspore",
                "remove it; torch programs run in the interpreter that jumar is installed in",
            )


def _emulates(environ: Mapping[str, str], real: Sequence[str]) -> bool:
    """Yes where it was asked for; otherwise only if the machine has no NPUs."""
    asked = activation.decide(environ)
    return asked.on or (asked.by == "nothing" and not real)


def _emulating(values: Mapping[str, str], real: Sequence[str]) -> str:
    size, cards = env.memory_mib(values), variables.CARDS.read(values)
    why = "the real NPUs are not used" if real else "no NPU found"
    return f"jumar: {why}, emulating {cards} x {variables.SOC.read(values)} with {size} MiB each"


def announced(command: Command) -> Command:
    """For a caller that shows `where` itself: the program and all it starts say nothing more about it."""
    return command._replace(variables={**command.variables, variables.ANNOUNCED.name: "1"})


def shown(command: Command) -> list[str]:
    """The command as shell lines that do the same."""
    import shlex

    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(command.variables.items())]
    return [*lines, shlex.join(command.argv)]


def prepare(command: Command, request: RunRequest) -> None:
    """Make what an emulated run needs, before it starts: a missing compiler is not the program's error."""
    if not variables.EMULATE.read(command.variables):
        return
    from jumar.emulate.glue import build, record

    if command.glue:
        build.library()
    prefix.prepare(command.variables)
    if request.ops is not None:
        record.begin(request.ops)


def execute(command: Command) -> NoReturn:
    """Become the command: exit code, signals and standard streams are then its own."""
    process.become(command.argv, {**os.environ, **command.variables})


def _on_real(argv: tuple[str, ...], request: RunRequest, real: list[str]) -> Command:
    for name in ("soc", "cards", "memory", "ops", "numerics"):
        if getattr(request, name) is not None:
            raise UserError(
                f"`--{name}` is for emulated NPUs, but this run uses real ones",
                "set `JUMAR_EMULATE=1` to emulate, or leave the option out",
            )
    count = len(real)
    what = f"{count} real NPU{'' if count == 1 else 's'}" if count else "real NPUs (JUMAR_EMULATE=0)"
    return Command(argv, {variables.EMULATE.name: "0", **_extras(request)}, f"jumar: using {what}")


def _extras(request: RunRequest) -> dict[str, str]:
    values = {variables.CUDA.name: "1"} if request.cuda else {}
    if request.ops is not None:
        values[variables.OPS.name] = str(request.ops.absolute())
    if request.numerics is not None:
        values[variables.NUMERICS.name] = mode.check(request.numerics)
    return values


def argv_of(words: Sequence[str], folder: Path, python: str = sys.executable) -> tuple[str, ...]:
    """The process that these words mean, real or emulated."""
    flags, rest = _split(words)
    if not rest:
        raise UserError("nothing to run", "`jumar run train.py`, `jumar run -m package.train` or `jumar run -c 'code'`")
    first = rest[0]
    if _is_program(folder / first):
        return (first if "/" in first else f"./{first}", *rest[1:])
    if first[:2] in ("-m", "-c") or first == "-" or (folder / first).exists():
        if first in ("-m", "-c") and len(rest) == 1:
            raise UserError(f"`{first}` needs a value")
        return (python, *flags, *rest)
    program = None if "/" in first or flags else _program(first, python)
    if program is None:
        raise UserError(f"no such script or program: `{first}`", _nearest_file(first, folder))
    return (program, *rest[1:])


def _is_program(path: Path) -> bool:
    """Does it start by itself: another interpreter given by its path, or a script of another language?"""
    try:
        with open(path, "rb") as file:
            start = file.readline(200)
    except OSError:
        return False
    if start.startswith(b"#!"):
        return b"python" not in start and os.access(path, os.X_OK)
    return start.startswith(b"\x7fELF")


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The interpreter's own flags (`-u`, `-W error`), and what it runs."""
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
    return did_you_mean(name, near, "check the path; `jumar run` takes the arguments of `python`")


def _check_packages() -> str:
    """A line about torch and torch_npu, if there is something to say."""
    for package in ("torch", "torch_npu"):
        if not _has(package):
            raise pair.missing(package)
    return pair.check(*(metadata.version(name) for name in ("torch", "torch_npu")))
