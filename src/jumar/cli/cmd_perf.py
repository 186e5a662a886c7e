"""`jumar perf`: where does the time go, from a real profile or from a run on this machine?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.cmd_run import LikePython
from jumar.cli.listed import Listed
from jumar.cli.options import chip
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from jumar.app.perf import PerfResult

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_TOP = click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
                    help="Number of advice items to print.")  # fmt: skip
_HTML = click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                     help="Also write one self-contained page with a timeline.")  # fmt: skip
_JOBS = click.option("--jobs", type=click.IntRange(min=1), metavar="N",
                     help="Ranks read in parallel; default: one per processor.")  # fmt: skip


def _choice(function: Callable[..., Any]) -> Callable[..., Any]:
    only = click.option("--only", multiple=True, metavar="ID", help="Give only this advice, by id; repeatable.")
    skip = click.option("--skip", multiple=True, metavar="ID", help="Skip this advice; repeatable.")
    return only(skip(function))


class Commands(Listed):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            from jumar.core.nearest import did_you_mean

            hint = did_you_mean(args[0], self.commands, "`jumar perf --help` lists the commands")
            raise UserError(f"no such command: `jumar perf {args[0]}`", hint)
        return super().resolve_command(ctx, args)


@click.command("perf", cls=Commands, short_help="Find where the time goes on the card, and what to change first")
def command() -> None:
    """Where the time goes, and what to change, ranked by the time it saves.

    From a folder that torch_npu's profiler wrote, from a trace of torch's own profiler, or, without any NPU, from a
    run on this machine with modelled device times.
    """


@command.command("read", short_help="Report on a profile")
@click.argument("path", type=click.Path(path_type=Path), metavar="FOLDER|TRACE")
@_TOP
@_HTML
@_JOBS
@_choice
@_JSON
def read(path: Path, jobs: int | None, **options: Any) -> int:
    """Report on a `*_ascend_pt` folder, a folder of several (one for each rank), or a Kineto trace, packed or not.

    Reads damaged and truncated files as far as possible and says what is missing. Exit code 1: there is advice.
    """
    from jumar.app import perf

    with Waiting("reading the profile"):
        found = perf.read(path, jobs=jobs, **_chosen(options))
    return _show(found, options)


@command.command("lint", cls=LikePython, short_help="Report on a program before it runs on a card",
                 options_metavar="[OPTIONS] -- SCRIPT|-m MODULE|python SCRIPT ARGS...")  # fmt: skip
@chip("soc", "Chip to model, such as 910B3 (the default) or 310P3.")
@click.option("--cpu", is_flag=True, help="Run on the CPU, without an emulated NPU.")
@click.option("--cuda", is_flag=True, help="Apply torch_npu's own run-time migration, so that CUDA code runs as it is.")
@click.option("--steps", type=click.IntRange(min=1), metavar="N",
              help="End the program after this many optimizer updates.")  # fmt: skip
@click.option("--keep", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Keep the profile in this folder.")  # fmt: skip
@_TOP
@_HTML
@_choice
@_JSON
@click.pass_context
def lint(ctx: click.Context, /, **options: Any) -> int:
    """Run a program on emulated NPUs, or on the CPU, and report on it as if a card had run it.

    Operators, shapes, places in the source and the time of the program itself are real; device times are modelled.
    What the program prints goes to stderr. Exit code 1: there is advice; 2: the program failed.
    """
    from jumar.app import perf
    from jumar.app.perf_lint import LintRequest

    told = {name: options.pop(name) for name in ("soc", "cpu", "cuda", "steps", "keep")}
    return _show(perf.lint(LintRequest(words=tuple(ctx.meta["words"]), **told), **_chosen(options)), options)


@command.command("diff", short_help="Two profiles side by side")
@click.argument("before", type=click.Path(path_type=Path), metavar="BEFORE")
@click.argument("after", type=click.Path(path_type=Path), metavar="AFTER")
@_TOP
@_JOBS
@_JSON
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write one self-contained page.")  # fmt: skip
def diff(before: Path, after: Path, top: int, jobs: int | None, as_json: bool, html: Path | None) -> int:
    """Compare two profiles, per step: the split of the time, kernels that changed most, new and resolved advice."""
    from jumar.app import perf
    from jumar.report import perf as report

    with Waiting("reading the profiles"):
        found = perf.diff(before, after, jobs=jobs)
    if as_json:
        show.whole(found.to_json())
    else:
        show.told(report.diff_lines(found.difference, top=top))
    show.page(html, found.to_json())
    return EXIT_OK


@command.command("fix-trace", short_help="Write a trace that Perfetto shows correctly")
@click.argument("source", type=click.Path(path_type=Path), metavar="IN")
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="OUT",
              help="The trace to write.")  # fmt: skip
def fix_trace(source: Path, out: Path) -> int:
    """Write a trace with numeric timestamps that begin at 0, and leave out what is damaged.

    IN is a trace, plain or packed, or a `*_ascend_pt` folder with one.
    """
    from jumar.app import perf

    done, note = perf.fix_trace(source, out)
    if note:
        show.say(f"note: {note}", err=True)
    lost = f", {done.left_out:,} events and {done.skipped:,} bytes left out" if done.left_out or done.skipped else ""
    end = "; the input is truncated" if done.truncated else ""
    show.say(f"wrote `{out}`: {done.events:,} events{lost}{end}", err=True)
    return EXIT_OK


def _chosen(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("only", "skip")}


def _show(result: PerfResult, options: dict[str, Any]) -> int:
    from jumar.core import write
    from jumar.report import perf

    if options["html"] is not None:
        write.replace(options["html"], result.html().encode())
        show.say(f"wrote `{options['html']}`", err=True)
    if options["as_json"]:
        show.whole(result.to_json())
    else:
        show.told(perf.lines(result.report, top=options["top"]))
    return EXIT_FINDINGS if result.advice else EXIT_OK
