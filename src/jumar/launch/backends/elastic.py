"""The process that runs the ranks of one machine: torch elastic's own agent, which reads from a file what to start.

Started as a program by `launch.watch`; reads the job from the file named on its command line and answers with one
JSON line per event on standard output. API: torch.distributed.elastic of torch 2.1 to 2.14.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2"
AFTER_KILL = 5


def main() -> int:
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(__file__)]  # as `-P`, which 3.11 brought
    path, parent = sys.argv[1], int(sys.argv[2])
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a rank leaves behind comes to us, and ends with us
    if os.getppid() != parent:
        return 1
    signal.signal(signal.SIGTERM, _stop_early)
    signal.signal(signal.SIGINT, _stop_early)
    spec = json.loads(Path(path).read_text(encoding="utf-8"))
    logging.disable(logging.CRITICAL)
    try:
        tell(**run(spec, path))
    except SystemExit:
        tell(event="stopped", signal=signal.SIGTERM, codes={})
    except Exception as error:
        tell(event="error", message=f"{type(error).__name__}: {error}")
    finally:
        _deaf()
        sweep()
    return 0


def tell(**event: Any) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def run(spec: dict[str, Any], path: str) -> dict[str, Any]:
    """Run the ranks to their end; returns the event with the outcome."""
    from torch.distributed.elastic.agent.server.api import WorkerSpec, WorkerState
    from torch.distributed.elastic.multiprocessing import SignalException

    os.environ["TORCHELASTIC_SIGNALS_TO_HANDLE"] = SIGNALS
    fixed = spec["nodes"] == 1 or not spec["restarts"]
    if not fixed:
        # Each round of several machines gets a store of its own: what an earlier round left in a shared one
        # makes ranks of the next look for processes that are gone.
        os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    workers = WorkerSpec(
        role="default",
        local_world_size=len(spec["device_ids"]),
        entrypoint=sys.executable,
        args=("-I", "-S", str(Path(__file__).with_name("rank.py")), path, str(os.getpid())),
        rdzv_handler=_rendezvous(spec),
        max_restarts=spec["restarts"],
        monitor_interval=0.1,
        master_addr=(spec["master"] or None) if fixed else None,
        master_port=(spec["port"] or None) if fixed else None,
        local_addr="127.0.0.1" if spec["nodes"] == 1 else None,
    )
    agent = _agent(workers, spec["grace"])
    try:
        result = agent.run()
    except SignalException as stop:
        return {"event": "stopped", "signal": int(stop.sigval), "codes": agent.codes()}
    if result is None or result.state == WorkerState.SUCCEEDED:
        return {"event": "succeeded"}
    failures = [
        {"rank": rank, "code": one.exitcode, "time": one.timestamp} for rank, one in sorted(result.failures.items())
    ]
    return {"event": "failed", "failures": failures}


def _rendezvous(spec: dict[str, Any]) -> Any:
    """Static where ranks must follow the order of the machines; c10d on one machine, and where machines restart."""
    from torch.distributed.elastic.rendezvous import RendezvousParameters
    from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler

    together = {"run_id": spec["id"], "min_nodes": spec["nodes"], "max_nodes": spec["nodes"]}
    if spec["nodes"] == 1 or spec["restarts"]:
        endpoint = f"{spec['master'] or 'localhost'}:{spec['port']}"
        host = {"is_host": spec["node_rank"] == 0} if spec["nodes"] > 1 else {}
        local = "127.0.0.1" if spec["nodes"] == 1 else None
        return get_rendezvous_handler(
            RendezvousParameters(backend="c10d", endpoint=endpoint, local_addr=local, **together, **host)
        )
    endpoint = f"{spec['master']}:{spec['port']}"
    return get_rendezvous_handler(
        RendezvousParameters(
            backend="static", endpoint=endpoint, rank=spec["node_rank"], timeout=spec["meet"], **together
        )
    )


def _agent(workers: Any, grace: int) -> Any:
    from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent

    class Agent(LocalElasticAgent):  # type: ignore[misc]
        """Reports the processes that it starts, and ends them as `stop` does."""

        def _start_workers(self, worker_group: Any) -> Any:
            started = super()._start_workers(worker_group)
            context = self._pcontext
            close = context.close

            def stop(death_sig: Any = None, timeout: int = grace) -> None:
                if death_sig is not None:
                    _deaf()
                _stop(context.subprocess_handlers.values(), death_sig or signal.SIGTERM, grace)
                close(signal.SIGKILL, AFTER_KILL)
                sweep()

            context.close = stop
            ranks = {worker.global_rank: worker.id for worker in worker_group.workers}
            tell(event="started", ranks={rank: context.pids()[rank - min(ranks)] for rank in sorted(ranks)})
            return started

        def codes(self) -> dict[int, int | None]:
            if self._pcontext is None:
                return {}
            first = min((worker.global_rank for worker in self._worker_group.workers), default=0)
            handlers = self._pcontext.subprocess_handlers
            return {first + local: handler.proc.poll() for local, handler in handlers.items()}

    known = inspect.signature(LocalElasticAgent).parameters  # neither is in every torch from 2.1 on
    options = {"shutdown_timeout": grace} if "shutdown_timeout" in known else {}
    logs = {"logs_specs": _nowhere()} if "logs_specs" in known else {"log_dir": _vanishing()}
    return Agent(workers, exit_barrier_timeout=300, **logs, **options)


def _nowhere() -> Any:
    """Each rank opens its own log file."""
    from torch.distributed.elastic.multiprocessing import LogsDest, LogsSpecs

    class Nowhere(LogsSpecs):  # type: ignore[misc]
        root_log_dir = ""

        def reify(self, envs: dict[int, dict[str, str]]) -> Any:
            ranks = range(len(envs))
            return LogsDest(
                stdouts=dict.fromkeys(ranks, ""),
                stderrs=dict.fromkeys(ranks, ""),
                error_files=dict.fromkeys(ranks, os.devnull),
            )

    return Nowhere()


def _vanishing() -> str:
    """A folder for the error files of a torch that cannot do without; it is gone when the agent ends."""
    folder = tempfile.mkdtemp(prefix="jumar-launch-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _deaf() -> None:
    """A scheduler signals every process of a job: a second signal must not interrupt the stop that the first began."""
    for name in SIGNALS.split(","):
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def _stop(handlers: Any, number: int, grace: int) -> None:
    """Only the ranks get the signal: a rank that still saves a checkpoint needs its own children."""
    running = [handler.proc for handler in handlers if handler.proc.poll() is None]
    for process in running:
        process.send_signal(number)
    until = time.monotonic() + grace
    while time.monotonic() < until and any(process.poll() is None for process in running):
        time.sleep(0.02)


def sweep() -> None:
    """Kill all remaining descendants; what a rank started may outlive it."""
    for _ in range(100):
        left = descendants(os.getpid())
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                continue
        time.sleep(0.02)


def descendants(root: int) -> list[int]:
    """The processes below one, zombies aside."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append(int(entry))
    found: list[int] = []
    front = [root]
    while front:
        front = [child for pid in front for child in children.get(pid, [])]
        found += front
    return found


def _stop_early(number: int, frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
