"""Another machine over ssh: one connection that every question shares, no password questions, nothing left there."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence

from jumar.core.errors import UserError
from jumar.machine.probe import DENIED, LATE, MISSING, TIMEOUT, UNREACHABLE, Ran, Read
from jumar.machine.probe.local import run

CONNECT = 10
_HOST = re.compile(r"([A-Za-z0-9._-]+@)?[A-Za-z0-9\[][A-Za-z0-9.:_\]-]*")
_MARK = "jumar-environment"
_CARRIED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")


class Unreachable(Exception):
    """The host did not let us in; the text is what ssh said."""


class Remote:
    """A host; its environment is the one of the user's own shell there, as after a login."""

    def __init__(self, host: str) -> None:
        if not _HOST.fullmatch(host):
            raise UserError(f"not a host name: `{host}`", "write it as `user@node`")
        if shutil.which("ssh") is None:
            raise UserError(
                "there is no `ssh` command", "install an ssh client, or use `--collect` on the other machine"
            )
        self.name = host
        self._folder = tempfile.mkdtemp(prefix="jumar-ssh-")
        self._ssh = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT}", "-o", "ControlMaster=auto",
                     "-o", f"ControlPath={self._folder}/%C", "-o", "ControlPersist=60"]  # fmt: skip
        self.environ: Mapping[str, str] = {}

    def connect(self) -> None:
        """Log in and read the environment; raises `Unreachable`."""
        script = f"""exec "${{SHELL:-/bin/sh}}" -lic 'echo {_MARK}; env -0 || env'"""
        ran = run([*self._ssh, self.name, script], CONNECT + TIMEOUT)
        if ran.problem or ran.code == 255:
            said = ran.err.strip().splitlines()
            raise Unreachable(said[-1] if said else f"no answer within {CONNECT + TIMEOUT:.0f} s")
        _, mark, text = ran.out.partition(f"{_MARK}\n")
        lines = text.split("\0") if "\0" in text else text.splitlines()
        self.environ = dict(line.split("=", 1) for line in lines if "=" in line) if mark else {}

    def run(self, command: Sequence[str], timeout: float = TIMEOUT) -> Ran:
        carried = [f"{name}={self.environ[name]}" for name in _CARRIED if name in self.environ]
        return self._shell(shlex.join(["env", "LC_ALL=C", *carried, *command]), timeout)

    def read(self, path: str) -> Read:
        quoted = shlex.quote(path)
        ran = self._shell(
            f"test -e {quoted} || exit 44; test -r {quoted} || exit 45; head -c 4194304 -- {quoted}", TIMEOUT
        )
        if ran.good:
            return Read(ran.out)
        return Read(None, ran.problem or {44: MISSING, 45: DENIED}.get(ran.code, MISSING))

    def paths(self, pattern: str) -> list[str]:
        safe = re.sub(r"[^A-Za-z0-9_./*?\[\]-]", lambda match: f"\\{match[0]}", pattern)
        return sorted(
            self._shell(f'for p in {safe}; do test -e "$p" && printf "%s\\n" "$p"; done', TIMEOUT).out.splitlines()
        )

    def close(self) -> None:
        run([*self._ssh, "-O", "exit", self.name], 5)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _shell(self, line: str, timeout: float) -> Ran:
        ran = run([*self._ssh, self.name, line], timeout + CONNECT)
        if ran.problem == LATE:
            return ran
        if ran.problem or ran.code == 255:
            return Ran(ran.code, ran.out, ran.err, UNREACHABLE)
        if ran.code in (126, 127):
            return Ran(ran.code, ran.out, ran.err, MISSING if ran.code == 127 else DENIED)
        return ran
