"""`jumar run`: start a program on NPUs, the real ones if there are any, otherwise emulated ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.cli import show
from jumar.cli.options import chip
from jumar.core.errors import EXIT_OK

if TYPE_CHECKING:
    from jumar.machine.explain.result import Explanation


class LikePython(click.Command):
    """Our options end at the first word that is not one of them; all the rest is for the program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name: param for param in self.params if isinstance(param, click.Option) for name in param.opts}
        at = 0
        while at < len(args) and args[at].startswith("--"):
            if args[at] == "--":
                break
            name, _, value = args[at].partition("=")
            at += 1 if value or name not in known or known[name].is_flag else 2
        if args[at : at + 1] in (["-h"], ["-V"]):
            at += 1
        rest = args[at + 1 :] if args[at : at + 1] == ["--"] else args[at:]
        ctx.meta["words"] = rest
        return super().parse_args(ctx, args[:at])


@click.command("run", cls=LikePython, short_help="Run a script on real NPUs, or on emulated ones if there are none",
               options_metavar="[OPTIONS] SCRIPT|-m MODULE|-c CODE|PROGRAM ARGS...")  # fmt: skip
@chip("soc", "Emulated chip, such as 910B3 (the default) or 310P3.")
@click.option("--cards", type=int, metavar="N", help="Emulated cards; default 8.")
@click.option("--memory", metavar="SIZE", help="Memory of each emulated card, such as 32G; default: the chip's.")
@click.option("--cuda", is_flag=True, help="Apply torch_npu's own run-time migration, so that CUDA code runs as it is.")
@click.option("--ops", type=click.Path(path_type=Path), metavar="FILE",
              help="Record the operators that ran on the card: .json or .csv.")  # fmt: skip
@click.option("--profile", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write a profile with modelled device times: a `*_ascend_pt` folder for every process.")  # fmt: skip
@click.option("--numerics", metavar="card[:SEED]",
              help="Compute as the chip does, as far as that is documented: HF32, float32 sums of half precision, "
              "saturation, open orders of sums. By default results are those of the CPU.")  # fmt: skip
@click.option("--on", type=click.Choice(["cpu"]), help="MindSpore: run on its CPU target instead of the program's.")
@click.option("--python", metavar="FILE", help="MindSpore: the interpreter that has it; default: jumar's.")
@click.option("--print", "only_print", is_flag=True, help="Print what would be started, as shell lines.")
@click.pass_context
def command(ctx: click.Context, /, only_print: bool, **options: Any) -> int:
    """Run a Python script, module, code or program; the arguments after Jumar's options are those of `python`.

    JUMAR_EMULATE=0 never emulates, =1 always; without it, emulated NPUs are used where no driver and no
    /dev/davinci* is found. Exit code, signals and standard streams are those of the program; where it fails with an
    error that `jumar explain` knows, that is said on stderr. JUMAR_EXPLAIN=0 leaves that out.
    """
    from jumar.app import run
    from jumar.runtime import variables

    built = run.build(run.RunRequest(words=tuple(ctx.meta["words"]), **options))
    if only_print:
        show.lines(built.shown())
        return EXIT_OK
    run.prepare(built)
    if not variables.QUIET.read():
        show.say(built.where, err=True)
    sys.stdout.flush()
    return run.start(built, tell_why)


def tell_why(result: Explanation) -> None:
    """Say what the error that the program printed means."""
    from jumar.report import explain

    show.say("\njumar: explanation of the error above", err=True)
    show.lines(explain.text(result), err=True)
