"""`jumar compare`: record two runs, find the first operator that computes something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jumar.cli import show
from jumar.cli.listed import Listed
from jumar.cli.options import Number, chip
from jumar.cli.progress import Waiting
from jumar.core.errors import EXIT_FINDINGS, EXIT_OK, EXIT_UNKNOWN, UserError
from jumar.core.write import replace

_PATH = click.Path(path_type=Path)
_PROGRAM = {"ignore_unknown_options": True, "allow_interspersed_args": False}


class _Floor(click.IntRange):
    """A number of runs, or None for `auto`."""

    def __init__(self) -> None:
        super().__init__(min=0, max=20)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return None if value == "auto" else super().convert(value, param, ctx)


class _Compare(Listed):
    """`jumar compare A B` is `jumar compare diff A B`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and (not args[0].startswith("-") or args[0] in _diff_options()):
            from jumar.core.nearest import nearest

            close = nearest(args[0], self.commands)
            if close and not Path(args[0]).exists():
                raise UserError(f"no such record or command: `{args[0]}`", f"did you mean `jumar compare {close}`?")
            args = ["diff", *args]
        return super().resolve_command(ctx, args)


def _diff_options() -> set[str]:
    return {name for param in diff.params for name in param.opts}


@click.group("compare", cls=_Compare, short_help="Check that it computes the same, and find the first difference",
             subcommand_metavar="A B | COMMAND ...")  # fmt: skip
def command() -> None:
    """Check that the migrated model computes the same. `jumar compare A B` compares two records.

    `record` runs a program and records every operator; `ladder` climbs from the environment to the loss curve and stops
    where something is wrong; `overflow` names the operator that made inf or nan; `dump` writes the vendor's format.
    """


@command.command("record", context_settings=_PROGRAM)
@click.option("-o", "--output", required=True, type=_PATH, metavar="REC", help="Folder of the record.")
@click.option("--steps", type=click.IntRange(min=1), default=3, show_default=True, metavar="N",
              help="Steps to record in full; later steps keep only loss and gradient norm.")  # fmt: skip
@click.option("--floor", type=_Floor(), default="auto", show_default=True, metavar="N|auto",
              help="Also run it with rounding noise of three sizes, N times each: the noise floor. `auto` does it once"
              " up to the last recorded step, if that takes a minute or a tenth of the program's time.")  # fmt: skip
@chip("card", "Chip whose arithmetic a further run imitates, beside the noise runs; 910B3 by default.", default="910B3")
@click.option("--stop", type=click.IntRange(min=1), metavar="N", help="End the program after N steps.")
@click.option("--seed", type=int, metavar="N", help="Seed Python, NumPy and torch before the program starts.")
@click.option("--tensors", multiple=True, metavar="OP", help="Save inputs and outputs of this operator, such as op42.")
@click.option("--overwrite", is_flag=True, help="Replace an existing record.")
@click.argument("words", nargs=-1, metavar="-- PROGRAM ARGS...", type=click.UNPROCESSED)
def record(output: Path, overwrite: bool, words: tuple[str, ...], tensors: tuple[str, ...], **options: Any) -> int:
    """Run PROGRAM and record its operators, forward and backward: jumar compare record -o REC -- python train.py.

    The exit code is that of the program. Each rank writes its own record.
    """
    from jumar.app import compare
    from jumar.compare.runs import RecordRequest

    program = _program(words)
    request = RecordRequest(tensors=tuple(map(_operator, tensors)), **options)
    return compare.record(program, output, request, overwrite=overwrite, tell=_tell)


@command.command("diff")
@click.argument("first", metavar="A", type=_PATH)
@click.argument("second", metavar="B", type=_PATH)
@click.option("--floor", "floors", multiple=True, type=_PATH, metavar="REC",
              help="Another run of the reference; base runs set the floor. Repeatable.")  # fmt: skip
@click.option(
    "--precision", metavar="float32|hf32|float16|bfloat16", help="Expected rounding; by default determined from B."
)
@click.option("--limit", type=Number(1), default=4.0, show_default=True, metavar="X",
              help="Error over floor that counts as a difference.")  # fmt: skip
