"""What keeps a file of vendor tests from disturbing its neighbours, and from waiting for ranks that are gone.

The files that start several processes all meet at port 50000 of the local host, and their first process waits for
results in a queue, for ever where a rank ended before it had one.
"""

from __future__ import annotations

import ctypes
import fcntl
import multiprocessing
import multiprocessing.connection
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
_GRACE = 30.0
"""Seconds in which the first process may still compare what the ranks sent."""


def have_own_network() -> None:
    """A loopback of its own for this process and its children, where the system allows it."""
    if ctypes.CDLL(None).unshare(_NEW_NETWORK) != 0:
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(any_socket, _GET_FLAGS, name))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))


def end_when_ranks_have(progress: Callable[[], int]) -> None:
    """Ends this process when all of its ranks have ended and `progress` stands still: nobody will answer it."""
    threading.Thread(target=_watch, args=(progress,), daemon=True).start()


def _watch(progress: Callable[[], int]) -> None:
    seen, since = progress(), time.monotonic()
    while True:
        time.sleep(1)
        ranks = list(multiprocessing.process._children)  # type: ignore[attr-defined]
        ended = multiprocessing.connection.wait([rank.sentinel for rank in ranks], 0) if ranks else []
        if len(ended) < max(1, len(ranks)) or progress() != seen:
            seen, since = progress(), time.monotonic()
        elif time.monotonic() - since > _GRACE:
            print("all ranks have ended; the test still waits for them", file=sys.stderr, flush=True)
            os._exit(1)
