"""Another machine over ssh: no password questions, nothing left there.

One login is shared, and a few shells stay open on it: a login can take a second where a user's start-up files are slow,
and the checks ask a hundred questions.
"""

from __future__ import annotations

import queue
import re
import select
import shlex
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from jumar.core.errors import UserError
from jumar.machine.probe import DENIED, LATE, MISSING, TIMEOUT, UNREACHABLE, Ran, Read
from jumar.machine.probe.local import LARGEST, run
from jumar.runtime import process

CONNECT = 10
SHELLS = 4
GRACE = 5.0
"""Seconds beyond a command's own time, for the way there and back."""
_HOST = re.compile(r"([A-Za-z0-9._-]+@)?[A-Za-z0-9\[][A-Za-z0-9.:_\]-]*")
_ENVIRONMENT = "jumar-environment"
_ANSWER = "jumar-answer"
_CARRIED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
_BEGIN = "umask 077; T=$(mktemp -d) || exit 1; trap 'rm -rf \"$T\"' EXIT\n"


class Unreachable(Exception):
    """The host did not let us in; the text is what ssh said."""


class Remote:
    """A host; its environment is the one of the user's own shell there, as after a login."""

    def __init__(self, host: str) -> None:
        if not _HOST.fullmatch(host):
            raise UserError(f"not a host name: `{host}`", "write it as `user@node`")
        if shutil.which("ssh") is None:
            raise UserError("`ssh` is not installed", "install an ssh client, or use `--collect` on the other machine")
        self.name = host
        self._folder = tempfile.mkdtemp(prefix="jumar-ssh-")
        self._ssh = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT}", "-o", "ControlMaster=auto",
                     "-o", f"ControlPath={self._folder}/%C", "-o", "ControlPersist=60"]  # fmt: skip
        self._shells: queue.Queue[_Shell | None] = queue.Queue()
        for _ in range(SHELLS):
            self._shells.put(None)
        self.environ: Mapping[str, str] = {}
        self.broken = ""

    def connect(self) -> None:
        """Log in and read the environment; raises `Unreachable`."""
        script = f"""exec "${{SHELL:-/bin/sh}}" -lic 'echo {_ENVIRONMENT}; env -0 || env'"""
        ran = run([*self._ssh, self.name, script], CONNECT + TIMEOUT)
        if ran.problem or ran.code == 255:
            said = ran.err.strip().splitlines()
            raise Unreachable(said[-1] if said else f"no answer within {CONNECT + TIMEOUT:.0f} s")
        _, mark, text = ran.out.partition(f"{_ENVIRONMENT}\n")
        lines = text.split("\0") if "\0" in text else text.splitlines()
        self.environ = dict(line.split("=", 1) for line in lines if "=" in line) if mark else {}

    def run(self, command: Sequence[str], timeout: float = TIMEOUT) -> Ran:
        carried = [f"{name}={self.environ[name]}" for name in _CARRIED if name in self.environ]
        words = ["timeout", "-k", "1", str(timeout), "env", "LC_ALL=C", *carried, *command]
        ran = self._ask(shlex.join(words), timeout)
        problem = {124: LATE, 126: DENIED, 127: MISSING, 137: LATE}.get(ran.code, "")
        return ran if ran.problem else ran._replace(problem=problem)

    def read(self, path: str) -> Read:
        quoted = shlex.quote(path)
        tests = f"if [ ! -e {quoted} ]; then (exit 44); elif [ ! -r {quoted} ]; then (exit 45); else"
        ran = self._ask(f"{tests} head -c {LARGEST} {quoted}; fi", TIMEOUT)
        if ran.good:
            return Read(ran.out)
        return Read(None, ran.problem or {44: MISSING, 45: DENIED}.get(ran.code, MISSING))

    def paths(self, pattern: str) -> list[str]:
        safe = re.sub(r"[^A-Za-z0-9_./*?\[\]-]", lambda match: f"\\{match[0]}", pattern)
        ran = self._ask(f'for p in {safe}; do if [ -e "$p" ]; then printf "%s\\n" "$p"; fi; done', TIMEOUT)
        return sorted(ran.out.splitlines())

    def close(self) -> None:
        with suppress(queue.Empty):
            while True:
                shell = self._shells.get_nowait()
                if shell is not None:
                    shell.close()
        run([*self._ssh, "-O", "exit", self.name], 5)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, line: str, timeout: float) -> Ran:
        shell = self._shells.get()
        try:
            if self.broken:
                return Ran(255, problem=UNREACHABLE)
            if shell is None:
                shell = _Shell([*self._ssh, self.name, "exec /bin/sh"])
            ran = shell.ask(line, timeout + GRACE)
            if ran.problem:
                shell.kill()
                shell = None
            if ran.problem == UNREACHABLE:
                self.broken = "the connection was lost during the checks"
            return ran
        finally:
            self._shells.put(shell)


class _Shell:
    """A shell on the other side; each answer comes with its length, so nothing in it can be taken for the end."""

    def __init__(self, command: list[str]) -> None:
        self._process = process.start(command, stdin=process.PIPE, stdout=process.PIPE, stderr=process.DEVNULL)
        self._kept = b""
        self._begin = _BEGIN.encode()

    def ask(self, line: str, timeout: float) -> Ran:
        sizes = '$c "$(wc -c <"$T/o")" "$(wc -c <"$T/e")"'
        told = f'printf "{_ANSWER} %d %d %d\\n" {sizes}; cat "$T/o" "$T/e"'
        text = f'{{ {line}\n}} </dev/null >"$T/o" 2>"$T/e"; c=$?; {told}\n'
        until = time.monotonic() + timeout
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(self._begin + text.encode())
            self._process.stdin.flush()
            self._begin = b""
            while not (match := re.search(rf"{_ANSWER} (\d+) +(\d+) +(\d+)\n".encode(), self._kept)):
                self._more(until)
            code, out, err = (int(number) for number in match.groups())
            end = match.end() + out + err
            while len(self._kept) < end:
                self._more(until)
        except TimeoutError:
            return Ran(-1, problem=LATE)
        except OSError:
            return Ran(255, problem=UNREACHABLE)
        body, self._kept = self._kept[match.end() : end], self._kept[end:]
        return Ran(code, body[:out].decode("utf-8", "replace"), body[out:].decode("utf-8", "replace"))

    def close(self) -> None:
        """Let the shell end by itself, so that it removes its folder."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(process.Late):
            self._process.wait(timeout=2)
        self.kill()

    def kill(self) -> None:
        process.kill(self._process, patience=1)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()

    def _more(self, until: float) -> None:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TimeoutError
        data = self._process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
        if not data:
            raise OSError("the connection was lost")
        self._kept += data
