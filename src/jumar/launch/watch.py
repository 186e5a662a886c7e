"""Starts the engine of one machine, follows its ranks' logs, passes signals on, and reports the outcome."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from jumar.core.compat import SAFE_PATH
from jumar.launch import logs
from jumar.launch.backends import elastic
from jumar.launch.job import Failure, Local, Outcome
from jumar.runtime import process, variables

TIMEOUT_CODE = 124
"""Exit code of a job that `--until` ended, as coreutils' `timeout` has it."""
TICK = 0.1
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class View(Protocol):
    """Where the ranks' lines go; the command line has one."""

    def line(self, rank: int, text: str) -> None: ...
    def note(self, text: str) -> None: ...
    def live(self, text: str) -> None: ...


def run(local: Local, view: View, with_parent: bool = False) -> Outcome:
    """Run the ranks of this machine to their end; none of their processes is left when it returns."""
    folder = Path(local.logs)
    path = folder / "job.json"
    path.write_text(json.dumps(asdict(local), indent=1) + "\n", encoding="utf-8")
    watch = _Watch(local, view, folder)
    with _signals(watch.on_signal):
        engine = _start(path, local)
        try:
            return watch.follow(engine, with_parent)
        finally:
            _end(engine)


def shown(local: Local) -> list[str]:
    """The whole value as lines of text."""
    import shlex

    from jumar.launch import cores

    ranks = len(local.device_ids)
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(local.variables.items())]
    lines.append(f"# each of {ranks} ranks on torch elastic's agent, logs in {local.logs}: {shlex.join(local.argv)}")
    first = local.node_rank * ranks
    for place, device in enumerate(local.device_ids):
        bound = f" on cores {cores.spell(local.cores[place])}" if local.cores else ""
        rank, size = first + place, ranks * local.nodes
        lines.append(f"# rank {rank}{bound}: RANK={rank} LOCAL_RANK={place} WORLD_SIZE={size} RANK_ID={rank} "
                     f"RANK_SIZE={size} DEVICE_ID={device}")  # fmt: skip
    where = f"{local.master or '127.0.0.1'}, port {local.port or 'picked by the system'}"
    lines.append(f"# machine {local.node_rank} of {local.nodes}; they meet at {where}; {local.restarts} restarts")
    if local.until is not None:
        told = time.strftime("%H:%M:%S", time.localtime(local.until - local.grace))
        lines.append(f"# told with SIG{local.signal} at {told}, killed {local.grace} s later")
    return lines


def _start(path: Path, local: Local) -> process.Process:
    # The agent itself needs neither torch_npu nor the emulator; the ranks get their own variables.
    values = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", variables.EMULATE.name: "0"}
    return process.start(
        [sys.executable, *SAFE_PATH, elastic.__file__, str(path), str(os.getpid())],
        stdout=process.PIPE,
        env=values,
        dies_with_us=signal.SIGTERM,
    )


def _kill(engine: process.Process) -> None:
    """End the engine and everything below it at once; ranks first, so that none of them loses its parent unseen."""
    for _ in range(100):
        left = elastic.descendants(engine.pid)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            break
        time.sleep(0.02)
    engine.kill()


def _end(engine: process.Process) -> None:
    """End every process of the job, whatever happened before."""
    if engine.poll() is None:
        _kill(engine)
        engine.wait()
    if engine.stdout is not None:
        engine.stdout.close()


