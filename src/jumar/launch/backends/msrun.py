"""msrun: MindSpore's own launcher; one command per machine; this process becomes its own.

Options: mindspore.parallel.cluster.run of MindSpore 2.6 to 2.10 (tutorials/parallel/msrun_launcher.md).
"""

from __future__ import annotations

import json
import shlex

from jumar.core.errors import UserError
from jumar.launch import cores, submission
from jumar.launch.job import DEFAULT_PORT, Job
from jumar.launch.submission import Submission

SETTINGS = {
    "cluster-time-out": "seconds that processes wait for each other; default 600",
    "tail-worker-log": "ranks whose log is shown, such as 0,1; default all",
}
NOT_HERE = (("restarts", 0), ("until", ""))


def build(job: Job) -> Submission:
    """One msrun command per machine, to be started on that machine."""
    submission.check_settings(job.settings, SETTINGS, "msrun")
    for name, usual in NOT_HERE:
        if getattr(job, name) != usual:
            raise UserError(f"`--{name}` is not for msrun", "leave it out, or launch without `--on msrun`")
    if not job.words or not job.words[0].endswith(".py"):
        raise UserError("msrun starts Python scripts only", "`jumar launch --on msrun train.py ARGS`")
    nodes = job.nodes or ("127.0.0.1",)
    commands = []
    for rank, node in enumerate(nodes):
        words = _words(job, nodes, rank)
        commands.append(
            words
            if not job.nodes
            else ("ssh", node, f"cd {shlex.quote(job.folder)} && {submission.shell(list(words))}")
        )
    return Submission(engine="msrun", commands=tuple(commands))


def _words(job: Job, nodes: tuple[str, ...], rank: int) -> tuple[str, ...]:
    words = [
        "msrun", f"--worker_num={job.cards * len(nodes)}", f"--local_worker_num={job.cards}",
        f"--master_addr={nodes[0].rpartition('@')[2]}", f"--master_port={job.port or DEFAULT_PORT}",
        f"--log_dir={job.logs}", "--join=True",
    ]  # fmt: skip
    if len(nodes) > 1:
        words.append(f"--node_rank={rank}")
    if job.bind == "auto":
        words.append("--bind_core=True")
    elif job.bind != "none":
        words.append(f"--bind_core={_groups(job)}")
    if job.rank_table:
        words.append(f"--rank_table_file={job.rank_table}")
    words += [f"--{name.replace('-', '_')}={value}" for name, value in sorted(job.settings.items())]
    return (*words, *job.words)


def _groups(job: Job) -> str:
    """Cores as msrun wants them: {"device0": ["0-23"]}, ranges only."""
    try:
        groups = [cores.parse(part) for part in job.bind.split(":")]
    except ValueError as error:
        raise UserError(f"`--bind`: `{error}` is not a core or a range of cores", f"write {cores.FORM}") from error
    if len(groups) != job.cards:
        raise UserError(f"`--bind`: {job.bind} does not give cores to {job.cards} cards", f"write {cores.FORM}")
    spelled = {}
    for card, group in enumerate(groups):
        parts = cores.spell(group).split(",")
        spelled[f"device{card}"] = [part if "-" in part else f"{part}-{part}" for part in parts]
    return json.dumps(spelled)
