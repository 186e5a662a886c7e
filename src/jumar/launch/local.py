"""Builds the ranks of this machine from a job: cards, cores, variables, log folder, all checked first."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from jumar.core import write
from jumar.core.errors import UserError, cannot
from jumar.launch import clock, cores, ports
from jumar.launch.job import SIGNALS, Job, Local

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
"""Off in the agent, which needs no card; as the user has it in the ranks."""


def pick(wish: str | None, there: Sequence[int], what: str) -> tuple[int, ...]:
    """The cards that `--cards` means: a number of them, or their numbers; all of them when it is not given."""
    if wish is None:
        return tuple(there)
    if wish.isdecimal() and "," not in wish:
        count = int(wish)
        if not 1 <= count <= len(there):
            raise UserError(f"`--cards {wish}`: there are {len(there)} {what}", f"take 1 to {len(there)}")
        return tuple(there[:count])
    try:
        chosen = cores.parse(wish)
    except ValueError as error:
        raise UserError(f"`--cards`: `{error}` is not a card", "write `4`, or the cards as `0,1,4-5`") from error
    for card in chosen:
        if card not in there:
            raise UserError(f"`--cards {wish}`: there is no card {card}", f"there are {cores.spell(there)}: {what}")
    if not chosen or len(set(chosen)) != len(chosen):
        raise UserError(f"`--cards {wish}` names a card twice or none", "write `4`, or the cards as `0,1,4-5`")
    return chosen


def build(
    job: Job,
    argv: tuple[str, ...],
    variables: Mapping[str, str],
    cards: Sequence[int],
    environ: Mapping[str, str],
    place: tuple[int, int, str] = (1, 0, ""),
    topology: cores.Topology | None = None,
) -> Local:
    """The ranks of this machine; `place` is the number of machines, which one this is, and where they meet."""
    nodes, node_rank, master = place
    if job.signal not in SIGNALS:
        raise UserError(f"`--signal`: `{job.signal}` is not one of {', '.join(SIGNALS)}")
    if job.restarts < 0 or job.grace < 1:
        raise UserError("`--restarts` takes 0 or more, `--grace` 1 or more seconds")
    if nodes == 1 or node_rank == 0:
        ports.check(job.port)
    bound = cores.choose(job.bind, cards, topology or cores.read())
    values = {**variables, "PYTHONUNBUFFERED": "1"}
    if "OMP_NUM_THREADS" not in environ:
        each = len(bound[0]) if bound else len(os.sched_getaffinity(0)) // len(cards)
        values["OMP_NUM_THREADS"] = str(max(1, each))
    if list(cards) != list(range(len(cards))) or VISIBLE in environ:
        values[VISIBLE] = ",".join(map(str, cards))
    if _AUTOLOAD in environ:
        values[_AUTOLOAD] = environ[_AUTOLOAD]
    if job.rank_table:
        values["RANK_TABLE_FILE"] = job.rank_table
    return Local(
        argv=argv,
        variables=values,
        device_ids=tuple(range(len(cards))),
        cores=bound,
        logs=job.logs if nodes == 1 else os.path.join(job.logs, f"node_{node_rank}"),
        id=uuid.uuid4().hex[:12] if nodes == 1 else job.name,
        nodes=nodes,
        node_rank=node_rank,
        master=master,
        port=job.port,
        restarts=job.restarts,
        grace=job.grace,
        until=clock.moment(job.until, job.grace, datetime.now()) if job.until else None,
        signal=job.signal,
        unset=(_AUTOLOAD,),
    )


def log_folder(wish: str | None, root: Path = Path("logs")) -> Path:
    """Where the logs go: a new folder under `logs` unless one is named."""
    return Path(os.path.abspath(wish or root / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"))


def make_folder(path: Path) -> None:
    """Make the log folder, without the logs of an earlier job."""
    write.make_folder(path, "`--logs` names the folder")
    try:
        for old in path.glob("rank_*.log"):
            old.unlink()
    except OSError as error:
        raise cannot(f"write logs to `{path}`", error, "`--logs` names the folder") from error
