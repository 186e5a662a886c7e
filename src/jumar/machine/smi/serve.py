"""A Prometheus endpoint on loopback."""

from __future__ import annotations

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from jumar.core.errors import UserError, cannot

HOST = "127.0.0.1"
_FRESH = 1.0
"""Seconds for which an answer serves: scrapers must not start npu-smi in heaps."""


def server(port: int, metrics: Callable[[], str]) -> ThreadingHTTPServer:
    """Bound, not yet serving; port 0 takes a free one. `metrics` may raise a UserError: that is a 503."""
    lock = Lock()
    last: list[tuple[float, str]] = []

    def current() -> str:
        with lock:
            if not last or time.monotonic() - last[0][0] >= _FRESH:
                last[:] = [(time.monotonic(), metrics())]
            return last[0][1]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] not in ("/", "/metrics"):
                self._answer(404, "not found: /metrics has the numbers\n")
                return
            try:
                self._answer(200, current())
            except UserError as error:
                self._answer(503, f"{error.message}\n")

        def _answer(self, code: int, text: str) -> None:
            raw = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            pass

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise cannot(f"listen on {HOST}:{port}", error, "0 takes a free one") from error
