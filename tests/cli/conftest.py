"""A machine on which commands can be tried with anything: nothing is started, served or switched on."""

from __future__ import annotations

import os
import signal
import socketserver
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from jumar.runtime import activation


class Late(BaseException):
    """The command waits for something."""


@pytest.fixture
def harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything that is kept lies in the folder of the test, which is the current one; an alarm ends what waits."""

    def refuse(*words: object, **options: object) -> NoReturn:
        raise FileNotFoundError(2, os.strerror(2), "program")

    def late(*_: object) -> NoReturn:
        raise Late

    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for owner, name in ((subprocess.Popen, "__init__"), (os, "execvpe"), (os, "execvp"), (os, "fork")):
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setattr(subprocess.Popen, "__del__", lambda _: None)
    monkeypatch.setattr(socketserver.BaseServer, "serve_forever", lambda *_, **__: None)
    for function in (activation.marker, activation.switch_on, activation.switch_off):
        monkeypatch.setattr(function, "__defaults__", (str(tmp_path),))
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
