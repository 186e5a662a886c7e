"""What the fixture `launch` of these tests is, and ports for what they start."""

from __future__ import annotations

import random
import socket
import subprocess
from collections.abc import Callable

Launch = Callable[..., subprocess.CompletedProcess[str]]


def free_port() -> int:
    """A port nobody uses, below those that the system gives to others while we are on our way to use it."""
    while True:
        port = random.randint(20000, 32000)
        with socket.socket() as one:
            try:
                one.bind(("", port))
            except OSError:
                continue
            return port
