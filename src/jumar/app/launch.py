"""`jumar launch` on this machine: its cards, real or emulated, and the ranks that torch elastic keeps."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jumar.core.compat import dataclass
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.launch.job import Job, Local, Outcome
    from jumar.machine.explain.result import Explanation

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"


class View(Protocol):
    """Who shows the ranks while they run."""

    def line(self, rank: int, text: str) -> None:
        """A line that a rank has printed."""

    def note(self, text: str) -> None:
        """Something about the job itself."""

    def live(self, text: str) -> None:
        """The throughput now."""

    def close(self) -> None:
        """Nothing more will come."""


_MOST_CARDS = 1024
"""More cards than any machine has: a slip of the finger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """A program and the cards that it shall run on, of this machine or of others."""

    words: tuple[str, ...] = ()
    cards: str | None = None
    """How many on each machine, or their numbers; all if not given."""
    bind: str = "auto"
    port: int = 0
    logs: str | None = None
    restarts: int = 0
    until: str = ""
    grace: int = 30
    signal: str = "TERM"
    rank_table: str = ""
    soc: str | None = None
    memory: str | None = None
    cuda: bool = False
    check: bool = True
    """Refuse a script that makes no process group."""
    nodes: str = ""
    """Machines, as `host1,host2`; for a cluster how many."""
    engine: str = ""
    settings: tuple[str, ...] = ()
    """More for the engine, as `NAME=VALUE`."""
    name: str = "train"
    count: int = 1
    """This is one of so many machines, each started by hand."""
    node_rank: int = 0
    master: str = ""
    run_id: str = "train"
    dry: bool = False
    """Only to be shown: nothing is made that a run needs."""


def job(request: LaunchRequest) -> Job:
    """What was asked for, as the value that every engine reads."""
    from jumar.launch import local
    from jumar.launch.job import Job

    cards, nodes = request.cards or "", request.nodes
    extra = [word for name in ("soc", "memory") if (value := getattr(request, name)) for word in (f"--{name}", value)]
    flags = {"--cuda": request.cuda, "--no-check": not request.check}
    return Job(
        words=request.words,
        cards=int(cards) if cards.isdecimal() else 0,
        folder=os.getcwd(),
        name=request.name,
        nodes=tuple(nodes.split(",")) if nodes and not nodes.isdecimal() else (),
        count=int(nodes) if nodes.isdecimal() else max(1, len(nodes.split(","))),
        port=request.port,
        logs=str(local.log_folder(request.logs)),
        bind=request.bind,
        restarts=request.restarts,
        until=request.until,
        grace=request.grace,
        signal=request.signal.upper().removeprefix("SIG"),
        rank_table=request.rank_table,
        python=sys.executable,
        settings=settings(request.settings),
        extra=(*extra, *(word for word, wanted in flags.items() if wanted)),
    )


def settings(given: tuple[str, ...]) -> dict[str, str]:
    for one in given:
        if "=" not in one:
            raise UserError(f"`--set {one}` has no value", "write it as `--set partition=npu`")
    return dict(one.split("=", 1) for one in given)


def here(wanted: Job, request: LaunchRequest) -> tuple[Local, str]:
    """The ranks of this machine and the line that says which NPUs they use; makes what emulated ones need."""
    from jumar.emulate import command as commands
    from jumar.launch import local, program
    from jumar.runtime import activation, npus

    environ = os.environ
    real = [] if activation.decide(environ).on else npus.numbers()
    there, what = _cards(request.cards, real, environ)
    cards = local.pick(request.cards, there, what)
    emulated = what == "emulated cards"
    machine = commands.RunRequest(request.soc, len(there) if emulated else None, request.memory, request.cuda)
    built = commands.announced(commands.build(wanted.words, machine, environ))
    if request.check:
        program.check(wanted.words, Path(), len(cards) * request.count)
    wanted = replace(wanted, name=request.run_id)
    if wanted.rank_table:
        table = _rank_table(wanted, cards, request.count, built.variables, request.dry)
        wanted = replace(wanted, rank_table=table)
    place = (request.count, request.node_rank, request.master)
    ranks = local.build(wanted, built.argv, built.variables, cards, environ, place)
    if not request.dry:
        commands.prepare(built, machine)
    return ranks, built.where


def shown(ranks: Local) -> list[str]:
    """What would be started, as shell lines."""
    from jumar.launch import watch

    return watch.shown(ranks)


def run(ranks: Local, view: View, with_parent: bool = False) -> Outcome:
    """Run the ranks until all have ended; `view` gets their lines."""
    from jumar.launch import local, watch

    local.make_folder(Path(ranks.logs))
    try:
        return watch.run(ranks, view, with_parent)
    finally:
        view.close()
        _forget(ranks.variables)


def why(logs: Path) -> Explanation | None:
    """What the logs of failed ranks mean; None where nothing is known about them."""
    from jumar.machine.explain import log

    result = log.explain(sorted(logs.glob("rank_*.log")))
    return result if result.says_more else None


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

    from jumar.core.write import make_folder, replace
    from jumar.launch.ranktable import place, read, sources, write

    conf = _addresses(variables)
    if wanted.rank_table == "auto":
        if nodes > 1:
            raise UserError("`--rank-table auto` is for one machine", "`jumar ranktable make` makes one for several")
        path = Path(wanted.logs) / "rank_table.json"
        if not only_print:
            if not conf:
                raise UserError(f"cannot read `{sources.CONF}`", "`jumar net plan` shows how to set addresses")
            known = sources.addresses(conf, sources.CONF)
            make_folder(path.parent, "`--logs` names the folder")
            replace(path, write.render(sources.table({socket.gethostname(): known}, cards), "1.0").encode())
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
    if count > _MOST_CARDS:
        raise UserError(f"`--cards {wish}`: no machine has that many", f"at most {_MOST_CARDS}")
    if real:
        return [card for card in visible or real if card in real], "real NPUs"
    if variables.EMULATE.read(environ) is False:
        if not (visible or count):
            raise UserError("no NPU found, and `JUMAR_EMULATE=0` turns emulation off", "say how many with `--cards`")
        return visible or list(range(count)), "real NPUs"
    machine = variables.CARDS.text(environ)
    size = variables.CARDS.read(environ) if machine else max(count, 8 if not count else 0, *visible or [0])
    return visible or list(range(size)), "emulated cards"
