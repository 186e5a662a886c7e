"""Every command of the click tree, the places where it takes a word, and words that are wrong there."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from jumar.cli import main as cli

_PLACES = ("FILE", "DIR", "FOLDER", "PATH", "REC", "OUT", "MODEL", "SCRIPT", "TRACE", "BEFORE", "AFTER")
_FILLED = {"A": "file.txt", "B": "file.txt", "IN": "file.txt", "-- PROGRAM ARGS...": "file.txt"}
"""Words for arguments whose names do not say that they are places."""


NO_NUMBERS = ("nan", "-nan", "inf", "-inf", "1e999", "0x10", "no-such-value")
"""What Python reads as a number and nobody can count with, and what it does not."""


class Case(NamedTuple):
    """One call: the words of a command with a wrong one among them."""

    name: str
    words: tuple[str, ...]


def commands(
    group: click.Group = cli.jumar, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The commands that do something, with the words that name them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield (*path, name), command


def is_place(param: click.Parameter) -> bool:
    """Does it name a file or a folder?"""
    words = (param.metavar or "").replace("|", " ").replace("=", " ").replace("[", " ").replace("]", " ").split()
    return isinstance(param.type, click.Path) or any(word.strip(".") in _PLACES for word in words)


def is_number(param: click.Parameter) -> bool:
    return isinstance(param.type, (click.types.IntParamType, click.types.FloatParamType))


def wrong_places(folder: Path) -> dict[str, str]:
    """Files that cannot be used, by what is wrong with them."""
    (folder / "folder").mkdir()
    (folder / "file.txt").write_text("plain text\n")
    (folder / "empty").touch()
    (folder / "garbage").write_bytes(bytes(range(256)) * 64)
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    for name in ("two\nlines", os.fsdecode(b"not-\xff-utf-8")):
        (folder / name).write_bytes(b"\0\1\2")
    (folder / "nest").mkdir()
    (folder / "nest/loop").symlink_to("loop")
    (folder / "nest/circle").symlink_to(".")
    os.mkfifo(folder / "nest/pipe.py")
    for name in ("garbage.json", "garbage.onnx", "garbage.py"):
        (folder / name).write_bytes(bytes(range(256)) * 64)
    (folder / "empty.json").touch()
    (folder / "denied").write_text("secret\n")
    (folder / "denied-folder").mkdir()
    for name in ("denied", "denied-folder"):
        (folder / name).chmod(0)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket"))
    (folder / "endless").symlink_to("/dev/zero")
    if os.geteuid() == 0:
        os.mknod(folder / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 7))  # as /dev/full
    names = (
        "denied", "denied-folder", "device", "empty", "empty.json", "endless", "folder", "garbage", "garbage.json",
        "garbage.onnx", "garbage.py", "loop", "missing", "nest", "not-\udcff-utf-8", "pipe", "socket", "two\nlines",
    )  # fmt: skip
    return {**{name: name for name in names}, "below-a-file": "file.txt/x", "too-long": "x" * 300,
            "below-a-denied-folder": "denied-folder/x"}  # fmt: skip


def cases(path: tuple[str, ...], command: click.Command, places: dict[str, str]) -> Iterator[Case]:
    """Each argument and each option with each wrong word; the others are filled with plain words."""
    yield Case("no-such-option", (*path, "--no-such-option"))
    for kind, word in places.items():
        if any(isinstance(param, click.Argument) for param in command.params):
            yield Case(f"argument-{kind}", (*path, *_required(command), *_arguments(command, word)))
        for param in command.params:
            if isinstance(param, click.Option) and is_place(param):
                rest = [word for option, word in _pairs(command) if option != param.opts[0]]
                yield Case(f"{param.opts[-1]}-{kind}",
                           (*path, param.opts[0], word, *rest, *_arguments(command, "file.txt")))  # fmt: skip
    for param in command.params:
        if isinstance(param, click.Option) and not param.is_flag and not is_place(param):
            for word in (*(NO_NUMBERS if is_number(param) else ("nan",)), "-1", "99999999999999999999", ""):
                words = (*path, *_required(command), param.opts[0], word, *_arguments(command, "file.txt"))
                yield Case(f"{param.opts[-1]}-{word}", words)


def _required(command: click.Command) -> list[str]:
    return [word for _, word in _pairs(command)]


def _pairs(command: click.Command) -> list[tuple[str, str]]:
    """The options that a command cannot do without, each as its name and its words."""
    found = []
    for param in command.params:
        if isinstance(param, click.Option) and param.required:
            found += [(param.opts[0], param.opts[0]), (param.opts[0], "made" if is_place(param) else "1.0")]
    return found


def _arguments(command: click.Command, word: str) -> list[str]:
    rows: Callable[[click.Parameter], bool] = lambda param: isinstance(param, click.Argument)  # noqa: E731
    found = [word for _ in filter(rows, command.params)]
    return found or ([word] if hasattr(command, "parse_args") and type(command).__name__ == "LikePython" else [])
