"""Puts `jumar launch` together: the machine it runs on, real or emulated, and the ranks that torch elastic keeps."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.launch.job import Job, Local, Outcome

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"


def job(words: tuple[str, ...], options: Mapping[str, Any]) -> Job:
    """What the user asked for, as the value that every engine reads."""
    from jumar.launch import local
    from jumar.launch.job import Job

    nodes = options["nodes"]
    extra = [word for name in ("soc", "memory") if options[name] for word in (f"--{name}", options[name])]
    return Job(
        words=words,
        cards=int(options["cards"]) if str(options["cards"] or "").isdecimal() else 0,
        folder=os.getcwd(),
        name=options["name"],
        nodes=tuple(nodes.split(",")) if nodes and not nodes.isdecimal() else (),
        count=int(nodes) if nodes.isdecimal() else max(1, len(nodes.split(","))),
        port=options["port"],
        logs=str(local.log_folder(options["logs"])),
        bind=options["bind"],
        restarts=options["restarts"],
        until=options["until"],
        grace=options["grace"],
        signal=options["signal_"].upper().removeprefix("SIG"),
        rank_table=options["rank_table"],
        python=sys.executable,
        settings=settings(options["settings"]),
        extra=(*extra, *(f"--{name}" for name in ("cuda", "no-check") if options[name.replace("-", "_")])),
    )


def settings(given: tuple[str, ...]) -> dict[str, str]:
    for one in given:
        if "=" not in one:
            raise UserError(f"`--set {one}` has no value", "write it as `--set partition=npu`")
    return dict(one.split("=", 1) for one in given)


def here(wanted: Job, options: Mapping[str, Any]) -> tuple[Local, str]:
    """The ranks of this machine and the line that says which NPUs they use; makes what emulated ones need."""
    from jumar.emulate import command as commands
    from jumar.launch import local, program
    from jumar.runtime import activation, npus

    environ = os.environ
    real = [] if activation.decide(environ).on else npus.numbers()
    there, what = _cards(options["cards"], real, environ)
    cards = local.pick(options["cards"], there, what)
    emulated = what == "emulated cards"
    count = len(there) if emulated else None
    request = commands.RunRequest(options["soc"], count, options["memory"], options["cuda"])
    built = commands.announced(commands.build(wanted.words, request, environ))
    if not options["no_check"]:
        program.check(wanted.words, Path(), len(cards) * options["count"])
    place = (options["count"], options["node_rank"], options["master"])
    wanted = replace(wanted, name=options["run_id"])
    if wanted.rank_table:
        wanted = replace(
            wanted, rank_table=_rank_table(wanted, cards, place[0], built.variables, options["only_print"])
        )
    ranks = local.build(wanted, built.argv, built.variables, cards, environ, place)
    if not options["only_print"]:
        commands.prepare(built, request)
    return ranks, built.where


def run(ranks: Local, with_parent: bool) -> int:
    """Run the ranks, show them, and say how it ended."""
    from jumar.cli.ranks_view import RanksView
    from jumar.launch import local, watch

    local.make_folder(Path(ranks.logs))
    view = RanksView(len(ranks.device_ids) * ranks.nodes)
    try:
        outcome = watch.run(ranks, view, with_parent)
    finally:
        view.close()
        _forget(ranks.variables)
    _tell(outcome, ranks)
    return outcome.code


def _forget(variables: Mapping[str, str]) -> None:
    """Take ranks that were killed out of the table of who uses which emulated card."""
    from jumar.runtime import variables as rows

    if not rows.EMULATE.read(variables):
        return
    from jumar.emulate import env, ledger

    size = env.memory_mib(variables)
    ledger.read(ledger.file_name(rows.SOC.read(variables), rows.CARDS.read(variables), size, os.environ))


def _rank_table(wanted: Job, cards: tuple[int, ...], nodes: int, variables: Mapping[str, str], only_print: bool) -> str:
    """The path of the table that the ranks are told: the one that was named, checked, or one made for this machine."""
    import socket

    from jumar.launch.ranktable import place, read, sources, write

    conf = _addresses(variables)
    if wanted.rank_table == "auto":
        if nodes > 1:
            raise UserError("`--rank-table auto` is for one machine", "`jumar ranktable make` makes one for several")
        path = Path(wanted.logs) / "rank_table.json"
        if not only_print:
            if not conf:
                raise UserError(f"cannot read `{sources.CONF}`", "`jumar net plan` tells how cards get addresses")
            known = sources.addresses(conf, sources.CONF)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(write.render(sources.table({socket.gethostname(): known}, cards), "1.0"), encoding="utf-8")
        return str(path)
    given = os.path.abspath(wanted.rank_table)
    own = sources.addresses(conf, sources.CONF) if conf else {}
    place.fit(read.read(sources.text_of(given), wanted.rank_table), wanted.rank_table, cards, nodes, own)
    return given


def _addresses(variables: Mapping[str, str]) -> str:
    """hccn.conf of this machine, or of the emulated one, which may not have been used yet; empty if there is none."""
    from jumar.emulate import hccn_tool
    from jumar.launch.ranktable import sources
    from jumar.runtime import variables as rows

    prefix = rows.PREFIX.read(variables)
    path = Path(f"{prefix}/etc/hccn.conf" if prefix else sources.CONF)
    if path.exists():
        return sources.text_of(str(path))
    return hccn_tool.default_conf(rows.CARDS.read(variables)) if prefix else ""


def _cards(wish: str | None, real: list[int], environ: Mapping[str, str]) -> tuple[list[int], str]:
    """The cards that are there, by number, and what kind they are."""
    from jumar.runtime import variables

    given = environ.get(VISIBLE, "").strip()
    if given and not re.fullmatch(r"\d+(,\d+)*", given):
        raise UserError(f"`{VISIBLE}={given}` is not a list of cards", "write it as `0,1,2`")
    visible = [int(card) for card in given.split(",")] if given else []
    count = int(wish) if wish and wish.isdecimal() else 0
    if real:
        return [card for card in visible or real if card in real], "real NPUs"
    if variables.EMULATE.read(environ) is False:
        if not (visible or count):
            raise UserError("no NPU found, and `JUMAR_EMULATE=0` forbids emulated ones", "say how many with `--cards`")
        return visible or list(range(count)), "real NPUs"
    machine = variables.CARDS.text(environ)
    size = variables.CARDS.read(environ) if machine else max(count, 8 if not count else 0, *visible or [0])
    return visible or list(range(size)), "emulated cards"


def _tell(outcome: Outcome, ranks: Local) -> None:
    from jumar.cli.why import why

    if outcome.rate:
        click.echo(f"jumar: last throughput: {outcome.rate}", err=True)
    if outcome.state == "succeeded":
        click.echo(f"jumar: all {len(ranks.device_ids)} ranks ended well; logs in `{ranks.logs}`", err=True)
    elif outcome.state == "failed" and outcome.failure is not None:
        one = outcome.failure
        for text in one.tail:
            click.echo(f"  {text}", err=True)
        others = f", {outcome.others} more after it" if outcome.others else ""
        click.echo(f"error: rank {one.rank} failed first, with {_end(one.code)}{others}: `{one.log}`", err=True)
        for text in why(Path(ranks.logs)):
            click.echo(text, err=True)
    elif outcome.state == "until":
        late = [rank for rank, code in outcome.codes.items() if code in (None, -9)]
        saved = f"rank {', '.join(map(str, late))} had to be killed" if late else "all ranks ended in time"
        click.echo(f"jumar: ended by `--until`: {saved}; logs in `{ranks.logs}`", err=True)
    elif outcome.state == "stopped":
        click.echo(f"jumar: stopped, no rank is left; logs in `{ranks.logs}`", err=True)
    else:
        click.echo(f"error: {outcome.message}", err=True)
        click.echo(f"\nhint: the logs are in `{ranks.logs}`", err=True)


def _end(code: int) -> str:
    import signal

    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
