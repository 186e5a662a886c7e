"""Runs one job of the stand-in as the platform does; started as a process of its own, so that a job outlives its maker.

The first failure ends all processes of all nodes (davincirun's order: SIGTERM, then SIGKILL). Outputs and logs go to
the store while the job runs and at its end.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import sys
import time
from pathlib import Path

from jumar.cloud import contract
from jumar.cloud.standin import interpreter
from jumar.cloud.standin.jobs import Jobs, Record
from jumar.cloud.standin.node import Node
from jumar.core.errors import UserError
from jumar.runtime import process as processes

PERIOD = 30.0
"""Seconds between uploads of outputs, as on the platform."""
GRACE = 15.0
STEP = 0.1


class Stopped(Exception):
    """Somebody asked for the end of the job."""


class Runner:
    def __init__(self, jobs: Jobs, record: Record) -> None:
        self.jobs, self.record = jobs, record
        self.top = jobs.folder(record.id)
        job = record.contract()
        self.nodes = [Node(jobs.home, self.top, record, job._replace(node=node)) for node in range(job.nodes)]
        self.first = self.nodes[0]

    @property
    def processes(self) -> list[processes.Process]:
        return [process for node in self.nodes for process in node.processes]

    def run(self) -> int:
        """Everything from the first download to the last upload; the exit code is that of the first failure."""
        signal.signal(signal.SIGTERM, self._stop)
        code = 1
        try:
            self.jobs.update(self.record.id, "Pending", "Pending")
            for node in self.nodes:
                node.stage_in()
            self.jobs.update(self.record.id, "Running", "Running")
            self._start()
            code = self._watch()
            phase = "Completed" if code == 0 else "Failed"
        except Stopped:
            phase, code = "Terminated", 143
        except (UserError, OSError) as error:
            self.first.say(f"{error}")
            phase = "Failed"
        finally:
            self._end_all()
            with contextlib.suppress(OSError):
                self._merge(rest=True)
        try:
            self._stage_out()
        except (UserError, OSError) as error:
            self.first.say(f"cannot upload the outputs: {error}")
            phase, code = ("Failed", code or 1) if phase == "Completed" else (phase, code)
        self.first.say(f"the job ended: {phase}, exit code {code}")
        with contextlib.suppress(UserError, OSError):
            self._upload_logs()
        self.jobs.update(self.record.id, phase, phase, code=code)
        return code

    def _stop(self, *_: object) -> None:
        raise Stopped

    def _start(self) -> None:
        job = self.first.job
        together = job.environments.get("MA_RUN_METHOD", "")
        shared = self._meeting()
        port = _free_port()
        for node in self.nodes:
            node.start(shared, self._launcher(node, together, port), together=bool(together))

    def _launcher(self, node: Node, together: str, port: int) -> list[str]:
        job, count = node.job, str(node.job.devices)
        master = contract.address(0)
        if together == "torchrun":
            return [node.python, "-m", "torch.distributed.run", "--nnodes", str(job.nodes), "--node_rank",
                    str(job.node), "--master_addr", master, "--master_port", str(port),
                    "--nproc_per_node", count]  # fmt: skip
        if together == "msrun":
            beside = Path(node.python).parent / "msrun"
            return [str(beside) if beside.exists() else "msrun", "--worker_num", str(job.size),
                    "--local_worker_num", count, "--node_rank", str(job.node), "--master_addr", master, "--join",
                    "True", "--master_port", str(port), "--log_dir", job.layout.log]  # fmt: skip
        if together:
            raise UserError(f"MA_RUN_METHOD={together} is not known", "leave it out, or `torchrun` or `msrun`")
        return [node.python, "-u"]

    def _meeting(self) -> dict[str, str]:
        """Where the processes of a MindSpore job meet that runs on the CPU: `runtime/hooks/mindspore.py` reads it."""
        if self.first.job.size == 1 or interpreter.TARGET not in self.record.extra:
            return {}
        folder = self.top / "meet"
        folder.mkdir(exist_ok=True)
        return {interpreter.PORT: str(_free_port()), interpreter.MEET: str(folder)}

    def _watch(self) -> int:
        """Wait for all processes, or for the first that fails; send outputs now and then, and keep to `auto_stop`."""
        sent = time.monotonic()
        end = sent + self.record.auto_stop_seconds()
        while True:
            codes = [process.poll() for process in self.processes]
            self._merge()
            failed = [(rank, code) for rank, code in enumerate(codes) if code]
            if failed:
                rank, code = failed[0]
                self.first.say(f"rank {rank} ended with exit code {code}; the others are ended")
                return code if code > 0 else 128 - code
            if all(code == 0 for code in codes):
                return 0
            now = time.monotonic()
            if now > end:
                self.first.say("auto_stop: the time of the job is over")
                raise Stopped
            if now - sent > PERIOD:
                sent = now
                with contextlib.suppress(UserError, OSError):
                    self._stage_out()
                    self._upload_logs()
            time.sleep(STEP)

    def _merge(self, *, rest: bool = False) -> None:
        for node in self.nodes:
            node.merge(rest=rest)

    def _end_all(self) -> None:
        processes.end(self.processes, GRACE)
        for process in self.processes:  # what ended by itself may have left others in its group
            processes.kill(process)

    def _stage_out(self) -> None:
        for node in self.nodes:
            node.stage_out()

    def _upload_logs(self) -> None:
        address = ((self.record.body.get("spec") or {}).get("log_export_path") or {}).get("obs_url")
        if address:
            self.first.send(self.first.logs, address)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    jobs = Jobs(Path(sys.argv[1]))
    runner = Runner(jobs, jobs.get(sys.argv[2]))
    try:
        return runner.run()
    finally:
        for node in runner.nodes:
            shutil.rmtree(node.own / "new-root", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
