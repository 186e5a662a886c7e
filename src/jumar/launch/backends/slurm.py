"""Slurm: one task per machine, each of which is `jumar launch`; script, submission, state, log and cancelling.

Options: sbatch(1), srun(1), squeue(1), scontrol(1) of Slurm 22.05, which Debian 12 has.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from jumar.core.errors import UserError
from jumar.launch import submission
from jumar.launch.job import Job
from jumar.launch.submission import Submission
from jumar.runtime import tools

SETTINGS = {
    "account": "who pays",
    "constraint": "features of the machines",
    "cpus-per-task": "cores of each machine; without it the job takes whole machines",
    "exclusive": "`no` shares machines with other jobs",
    "gres": "the site's name for cards, such as npu:8; `none` requests none",
    "mem": "memory of each machine",
    "nodelist": "these machines",
    "partition": "the queue",
    "qos": "quality of service",
    "reservation": "a reservation",
    "time": "time limit",
}
_PLAIN = ("account", "constraint", "mem", "nodelist", "partition", "qos", "reservation", "time")
STATE = "%T|%M|%D|%R"


def build(job: Job) -> Submission:
    """The script and the command that submits it."""
    submission.check_settings(job.settings, SETTINGS, "Slurm")
    for name, value in job.settings.items():
        if not value or re.search(r"[\s#]", value):
            raise UserError(f"`--set {name}={value}` is not a value for Slurm", f"it means: {SETTINGS[name]}")
    script = f"{job.logs}/job.sbatch"
    return Submission(
        engine="slurm",
        files=((script, text(job)),),
        commands=(("sbatch", "--parsable", script),),
        after=(
            ("status", ("squeue", "--jobs", "JOB", "--states", "all", "--noheader", "--format", STATE)),
            ("log", ("cat", f"{job.logs}/slurm-JOB.out")),
            ("cancel", ("scancel", "JOB")),
        ),
    )


def text(job: Job) -> str:
    """The batch script."""
    chosen = job.settings
    gres = chosen.get("gres", f"npu:{job.cards}")
    lines = [
        f"--job-name={job.name}", f"--nodes={job.count}", "--ntasks-per-node=1", f"--chdir={job.folder}",
        f"--output={job.logs}/slurm-%j.out",
    ]  # fmt: skip
    if gres != "none":
        lines.append(f"--gres={gres}")
    if "cpus-per-task" in chosen:
        lines.append(f"--cpus-per-task={chosen['cpus-per-task']}")
    elif chosen.get("exclusive") != "no":
        lines.append("--exclusive")
    lines += [f"--{name}={chosen[name]}" for name in _PLAIN if name in chosen]
    body = ["set -euo pipefail"]
    if "cpus-per-task" in chosen:
        body.append(f"export SRUN_CPUS_PER_TASK={chosen['cpus-per-task']}  # srun does not take it from sbatch")
    if job.count > 1:
        body += [
            'master=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
            f"port={job.port or '$((20000 + SLURM_JOB_ID % 20000))'}",
            "export master port",
        ]
    each = submission.node_words(job, job.count, "$SLURM_NODEID", "$master", "$port", "$SLURM_JOB_ID")
    command = f"exec {submission.shell(each)} {shlex.join(job.words)}"
    body.append(f"exec srun --kill-on-bad-exit=1 bash -c {shlex.quote(command)}")
    return "\n".join(["#!/bin/bash", *(f"#SBATCH {line}" for line in lines), *body]) + "\n"


def submit(plan: Submission, job: Job) -> str:
    """Write the script, hand it to Slurm: the number of the job."""
    submission.write_files(plan)
    return tools.must(plan.commands[0]).strip().partition(";")[0]


def ask(word: str, job: str, settings: Mapping[str, str]) -> str:
    """State or log of a job, or cancel it."""
    submission.check_settings(settings, SETTINGS, "Slurm")
    if not job.isdecimal():
        raise UserError(f"`{job}` is not the number of a Slurm job", "`squeue --me` lists them")
    if word == "cancel":
        tools.must(["scancel", job])
        return f"job {job} is cancelled"
    return _log(job) if word == "log" else _status(job)


def _status(job: str) -> str:
    done = tools.ask(["squeue", "--jobs", job, "--states", "all", "--noheader", "--format", STATE])
    fields = done.out.strip().split("|")
    if done.code or len(fields) < 4:
        raise UserError(f"Slurm does not know job {job}, or no longer", "`sacct -j` may, if accounting is on")
    state, time, nodes, reason = fields[:4]
    return f"{state.lower()}, {time} on {nodes} machine{'' if nodes == '1' else 's'}: {reason}"


def _log(job: str) -> str:
    told = tools.must(["scontrol", "show", "job", job, "--oneliner"])
    found = re.search(r"\bStdOut=(\S+)", told)
    if found is None or not Path(found[1]).exists():
        raise UserError(
            f"job {job} has written no log yet", f"`jumar launch --on slurm --status {job}` shows its state"
        )
    return Path(found[1]).read_text(encoding="utf-8", errors="replace").rstrip("\n")
