"""Machines by name over ssh: `jumar launch` on each of them, all ended when one of them fails.

Each machine watches the standard input that ssh gives it: when it ends, because this side stopped, died or lost the
network, its ranks are stopped.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.launch import submission
from jumar.launch.job import DEFAULT_PORT, Job
from jumar.launch.submission import Submission
from jumar.runtime import process as processes
from jumar.runtime import tools, variables

SETTINGS = {
    "folder": "folder of the program on the machines; default: the current folder",
    "python": "Python on the machines; default: the one that runs `jumar` here",
    "ssh": "the ssh command with its options; default `ssh`",
}
_MACHINE = (variables.EMULATE, variables.SOC, variables.CARDS, variables.MEMORY, variables.QUIET)
PASSED = (*(row.name for row in _MACHINE), "TORCH_DEVICE_BACKEND_AUTOLOAD")
"""Variables that go along when they are set here."""
UNREACHABLE = 255
TICK = 0.1


def build(job: Job, environ: Mapping[str, str] | None = None) -> Submission:
    """One command per machine, and one that checks the machine first."""
    submission.check_settings(job.settings, SETTINGS, "ssh")
    if not job.nodes or len(set(job.nodes)) != len(job.nodes):
        raise UserError("`--nodes` names no machine, or one twice", "write it as `--nodes host1,host2`")
    for node in job.nodes:
        if node.startswith("-") or not node.strip():
            raise UserError(f"`--nodes`: `{node}` is not the name of a machine", "write it as `--nodes host1,host2`")
    ssh = (*shlex.split(job.settings.get("ssh", "ssh")), "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
    folder = shlex.quote(job.settings.get("folder", job.folder))
    python = job.settings.get("python", job.python)
    values = [f"{name}={shlex.quote(environ[name])}" for name in PASSED if environ and name in environ]
    script = f" && test -e {shlex.quote(job.words[0])}" if job.words[0].endswith(".py") else ""
    look = f"cd {folder}{script} && {shlex.quote(python)} -c 'import jumar.launch'"
    logs = os.path.relpath(job.logs, job.folder) if job.logs.startswith(f"{job.folder}/") else job.logs
    job = replace(job, logs=logs)  # below the folder of the machine, wherever that is there
    commands = []
    for rank, node in enumerate(job.nodes):
        master = job.nodes[0].rpartition("@")[2]
        each = submission.node_words(job, len(job.nodes), str(rank), master, str(job.port or DEFAULT_PORT), job.name)
        each[0] = python
        words = " ".join([*values, shlex.join([*each, "--with-parent", *job.words])])
        commands.append((*ssh, node, f"cd {folder} && exec env {words}" if values else f"cd {folder} && exec {words}"))
    return Submission(engine="ssh", checks=tuple((*ssh, node, look) for node in job.nodes), commands=tuple(commands))


def check(plan: Submission, job: Job) -> None:
    """Check that every machine can be reached and has what it needs; if not, nothing is started anywhere."""
    for node, command in zip(job.nodes, plan.checks, strict=True):
        done = tools.ask(command, timeout=30)
        said = (done.err.strip().splitlines() or [""])[-1]
        if done.code == UNREACHABLE:
            raise UserError(f"`{node}` cannot be reached: {said}", f"try `{shlex.join(command[:-1])}`")
        if done.code:
            raise UserError(
                f"`{node}` cannot run it: {said or 'the script is not there'}",
                "the folder, the script and Jumar must be there too: see `--set folder=…` and `--set python=…`",
            )


def run(plan: Submission, job: Job, line: Callable[[str, str, bool], None]) -> int:
    """Start all machines and follow them; `line` gets machine, text and whether it is an error's."""
    started: dict[str, processes.Process] = {}
    stops: list[int] = []
    before = {number: signal.signal(number, lambda got, _: stops.append(got)) for number in (2, 15, 1)}
    try:
        for node, command in zip(job.nodes, plan.commands, strict=True):
            started[node] = processes.start(command, stdin=processes.PIPE, stdout=processes.PIPE, stderr=processes.PIPE)
        return _follow(started, stops, job.grace, line)
    finally:
        for process in started.values():
            _close(process)
            with contextlib.suppress(processes.Late):
                process.wait(job.grace + 10)
            if process.poll() is None:
                processes.kill(process)
        for number, handler in before.items():
            signal.signal(number, handler)


def _follow(
    started: Mapping[str, processes.Process], stops: list[int], grace: int, line: Callable[[str, str, bool], None]
) -> int:
    code, ending = 0, 0.0
    rest: dict[int, bytes] = {}
    with selectors.DefaultSelector() as ready:
        for node, process in started.items():
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                ready.register(stream, selectors.EVENT_READ, (node, stream is process.stderr))
        while ready.get_map():
            for key, _ in ready.select(TICK):
                data = os.read(key.fd, 65536)
                *whole, rest[key.fd] = (rest.get(key.fd, b"") + data).split(b"\n")
                if not data:
                    whole = [rest.pop(key.fd)] if rest[key.fd] else []
                    ready.unregister(key.fileobj)
                for text in whole:
                    line(key.data[0], text.decode(errors="replace").rstrip("\r"), key.data[1])
            ended = {node: process.poll() for node, process in started.items()}
            bad = next((end for end in ended.values() if end), 0)
            if not ending and (bad or stops):
                code = 128 + stops[0] if stops else bad
                ending = time.monotonic()
                for process in started.values():
                    _close(process)
            if ending and time.monotonic() > ending + grace + 10:
                break
    for process in started.values():
        with contextlib.suppress(processes.Late):
            code = code or process.wait(5)
    return code


def _close(process: processes.Process) -> None:
    """The end of its input tells a machine to stop."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
