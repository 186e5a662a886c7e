"""`jumar emulate on|off|status`: emulation for all programs of a virtual environment, and who asked for it here."""

from __future__ import annotations

import click

from jumar.app import emulate
from jumar.cli import show
from jumar.cli.options import chip
from jumar.core.errors import EXIT_OK


@click.command("on")
@chip("soc", "Chip, such as 910B3 (the default) or 310P3.")
@click.option("--cards", type=int, metavar="N", help="Number of cards; default 8.")
@click.option("--memory", metavar="SIZE", help="Memory of each card, such as 32G; default: the chip's.")
def on(soc: str | None, cards: int | None, memory: str | None) -> int:
    """Give every program of this virtual environment emulated NPUs, plain `python` included."""
    from jumar.report import emulate as report

    show.told(report.on(emulate.switch_on(emulate.MachineRequest(soc, cards, memory))), err=True)
    return EXIT_OK


@click.command("off")
def off() -> int:
    """Undo `jumar emulate on`: programs of this virtual environment find the NPUs of the machine, or none."""
    from jumar.report import emulate as report

    show.told(report.off(emulate.switch_off()), err=True)
    return EXIT_OK


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def status(as_json: bool) -> int:
    """Tell whether programs started here get emulated NPUs, and what asked for them."""
    from jumar.report import emulate as report

    found = emulate.status()
    if as_json:
        show.whole(found.to_json())
    else:
        show.told(report.status(found))
    return EXIT_OK