@click.option(
    "--top", type=click.IntRange(min=0), default=10, show_default=True, metavar="N", help="Rows of the table."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--html", type=_PATH, metavar="FILE", help="Write one self-contained page with plots.")
@click.option("--reproducer", type=_PATH, metavar="FILE", help="Write a script that runs only the operator named.")
def diff(first: Path, second: Path, as_json: bool, top: int, html: Path | None, reproducer: Path | None,
         **options: Any) -> int:  # fmt: skip
    """Compare the record A, the reference, with B; dumps of the vendor's tool are read too.

    Exit code 0 if they agree up to rounding, 1 if not, 3 if the records cannot tell.
    """
    from jumar.app import compare
    from jumar.report import compare as report

    with Waiting("comparing"):
        result = compare.compare(compare.CompareRequest(first=first, second=second, **options))
    files = {reproducer: result.reproducer.encode()} if reproducer is not None else {}
    if html is not None:
        files = {html: result.html().encode(), **files}
    for path, data in files.items():
        replace(path, data)
    if as_json:
        show.echo(report.json(result.to_json()))
    else:
        show.told(report.text(result.comparison, top))
    for path in files:
        show.say(f"wrote `{path}`", err=True)
    return {"SAME": EXIT_OK, "DIFFERENT": EXIT_FINDINGS}.get(result.answer, EXIT_UNKNOWN)


@command.command("ladder", context_settings=_PROGRAM)
@click.option("--base", type=_PATH, metavar="REC", help="Record of the reference, such as the same program on a GPU.")
@click.option(
    "-o", "--output", type=_PATH, metavar="DIR", help="Keep the records in this folder; by default none are kept."
)
@click.option("--steps", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Steps to run.")
@click.option("--seed", type=int, metavar="N", help="Seed Python, NumPy and torch before the program starts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--html", type=_PATH, metavar="FILE", help="Write one self-contained page.")
@click.argument("words", nargs=-1, metavar="-- PROGRAM ARGS...", type=click.UNPROCESSED)
def ladder(base: Path | None, output: Path | None, steps: int, seed: int | None, as_json: bool, html: Path | None,
           words: tuple[str, ...]) -> int:  # fmt: skip
    """Check from the environment to the loss curve, and stop at the first failure.

    Environment, determinism (twice, bit for bit), the gap to expect from bfloat16, float16 and hf32, then against
    --base: weights, forward, gradients, optimizer, loss and gradient norm over N steps.
    """
    from jumar.app import compare
    from jumar.report import compare as report

    found = []
    for rung in compare.ladder(_program(words), base, output, steps, seed):
        found.append(rung)
        if not as_json:
            show.told(report.rung(rung))
    if as_json:
        show.echo(report.json(report.rungs_document(found)))
    show.page(html, report.rungs_document(found))
    return EXIT_FINDINGS if any(rung.state == "failed" for rung in found) else EXIT_OK


@command.command("overflow")
@click.argument("words", nargs=-1, required=True, metavar="REC | -- PROGRAM ARGS...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--html", type=_PATH, metavar="FILE", help="Write one self-contained page.")
def overflow(words: tuple[str, ...], as_json: bool, html: Path | None) -> int:
    """Name the first operator that makes inf or nan out of finite inputs, over all ranks.

    Reads a record or a vendor's dump; or runs PROGRAM, checks every step, and stops there.
    """
    from jumar.app import compare
    from jumar.report import compare as report

    # A program prints for itself: a line that turns would run into its output.
    with Waiting("reading the record", quiet=len(words) > 1):
        result = compare.overflow(words)
    if as_json:
        show.echo(report.json(report.overflow_document(result.found)))
    else:
        show.told(report.overflow(result.found, result.ranks))
    show.page(html, report.overflow_document(result.found))
    return EXIT_FINDINGS if result.found else result.code


@command.command("dump")
@click.argument("path", metavar="REC", type=_PATH)
@click.argument("folder", metavar="DIR", type=_PATH)
def dump(path: Path, folder: Path) -> int:
    """Write REC in the vendor's dump format: dump.json, stack.json, construct.json below DIR."""
    from jumar.app import compare

    for place in compare.dump(path, folder):
        show.say(f"wrote `{place}`", err=True)
    return EXIT_OK


def _tell(text: str, /) -> None:
    show.say(f"jumar: {text}", err=True)


def _program(words: tuple[str, ...]) -> tuple[str, ...]:
    rest = words[1:] if words[:1] == ("--",) else words
    if not rest:
        raise UserError("no program to run", "write it after `--`: `jumar compare record -o REC -- python train.py`")
    return rest


def _operator(name: str) -> int:
    digits = name.removeprefix("op")
    if not digits.isdecimal():
        raise UserError(f"`--tensors {name}` names no operator", "write it as the report does, such as `op42`")
    return int(digits)
