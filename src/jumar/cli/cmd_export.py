"""`jumar export`: offline inference: check a model, write the ATC command, run a stand-in of the result."""

from __future__ import annotations

import click

from jumar.cli import export_check, export_command, export_run
from jumar.cli.listed import Listed


@click.group("export", cls=Listed, short_help="Offline inference: check an ONNX model, ATC command, stand-in")
def command() -> None:
    """Prepare a model for an offline `.om`: what ATC will refuse, the exact command, and the effect of fp16.

    Nothing here needs an NPU or CANN. It was never run through a real ATC: the list of operators and the rules of the
    options are the vendor's published ones.
    """


command.add_command(export_check.check)
command.add_command(export_command.command)
command.add_command(export_command.om)
command.add_command(export_run.run)
