"""`jumar cloud adapt`: make a training script work in a ModelArts job, and as before without one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from jumar.migrate.result import ProjectResult


@click.command("adapt", short_help="Adapt a training script to ModelArts; elsewhere it runs as before")
@click.argument("script", metavar="SCRIPT")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write the adapted copy: a file, or a folder for the whole program.",
)
@click.option("--write", is_flag=True, help="Edit in place.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if anything is left to do.")
@click.option("--diff", is_flag=True, help="Also show the diff with --check, --out or --write.")
@click.option("--force", is_flag=True, help="Let --out overwrite existing files.")
@click.option("--only", multiple=True, metavar="ID", help="Use only this rule; repeatable.")
@click.option("--skip", multiple=True, metavar="ID", help="Skip this rule; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def adapt(script: str, **options: Any) -> int:
    """Make SCRIPT, the boot file of a job, work with `--data_url` and `--train_url`.

    Changes the script and the modules it imports from its own folder, and adds one helper file. It then
    works with OBS addresses, with the folders that the platform prepares, and as before without these arguments; on
    one device and on many. Writes nothing without --write or --out.
    Exit code: 0 nothing left to do, 1 something is, 2 the work could not be done.
    """
    chosen = [f"`--{name}`" for name in ("write", "out", "check") if options[name]]
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} cannot go together", "choose one of them")
    boot = _boot(script)
    result = _adapted(boot, options)
    done = _carry_out(result, boot, options)
    _show(result, options, done)
    if done:
        return EXIT_FINDINGS if result.left() else EXIT_OK
    return EXIT_FINDINGS if result.left() or any(file.changed for file in result.files) else EXIT_OK


def _boot(script: str) -> Path:
    boot = Path(script)
    if boot.is_dir():
        raise UserError(f"`{script}` is a folder", "name the file that the job starts, such as `train.py`")
    if not boot.is_file():
        from jumar.core.nearest import did_you_mean

        near = [path.as_posix() for path in boot.parent.glob("*.py")] if boot.parent.is_dir() else []
        raise UserError(f"no such file: `{script}`", did_you_mean(boot.as_posix(), near, "check the spelling"))
    if boot.suffix != ".py":
        raise UserError(f"`{script}` is not a Python file", "ModelArts starts a `.py` file: name that one")
    return boot


def _adapted(boot: Path, options: dict[str, Any]) -> ProjectResult:
    from jumar.app import cloud_adapt

    result = cloud_adapt.adapt(boot, options["only"], options["skip"])
    unread = cloud_adapt.unread(result, boot)
    if unread is not None:
        raise UserError(f"`{unread.where}`: {unread.message}", unread.fix or "correct the file first")
    unknown = not any(file.changed for file in result.files) and not result.left()
    is_adapted = result.settings.cloud is not None and result.settings.cloud.is_adapted
    if unknown and not is_adapted and not (options["only"] or options["skip"]):
        raise UserError(
            f"nothing to adapt in `{boot}`: no command line, no path that is read or written, no dataset",
            "name the boot file of the job: the script that is started and that trains",
        )
    return result


def _carry_out(result: ProjectResult, boot: Path, options: dict[str, Any]) -> str:
    """Do what was asked and say it in one line; empty when nothing was to be written."""
    from jumar.app import cloud_adapt

    if options["write"]:
        return show.written_in_place(result)
    if options["out"]:
        others = [file.path for file in result.files if file.changed and Path(file.path) != boot]
        paths = [boot]
        if not cloud_adapt.is_one_file(boot, options["out"]):
            paths = [boot.parent]
        elif others:
            raise UserError(
                f"`{others[0]}` changes too, so one file is not enough", "name a folder: `-o adapted`, or use `--write`"
            )
        return show.written_to(result, paths, options)
    return ""


def _show(result: ProjectResult, options: dict[str, Any], done: str) -> None:
    from jumar.core.finding import State
    from jumar.report import json, text

    if options["as_json"]:
        show.echo(json.render(result))
        return
    colour = show.has_colour()
    wants_diff = options["diff"] or not (done or options["check"])
    for file in result.files:
        if wants_diff and file.changed:
            show.raw(text.diff(file, colour=colour))
        show.lines(text.findings(file.findings, State, colour=colour))
    if wants_diff:
        for name in sorted(result.new_files()):
            show.say(f"new file: `{name}`")
    if not options["quiet"]:
        changed = sum(file.changed for file in result.files)
        said = done or (f"{changed} files would change" if changed != 1 else "1 file would change")
        said = said if changed else "already adapted: nothing to change"
        left = result.left()
        more = f"; {left} place{'' if left == 1 else 's'} to review by hand" if left else ""
        show.say(said + more, err=True)
