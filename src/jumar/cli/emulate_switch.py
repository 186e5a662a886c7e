"""`jumar emulate on|off|status`: emulation for all programs of a virtual environment, and who asked for it here."""

from __future__ import annotations

import os
import sys

import click

from jumar.cli.options import chip
from jumar.core.errors import EXIT_OK

_WORDS = {
    (True, "variable"): "on: `JUMAR_EMULATE=1` is set",
    (True, "prefix"): "on: this shell is on the emulated machine (`jumar emulate env`, `shell` or its set_env.sh)",
    (True, "environment"): "on: `jumar emulate on` was run in this virtual environment",
    (False, "variable"): "off: `JUMAR_EMULATE=0` is set, which nothing overrules",
    (False, "nothing"): "off: nobody asked for it; `jumar run` and `jumar launch` still do for their own programs",
}


@click.command("on")
@chip("soc", "Chip, such as 910B3 (the default) or 310P3.")
@click.option("--cards", type=int, metavar="N", help="Number of cards; default 8.")
@click.option("--memory", metavar="SIZE", help="Memory of each card, such as 32G; default: the chip's.")
def on(soc: str | None, cards: int | None, memory: str | None) -> int:
    """Give every program of this virtual environment emulated NPUs, plain `python` included."""
    from jumar.emulate import env
    from jumar.runtime import activation

    path = activation.switch_on(env.environment(soc, cards, memory))
    click.echo(f"jumar: emulation is on for `{sys.prefix}`: wrote `{path}`; `jumar emulate off` removes it", err=True)
    return EXIT_OK


@click.command("off")
def off() -> int:
    """Undo `jumar emulate on`: programs of this virtual environment find the NPUs of the machine, or none."""
    from jumar.runtime import activation

    was = activation.switch_off()
    said = "is off" if was else "was not on"
    click.echo(f"jumar: emulation {said} for `{sys.prefix}`", err=True)
    if activation.decide(os.environ).on:
        click.echo("jumar: `JUMAR_EMULATE=1` still asks for it in this shell: `unset JUMAR_EMULATE`", err=True)
    return EXIT_OK


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def status(as_json: bool) -> int:
    """Tell whether programs started here get emulated NPUs, and what asked for them."""
    from jumar.emulate import env
    from jumar.report import json
    from jumar.runtime import activation, npus, variables

    found = activation.decide(os.environ)
    by = "prefix" if found.by == "variable" and found.on and variables.PREFIX.read() else found.by
    machine = env.environment(base={**activation.machine(), **os.environ}) if found.on else {}
    real, marker = npus.devices(), activation.marker()
    if as_json:
        facts = {
            "emulated": found.on,
            "by": by,
            "marker": marker if os.path.exists(marker) else None,
            "real_npus": len(real),
            "cann": npus.has_cann(os.environ),
            "machine": {"soc": variables.SOC.read(machine), "cards": variables.CARDS.read(machine),
                        "memory_mib": env.memory_mib(machine)} if machine else None,
        }  # fmt: skip
        click.echo(json.dump(facts))
        return EXIT_OK
    click.echo(f"emulation is {_WORDS[found.on, by]}")
    if machine:
        cards, soc = variables.CARDS.read(machine), variables.SOC.read(machine)
        click.echo(f"cards: {cards} x {soc} with {env.memory_mib(machine)} MiB each")
    used = "are not used while emulation is on" if found.on else "are what programs use"
    click.echo(f"real NPUs: {len(real)}{f', which {used}' if real else ''}")
    return EXIT_OK