class _Watch:
    def __init__(self, local: Local, view: View, folder: Path) -> None:
        self.local, self.view, self.folder = local, view, folder
        self.tail = logs.Tail(folder)
        self.waiting: list[int] = []
        self.sent: list[int] = []
        self.told = False
        self.rates: dict[int, str] = {}
        self.events: list[dict[str, Any]] = []
        self.began = time.monotonic()

    def on_signal(self, number: int) -> None:
        self.waiting.append(number)

    def follow(self, engine: process.Process, with_parent: bool) -> Outcome:
        assert engine.stdout is not None
        with selectors.DefaultSelector() as ready, open(self.folder / "all.log", "w", encoding="utf-8") as merged:
            ready.register(engine.stdout, selectors.EVENT_READ, "engine")
            if with_parent:
                ready.register(0, selectors.EVENT_READ, "stdin")
            rest = b""
            while True:
                for key, _ in ready.select(TICK):
                    data = os.read(key.fd, 65536)
                    if key.data == "stdin":
                        if not data:
                            ready.unregister(0)
                            self.waiting.append(signal.SIGHUP)
                    elif not data:
                        self._show(merged, last=True)
                        engine.wait()
                        return self._outcome(engine.returncode)
                    else:
                        *whole, rest = (rest + data).split(b"\n")
                        self.events += map(json.loads, whole)
                self._pass_on(engine)
                self._show(merged, last=False)

    def _pass_on(self, engine: process.Process) -> None:
        while self.waiting:
            number = self.waiting.pop(0)
            self.sent.append(number)
            if len(self.sent) > 1:
                self.view.note("killing all ranks")
                _kill(engine)
                return
            name = signal.Signals(number).name
            self.view.note(f"{name}: stopping all ranks, {self.local.grace} s to save; a second one kills them at once")
            engine.send_signal(number)
        until = self.local.until
        if until is not None and not self.told and not self.sent and time.time() >= until - self.local.grace:
            self.told = True
            at = time.strftime("%H:%M:%S", time.localtime(until))
            self.view.note(f"`--until`: told all ranks with SIG{self.local.signal} to save; they are killed at {at}")
            engine.send_signal(signal.Signals[f"SIG{self.local.signal}"])

    def _show(self, merged: Any, *, last: bool) -> None:
        for line in self.tail.lines(last=last):
            merged.write(f"[{line.rank}] {line.text}\n")
            self.view.line(line.rank, line.text)
            if found := logs.rate(line.text):
                self.rates[line.rank] = found
        merged.flush()
        if self.rates:
            self.view.live(f"{self._rate()}, {int(time.monotonic() - self.began)} s")

    def _rate(self) -> str:
        if not self.rates:
            return ""
        rank = min(self.rates)
        return f"rank {rank}: {self.rates[rank]}"

    def _outcome(self, code: int) -> Outcome:
        if self.sent:
            return Outcome("stopped", 128 + self.sent[0], signal=self.sent[0], codes=self._codes(), rate=self._rate())
        if self.told:
            return Outcome("until", TIMEOUT_CODE, codes=self._codes(), rate=self._rate())
        end = self.events[-1] if self.events else {}
        if end.get("event") == "succeeded":
            return Outcome("succeeded", 0, rate=self._rate())
        if end.get("event") == "failed":
            return self._failed(end["failures"])
        said = end.get("message") or f"the engine exited with code {code} before its ranks"
        return Outcome("error", 2, message=said)

    def _codes(self) -> dict[int, int | None]:
        end = self.events[-1] if self.events else {}
        return {int(rank): code for rank, code in end.get("codes", {}).items()}

    def _failed(self, failures: list[dict[str, int]]) -> Outcome:
        """The first that failed by itself: those that we stopped end with SIGTERM and come after it."""

        def order(one: dict[str, int]) -> tuple[bool, int, float]:
            log = self.folder / f"rank_{one['rank']}.log"
            return one["code"] == -signal.SIGTERM, one["time"], log.stat().st_mtime if log.exists() else 0.0

        first = min(failures, key=order)
        own = [one for one in failures if one["code"] != -signal.SIGTERM]
        log = self.folder / f"rank_{first['rank']}.log"
        code = first["code"]
        failure = Failure(first["rank"], code, str(log), logs.tail(log))
        return Outcome("failed", code if code > 0 else 128 - code, failure, max(0, len(own) - 1), rate=self._rate())


@contextlib.contextmanager
def _signals(call: Callable[[int], None]) -> Iterator[None]:
    before = {number: signal.signal(number, lambda got, _: call(got)) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
