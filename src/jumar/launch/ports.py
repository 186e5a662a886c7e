"""Free ports on this machine."""

from __future__ import annotations

import socket

from jumar.core.errors import UserError, cannot


def check(port: int) -> None:
    """Raise an error if another process listens on the port; 0 lets the system choose."""
    if not 0 <= port <= 65535:
        raise UserError(f"`--port`: {port} is not a port", "take 1024 to 65535, or leave it out for a free one")
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("", port))
        except OSError as error:
            raise cannot(f"use port {port}", error, "without `--port` a free one is taken") from error


def free() -> int:
    """A port that is free now."""
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])
