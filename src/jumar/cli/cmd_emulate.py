"""`jumar emulate`: the virtual Ascend machine, its environment, its directory, and what it covers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from jumar.app import emulate
from jumar.app.emulate import MachineRequest
from jumar.cli import emulate_switch, show
from jumar.cli.listed import Listed
from jumar.cli.options import chip
from jumar.core.errors import EXIT_OK

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


@click.group("emulate", cls=Listed, short_help="The virtual Ascend machine: environment, npu-smi, coverage")
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
    from jumar.report import emulate as report

    show.lines(report.exports(emulate.environment(MachineRequest(soc, cards, memory))))
    return EXIT_OK


@command.command("shell", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@machine
@click.argument("words", nargs=-1, metavar="[COMMAND]...", type=click.UNPROCESSED)
def shell(soc: str | None, cards: int | None, memory: str | None, words: tuple[str, ...]) -> int:
    """Start a shell on the machine, or COMMAND: jumar emulate shell npu-smi info."""
    from jumar.report import emulate as report

    built = emulate.shell(words, MachineRequest(soc, cards, memory))
    if not words:
        show.say(report.entered(built), err=True)
    return built.start()


@command.command("prefix")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@machine
@click.option("--print", "only_print", is_flag=True, help="List what would be written.")
def prefix(folder: Path, soc: str | None, cards: int | None, memory: str | None, only_print: bool) -> int:
    """Write a directory that looks like an installed CANN, with npu-smi and hccn_tool.

    After `source DIR/ascend-toolkit/set_env.sh` the commands of the vendor's guides work unchanged.
    """
    from jumar.report import emulate as report

    built = emulate.prefix(folder, MachineRequest(soc, cards, memory), dry=only_print)
    if only_print:
        show.lines(report.files(built))
    else:
        show.say(f"wrote `{folder}`: {report.source_line(built)}", err=True)
    return EXIT_OK


@command.command("coverage")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--markdown", is_flag=True, help="Print the page docs/reference/emulator-coverage.md.")
@click.argument("name", required=False, metavar="[NAME]")
def coverage(as_json: bool, markdown: bool, name: str | None) -> int:
    """Show what is emulated: counts, or the state of NAME, a function or operator."""
    if as_json:
        show.whole(emulate.coverage())
    elif markdown:
        show.echo(emulate.coverage_page(), nl=False)
    else:
        show.told(emulate.coverage_of(name))
    return EXIT_OK
