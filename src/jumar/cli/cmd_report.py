"""`jumar report`: one index of everything that ran in a project."""

from __future__ import annotations

from pathlib import Path

import click

from jumar.cli import show
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_OK


@click.command("report", short_help="Join what ran into one site: where it stands, what is next")
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=Path("."))
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("site"), show_default=True, metavar="DIR",
              help="Write the site into this folder.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the names of what was written.")
def command(folder: Path, out: Path, as_json: bool, quiet: bool) -> int:
    """Join what the runs of a project left in DIR: where the migration stands, and what to do next.

    Reads documents of `--json`, pages of `--html` and `--plan`, reports of `pytest --npu-report`, records and
    profiles. Each is known by what it says of itself; files that are damaged or not known are named. The site needs
    no network and no server: open `index.html`.
    """
    from jumar.app import report

    with Waiting("joining the runs", quiet=quiet or as_json):
        result = report.report(report.ReportRequest(folder=folder, out=out))
    report.write(result)
    if as_json:
        show.whole(result.to_json())
    elif not quiet:
        show.say(result.text)
    show.say(f"wrote `{out / report.INDEX}`", err=True)
    return EXIT_OK
