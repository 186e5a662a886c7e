"""Options that verbs share: the chip, and those of `migrate` and `analyze` with how they become a request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jumar.cli import show, streams, values
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.app.migrate import MigrateRequest, MigrateResult
    from jumar.cli.progress import Progress

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Number(click.FloatRange):
    """A number that can be counted with: neither `nan` nor endless."""

    def __init__(self, least: float = 0, most: float = 1e9) -> None:
        super().__init__(min=least, max=most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def chip(name: str, text: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """The option that names a chip: `--chip` and `--soc` are one word, and the chip has the name the vendor gives it.

    A name that no table knows is left for the command, which knows what else it takes and which names are near.
    """
    return click.option(
        "--chip", "--soc", name, metavar="NAME", callback=_vendor_name, help=text, shell_complete=values.chips, **more
    )


def _vendor_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from jumar.tables import chips

    return chips.find(value) or value


_SHARED = (
    click.argument("paths", nargs=-1, metavar="PATH..."),
    click.option("--to", metavar="npu|agnostic|import",
                 help="Explicit NPU code (the default), code for any device, or the run-time import."),
    click.option("--torch", metavar="VERSION", help="torch on the target, such as 2.7; the tested release by default."),
    chip("chip", "Chip of the target, such as 910B3 (the default) or 310P3."),
    click.option("--multi-card", is_flag=False, flag_value="ddp", default=None, metavar="[ddp|fsdp]",
                 help="Also turn a one-card training script into one for many cards: a copy of the model on each "
                 "(`ddp`, the default), or its parameters split over them (`fsdp`)."),
    click.option("--only", multiple=True, metavar="ID", shell_complete=values.rules,
                 help="Use only this rule; repeatable."),
    click.option("--skip", multiple=True, metavar="ID", shell_complete=values.rules,
                 help="Skip this rule; repeatable."),
    click.option("--list", "list_rules", is_flag=True, help="List the rules and stop."),
    click.option("--all", "show_all", is_flag=True, help="Show every finding, including benign ones."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF for code review tools."),
    click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write one self-contained page."),
    click.option("--csv", type=click.Path(path_type=Path), metavar="DIR", help="Write change_list.csv and more."),
    click.option("--plan", type=click.Path(path_type=Path), metavar="FILE",
                 help="Write a one-page plan for whoever decides: FILE.html, FILE.md or FILE.json."),
    click.option("--baseline", type=click.Path(path_type=Path), metavar="FILE",
                 help="Report only what is not in this list of known findings."),
    click.option("--write-baseline", type=click.Path(path_type=Path), metavar="FILE",
                 help="Write the list of known findings."),
    click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use; default: all cores."),
    click.option("--no-cache", is_flag=True, help="Ignore results of earlier runs."),
    click.option("--stdin-name", default="stdin.py", show_default=True, metavar="NAME",
                 help="File name for `-`; its suffix sets the language."),
    click.option("-q", "--quiet", is_flag=True, help="No summary, no progress."),
)  # fmt: skip


class Verb(click.Command):
    """`--multi-card` may stand alone: the word behind it is its value only if it is one of its styles."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spelled: list[str] = []
        for word in args:
            if spelled and spelled[-1] == "--multi-card" and "--" not in spelled:
                if word in STYLES_OF_CARDS:
                    spelled[-1] = f"--multi-card={word}"
                    continue
                spelled[-1] = "--multi-card=ddp"
            spelled.append(word)
        return super().parse_args(ctx, spelled)


STYLES_OF_CARDS = ("ddp", "fsdp")


def shared(function: Decorated) -> Decorated:
    """Add the options of both verbs."""
    for decorate in reversed(_SHARED):
        function = decorate(function)
    return function


def request(paths: tuple[str, ...], options: dict[str, Any]) -> MigrateRequest:
    """What the options ask for; `-` is the text of stdin."""
    from jumar.app.migrate import MigrateRequest

    stdin = "-" in paths
    if stdin and len(paths) > 1:
        raise UserError("`-` excludes other paths", "pipe one file, or name files and folders")
    names = ("to", "torch", "chip", "multi_card", "only", "skip", "jobs", "baseline")
    _check_plan(options)
    return MigrateRequest(
        paths=() if stdin else paths,
        cache=not options["no_cache"],
        text=streams.given().read() if stdin else None,
        text_name=options["stdin_name"],
        **{name: options[name] for name in names},
    )


def _check_plan(options: dict[str, Any]) -> None:
    """A name that no plan can have is refused before the work."""
    if options["plan"] is not None:
        from jumar.app import roadmap

        roadmap.check_name(options["plan"])


def progress(options: dict[str, Any]) -> Progress:
    from jumar.cli.progress import Progress

    return Progress(quiet=options["quiet"])


def write_reports(result: MigrateResult, options: dict[str, Any]) -> None:
    """Write the report files that were asked for, and say so."""
    from jumar.app import report_files

    wanted = {kind: options[kind] for kind in ("sarif", "html", "csv")}
    files = report_files.of_project(result.project, proof=result.proof, analysis=result.analysis, **wanted)
    if options["plan"] is not None or options["write_baseline"] is not None:
        from jumar.app import roadmap

        if options["plan"] is not None:
            files[options["plan"]] = roadmap.render(result.roadmap, options["plan"])
        if options["write_baseline"] is not None:
            files[options["write_baseline"]] = roadmap.baseline_text(result.project)
    show.write_files(files, quiet=options["quiet"], root=result.project.root)


def show_baseline(result: MigrateResult) -> None:
    """Say what is new since the baseline, and what in it can go."""
    if result.checked is not None:
        from jumar.report import roadmap

        show.told(roadmap.compared(result.checked, str(result.request.baseline)), err=True)
