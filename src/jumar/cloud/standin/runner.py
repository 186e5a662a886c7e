"""Runs one job of the stand-in as the platform does; a separate process, so that a job outlives its command.

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

from jumar.cloud import catalogue, contract
from jumar.cloud.job import Job, State
from jumar.cloud.standin import interpreter, watchdog
from jumar.cloud.standin.jobs import STOPPED, Jobs
from jumar.cloud.standin.node import Node
from jumar.core.errors import UserError, reason
from jumar.runtime import process as processes

PERIOD = 30.0
"""Seconds between uploads of outputs, as on the platform."""
GRACE = 15.0
FOREVER = 24.0 * 365
"""Hours of a job that has no `auto_stop`."""
STEP = 0.1


class Stopped(Exception):
    """Somebody asked for the end of the job."""


class Runner:
    def __init__(self, jobs: Jobs, job: Job) -> None:
        self.jobs, self.id, self.spec = jobs, job.id, job.spec
        self.top = jobs.folder(job.id)
        self.machine = jobs.machine(job.id)
        seen = contract.NodeJob(job.id, job.spec, job.devices, catalogue.is_v1(job.spec.engine))
        self.nodes = [
            Node(jobs.home, self.top, self.machine, seen._replace(node=node)) for node in range(job.spec.nodes)
        ]
        self.first = self.nodes[0]
        self.stoppable = True

    @property
    def processes(self) -> list[processes.Process]:
        return [process for node in self.nodes for process in node.processes]

    def run(self) -> int:
        """Everything from the first download to the last upload; the exit code is that of the first failure."""
        signal.signal(signal.SIGTERM, self._stop)
        state, code = self._work()
        self._end_all()
        with contextlib.suppress(OSError):
            self._merge(rest=True)
        try:
            self._stage_out()
        except (UserError, OSError) as error:
            self.first.say(f"cannot upload the outputs: {reason(error)}")
            state, code = (State.FAILED, code or 1) if state is State.COMPLETED else (state, code)
        warning = ""
        with contextlib.suppress(UserError, OSError):
            warning = self._unsaved() if state is State.COMPLETED else ""
        if warning:
            self.first.say(warning)
        self.first.say(f"the job ended: {state}, exit code {code}")
        with contextlib.suppress(UserError, OSError):
            self._upload_logs()
        # Last: from here on anybody may delete the folder.
        for node in self.nodes:
            shutil.rmtree(node.own / "new-root", ignore_errors=True)
        self.jobs.update(self.id, state, code=code, warning=warning)
        return code

    def _work(self) -> tuple[State, int]:
        """From the first download to the end of the first process that fails, or of all."""
        try:
            try:
                if self.jobs.get(self.id).state is State.TERMINATING:
                    raise Stopped
                self.jobs.update(self.id, State.PENDING)
                for node in self.nodes:
                    node.stage_in()
                self.jobs.update(self.id, State.RUNNING)
                self._start()
                code = self._watch()
                return State.COMPLETED if code == 0 else State.FAILED, code
            finally:
                # From here on the job ends anyway: nothing may interrupt that.
                self.stoppable = False
        except Stopped:
            return State.TERMINATED, STOPPED
        except (UserError, OSError) as error:
            self.first.say(reason(error))
            return State.FAILED, 1

    def _stop(self, *_: object) -> None:
        if self.stoppable:
            self.stoppable = False
            raise Stopped

    def _start(self) -> None:
        together = dict(self.spec.environment).get("MA_RUN_METHOD", "")
        shared = self._meeting(together)
        port = _free_port()
        for node in self.nodes:
            node.start(shared, self._launcher(node, together, port), together=bool(together))

    def _launcher(self, node: Node, together: str, port: int) -> list[str]:
        job, count = node.job, str(node.job.devices)
        master = contract.address(0)
        if together == "torchrun":
            return [node.python, "-m", "torch.distributed.run", "--nnodes", str(job.spec.nodes), "--node_rank",
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

    def _meeting(self, together: str) -> dict[str, str]:
        """Variables by which the processes of a MindSpore job find each other, instead of a rank table.

        On the CPU `runtime/hooks/mindspore.py` reads them.
        """
        target, size = self.machine.variables.get(interpreter.TARGET), self.first.job.size
        if target == interpreter.ASCEND and not together:
            shared = interpreter.cluster(size, _free_port())
            self.first.start_scheduler(shared)
            return shared
        if target != interpreter.CPU or size == 1:
            return {}
        folder = self.top / "meet"
        folder.mkdir(exist_ok=True)
        return {interpreter.PORT: str(_free_port()), interpreter.MEET: str(folder)}

    def _watch(self) -> int:
        """Wait for all processes, or for the first that fails; send outputs now and then, and keep to `auto_stop`."""
        sent = time.monotonic()
        end = sent + (self.spec.hours or FOREVER) * 3600
        while True:
            codes = [process.poll() for process in self.processes]
            self._merge()
            failed = [(rank, code) for rank, code in enumerate(codes) if code]
            if failed:
                rank, code = failed[0]
                self.first.say(f"rank {rank} ended with exit code {code}; stopping the others")
                return code if code > 0 else 128 - code
            if all(code == 0 for code in codes):
                return 0
            now = time.monotonic()
            if now > end:
                self.first.say("auto_stop: the time limit of the job is reached")
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
        started = [*self.processes, *self.first.helpers]
        processes.end(started, GRACE)
        for process in started:  # what ended by itself may have left others in its group
            processes.kill(process)

    def _stage_out(self) -> None:
        for node in self.nodes:
            node.stage_out()

    def _unsaved(self) -> str:
        """A sentence about files that go away with the job, if it uploaded none at all."""
        if any(node.has_uploaded() for node in self.nodes):
            return ""
        lost = [path for node in self.nodes for path in node.written()]
        if not lost:
            return ""
        some = "1 file" if len(lost) == 1 else f"{len(lost)} files"
        return f"the job wrote {some}, such as {lost[0]}, and none to its outputs: nothing was uploaded"

    def _upload_logs(self) -> None:
        if self.spec.log is not None:
            self.first.send(self.first.logs, self.spec.log)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    home, id_ = sys.argv[1:]
    jobs = Jobs(Path(home))
    runner = Runner(jobs, jobs.get(id_))
    # The pipe closes with this process, whatever ends it.
    guard = processes.start(
        [sys.executable, "-I", "-S", watchdog.__file__, "=".join(contract.mark(id_))],
        stdin=processes.PIPE, stdout=processes.DEVNULL, stderr=processes.DEVNULL,
    )  # fmt: skip
    try:
        return runner.run()
    finally:
        assert guard.stdin is not None
        guard.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
