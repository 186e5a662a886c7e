"""`jumar emulate`: the virtual Ascend machine, its environment, its directory, and what it covers."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from jumar.cli import emulate_switch
from jumar.cli.options import chip
from jumar.core.errors import EXIT_OK, UserError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_MACHINE = (
    chip("soc", "Chip, such as 910B3 (the default) or 310P3."),
    click.option("--cards", type=int, metavar="N", help="Number of cards; default 8."),
    click.option("--memory", metavar="SIZE", help="Memory of each card, such as 32G; default: the chip's."),
)


def machine(function: Decorated) -> Decorated:
    """Add the options that describe the machine."""
    for decorate in reversed(_MACHINE):
        function = decorate(function)
    return function


@click.group("emulate", short_help="The virtual Ascend machine: environment, npu-smi, coverage")
def command() -> None:
    """The virtual Ascend machine: NPU code runs unchanged on a CPU.

    `jumar run` starts one program on it; these commands turn a whole shell or virtual environment into it, or tell what
    it covers.
    """


for _switch in (emulate_switch.on, emulate_switch.off, emulate_switch.status):
    command.add_command(_switch)


@command.command("env")
@machine
def env_(soc: str | None, cards: int | None, memory: str | None) -> int:
    """Print the variables of the machine for a shell: eval "$(jumar emulate env)"."""
    for name, value in _prepared(soc, cards, memory).items():
        click.echo(f"export {name}={shlex.quote(value)}")
    return EXIT_OK


@command.command("shell", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@machine
@click.argument("words", nargs=-1, metavar="[COMMAND]...", type=click.UNPROCESSED)
def shell(soc: str | None, cards: int | None, memory: str | None, words: tuple[str, ...]) -> int:
    """Start a shell on the machine, or COMMAND: jumar emulate shell npu-smi info."""
    from jumar.emulate import command as commands
    from jumar.runtime import variables

    values = _prepared(soc, cards, memory)
    argv = words or (os.environ.get("SHELL") or "/bin/sh",)
    if not words:
        cards, soc = variables.CARDS.read(values), variables.SOC.read(values)
        click.echo(f"jumar: a shell on {cards} emulated {soc} cards; `exit` leaves it", err=True)
        values[variables.ANNOUNCED.name] = "1"
    os.environ["PATH"] = values["PATH"]
    return commands.execute(commands.Command(tuple(argv), values, ""))


@command.command("prefix")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@machine
@click.option("--print", "only_print", is_flag=True, help="List what would be written.")
def prefix(folder: Path, soc: str | None, cards: int | None, memory: str | None, only_print: bool) -> int:
    """Write a directory that looks like an installed CANN, with npu-smi and hccn_tool.

    After `source DIR/ascend-toolkit/set_env.sh` the commands of the vendor's guides work unchanged.
    """
    from jumar.emulate import env
    from jumar.emulate import prefix as prefixes

    place = Path(os.path.abspath(folder))
    entries = prefixes.build(place, env.environment(soc, cards, memory, os.environ))
    if only_print:
        for name, entry in sorted(entries.items()):
            click.echo(f"{name} -> {entry.link}" if entry.link else name)
        return EXIT_OK
    prefixes.write(place, entries)
    click.echo(f"wrote `{folder}`: source {shlex.quote(str(place / 'ascend-toolkit/set_env.sh'))}", err=True)
    return EXIT_OK


@command.command("coverage")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--markdown", is_flag=True, help="Print the page docs/reference/emulator-coverage.md.")
@click.argument("name", required=False, metavar="[NAME]")
def coverage(as_json: bool, markdown: bool, name: str | None) -> int:
    """Show what is emulated: counts, or the state of NAME, a function or operator."""
    from jumar.emulate import coverage as covered
    from jumar.report import json

    found = covered.read()
    if as_json:
        click.echo(json.dump(covered.document(found)))
    elif markdown:
        click.echo(covered.page(found), nl=False)
    elif name:
        lines = covered.about(found, name)
        if not lines:
            from jumar.core.nearest import did_you_mean

            raise UserError(
                f"not in the list: `{name}`", did_you_mean(name, covered.names(found), "`--json` lists all")
            )
        click.echo("\n".join(lines))
    else:
        click.echo("\n".join(covered.counts(found)))
    return EXIT_OK


def _prepared(soc: str | None, cards: int | None, memory: str | None) -> dict[str, str]:
    """The variables, with a directory in the cache for npu-smi and the like."""
    from jumar.emulate import env
    from jumar.emulate import prefix as prefixes

    values = env.environment(soc, cards, memory, os.environ)
    prefixes.prepare(values)
    return prefixes.environment(prefixes.default_place(values), values, os.environ)
