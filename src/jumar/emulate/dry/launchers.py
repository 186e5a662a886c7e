"""Launchers in front of a program: a dry run is one process, so it reads how many they would start, and starts one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jumar.core.errors import UserError


class Launched(NamedTuple):
    """What a launcher would start."""

    world: int
    """0: nobody said."""
    words: tuple[str, ...]
    rank_option: str = ""


class _Launcher(NamedTuple):
    flags: frozenset[str]
    """Options that take no value."""
    nodes: str
    each: str
    total: str = ""
    rank_option: str = ""
    """With which each program is told its card, unless one of `silent` is given."""
    silent: frozenset[str] = frozenset()


_TORCH = frozenset({"--standalone", "-m", "--module", "--no-python", "--run-path", "--use-env"})
_TORCHRUN = _Launcher(_TORCH, "--nnodes", "--nproc-per-node")
_LAUNCH = _TORCHRUN._replace(rank_option="--local-rank", silent=frozenset({"--use-env"}))
_DEEPSPEED = _Launcher(
    frozenset({"--module", "--no-python", "--no-local-rank", "--save-pid", "--bind-cores-to-rank", "--force-multi",
               "--no-ssh", "--no-ssh-check", "--enable-each-rank-log", "--elastic-training"}),
    "--num-nodes", "--num-gpus", rank_option="--local_rank", silent=frozenset({"--no-local-rank"}),
)  # fmt: skip


def read(words: Sequence[str]) -> Launched:
    """The program behind a launcher's words; the words themselves where there is no launcher.

    `accelerate launch` stays: it sets many variables, and starts its program itself (dry/inside.py).
    """
    rest = list(words)
    first = Path(rest[0]).name if rest else ""
    if first == "torchrun":
        return _behind(_TORCHRUN, first, rest[1:])
    if rest[:2] == ["-m", "torch.distributed.run"]:
        return _behind(_TORCHRUN, rest[1], rest[2:])
    if rest[:2] == ["-m", "torch.distributed.launch"]:
        return _behind(_LAUNCH, rest[1], rest[2:])
    if first == "deepspeed":
        return _behind(_DEEPSPEED, first, rest[1:])
    if first == "accelerate" and rest[1:2] == ["launch"]:
        return Launched(_processes(rest[2:]), tuple(words))
    return Launched(0, tuple(words))


def _behind(launcher: _Launcher, name: str, rest: list[str]) -> Launched:
    given: dict[str, str] = {}
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        option, equals, value = rest[at].partition("=")
        option, at = _plain(option), at + 1
        if option not in launcher.flags and not equals:
            value, at = rest[at] if at < len(rest) else "", at + 1
        given[option] = value
    program = rest[at:]
    if not program:
        raise UserError(f"{name} has nothing to run", "name the script after its options")
    nodes = _number(launcher.nodes, given.get(launcher.nodes, "1").rpartition(":")[2])
    world = nodes * _number(launcher.each, given.get(launcher.each, "1"))
    module = "-m" in given or "--module" in given
    option = "" if launcher.silent & given.keys() else launcher.rank_option
    return Launched(world, ("-m", *program) if module else tuple(program), option)


def _processes(rest: list[str]) -> int:
    """`--num_processes` of accelerate; 0 where its configuration says it."""
    for at, word in enumerate(rest):
        option, equals, value = word.partition("=")
        if _plain(option) == "--num-processes":
            return _number(option, value if equals else "".join(rest[at + 1 : at + 2]))
        if word.endswith(".py"):
            break
    return 0


def _plain(option: str) -> str:
    return option.replace("_", "-")


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise UserError(f"`{name} {text}`: a dry run needs a number", "write it, or use `--world`")
    return int(text)
