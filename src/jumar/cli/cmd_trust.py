"""`jumar trust`: let a project's `jumar.toml` set what a project may not set by itself, or keys go to another host."""

from __future__ import annotations

from pathlib import Path

import click

from jumar.cli import show
from jumar.core.errors import EXIT_OK, UserError
from jumar.report import trust as report


@click.command("trust", short_help="Let a project's jumar.toml name rules, interpreters, buckets")
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[FOLDER]")
@click.option("--host", metavar="HOST[:PORT]", help="Let keys and tokens be sent to this host.")
@click.option("--list", "listed", is_flag=True, help="List what is trusted.")
@click.option("--remove", is_flag=True, help="Trust the folder or host no longer.")
@click.option("--print", "only_print", is_flag=True, help="Show what would be trusted and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: Path | None, host: str | None, listed: bool, remove: bool, only_print: bool, as_json: bool) -> int:
    """Trust the `jumar.toml` at or above FOLDER (default: here) with the content that it has now.

    Shows the keys and files that need trust, and records them with their hashes in your configuration folder.
    A file that changes afterwards needs trust anew. Read the files first: rules are code that runs inside Jumar.
    """
    _check(folder, host, listed, remove, only_print)
    from jumar.app import trust

    if listed:
        rows = trust.rows()
        if as_json:
            names = ("what", "name", "date", "state")
            show.document({"kind": "trust", "rows": [{name: getattr(row, name) for name in names} for row in rows]})
        else:
            show.lines(report.listed(rows))
        return EXIT_OK
    if host is not None or remove:
        _change(folder, host, remove=remove, as_json=as_json)
        return EXIT_OK
    found = (trust.look if only_print else trust.add)(folder or Path())
    if as_json:
        show.whole(found.to_json())
        return EXIT_OK
    show.told(report.asked(found.file, found.asked, found.never, found.code))
    if found.recorded:
        show.say(f"trusted: `{found.file.parent}`", err=True)
    return EXIT_OK


def _change(folder: Path | None, host: str | None, *, remove: bool, as_json: bool) -> None:
    from jumar.app import trust

    if host is not None:
        name = trust.remove_host(host) if remove else trust.add_host(host)
    else:
        name = trust.remove(folder or Path())
    if as_json:
        show.document({"kind": "trust", "host" if host is not None else "folder": name, "trusted": not remove})
    elif remove:
        show.say(f"no longer trusted: `{name}`")
    else:
        show.say(f"keys may be sent to `{name}`")


def _check(folder: Path | None, host: str | None, listed: bool, remove: bool, only_print: bool) -> None:
    if listed and (folder is not None or host is not None or remove or only_print):
        raise UserError("`--list` stands alone", "jumar trust --list")
    if host is not None and folder is not None:
        raise UserError("`--host` and a folder cannot go together", "trust them one after the other")
    if only_print and (remove or host is not None):
        raise UserError("`--print` shows what a folder asks for", "leave `--remove` and `--host` out")
