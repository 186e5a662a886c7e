"""A small threaded HTTP/1.1 server on the loopback interface: kept-alive connections, streamed bodies, sendfile.

The standard library's server parses headers with the mail package, which costs more than a small object does.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
from collections.abc import Callable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

LONGEST_HEAD = 64 << 10
LONGEST_LINE = 4096
CHUNK = 1 << 20
IDLE = 300.0
LOOPBACK = "127.0.0.1"


class Broken(Exception):
    """The other side has gone, or what it says is no HTTP: the connection ends."""


class Malformed(Broken):
    """What the other side says is no HTTP; it is told so."""


class Body:
    """What is left of a request's body; `Expect: 100-continue` is answered when somebody wants to read."""

    def __init__(self, connection: Connection, length: int, expects: bool) -> None:
        self.connection = connection
        self.left = length
        self.length = length
        self.expects = expects

    def into(self, view: memoryview) -> int:
        """Read some bytes; 0 at the end."""
        if not self.left:
            return 0
        self._invite()
        count = self.connection.read_into(view[: min(self.left, len(view))])
        self.left -= count
        return count

    def _invite(self) -> None:
        """Tell a client that waits for it to send the body."""
        if self.expects:
            self.expects = False
            self.connection.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    def read(self, limit: int = 8 << 20) -> bytes:
        if self.length > limit:
            raise Malformed(f"a body of {self.length} bytes, where {limit} are the limit")
        buffer = bytearray(self.left)
        view = memoryview(buffer)
        while count := self.into(view):
            view = view[count:]
        return bytes(buffer)

    def skip(self, limit: int = 64 << 20) -> None:
        """Take what nobody wanted, so that the other side gets to read the answer."""
        if self.expects or self.left > limit:
            return
        view = memoryview(bytearray(64 << 10))
        while self.into(view):
            pass


class ChunkedBody(Body):
    """A body that comes in pieces with their length in front (`Transfer-Encoding: chunked`)."""

    def __init__(self, connection: Connection, expects: bool) -> None:
        super().__init__(connection, CHUNK, expects)
        self.piece = 0
        """What is left of this piece; `left` only says whether the end was seen."""
        self.first = True

    def into(self, view: memoryview) -> int:
        if not self.left:
            return 0
        self._invite()
        if not self.piece and not self._next():
            return 0
        count = self.connection.read_into(view[: min(self.piece, len(view))])
        self.piece -= count
        return count

    def read(self, limit: int = 8 << 20) -> bytes:
        found, view = bytearray(), memoryview(bytearray(64 << 10))
        while count := self.into(view):
            found += view[:count]
            if len(found) > limit:
                raise Malformed(f"a body of more than {limit} bytes")
        return bytes(found)

    def _next(self) -> bool:
        """Whether another piece comes; behind the last one the trailer is read."""
        if not self.first:
            self._line()
        self.first = False
        size = self._line().split(b";")[0].strip()
        if not size or size.strip(b"0123456789abcdefABCDEF"):
            raise Malformed("not the length of a piece")
        self.piece = int(size, 16)
        if not self.piece:
            while self._line():
                pass
            self.left = 0
        return bool(self.piece)

    def _line(self) -> bytes:
        line, one = bytearray(), memoryview(bytearray(1))
        while not line.endswith(b"\r\n"):
            self.connection.read_into(one)
            line += one
            if len(line) > LONGEST_LINE:
                raise Malformed("a line is too long")
        return bytes(line[:-2])


class Request(NamedTuple):
    method: str
    raw_path: str
    path: str
    query: tuple[tuple[str, str | None], ...]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Body

    def asks(self, name: str) -> bool:
        return any(key == name for key, _ in self.query)

    def value(self, name: str, default: str = "") -> str:
        return next((value or "" for key, value in self.query if key == name), default)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    file: str = ""
    """Send this part of a file instead of `body`."""
    start: int = 0
    size: int = 0


Handler = Callable[[Request], Answer]


class Connection:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.buffer = b""

    def read_into(self, view: memoryview) -> int:
        if self.buffer:
            count = min(len(view), len(self.buffer))
            view[:count] = self.buffer[:count]
            self.buffer = self.buffer[count:]
            return count
        count = self.sock.recv_into(view)
        if not count:
            raise Malformed("the connection ended inside a body")
        return count

    def head(self) -> bytes | None:
        """The next request's head, or None when the other side is done."""
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            if len(self.buffer) > LONGEST_HEAD:
                raise Malformed("the head of a request is too long")
            more = self.sock.recv(LONGEST_HEAD)
            if not more and self.buffer:
                raise Malformed("the connection ended inside the head of a request")
            if not more:
                return None
            self.buffer += more
        found, self.buffer = self.buffer[:end], self.buffer[end + 4 :]
        return found


class Server:
    """Listens until `close`; one thread per connection."""

    def __init__(self, handler: Handler, port: int = 0) -> None:
        self.handler = handler
        self.listener = socket.create_server((LOOPBACK, port), backlog=256)
        self.port: int = self.listener.getsockname()[1]
        self.open: set[socket.socket] = set()
        self.thread = threading.Thread(target=self._accept, name=f"accept-{self.port}", daemon=True)

    def start(self) -> Server:
        self.thread.start()
        return self

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in list(self.open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        if self.thread.is_alive():
            self.thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.open.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            sock.settimeout(IDLE)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(sock)
            while (head := connection.head()) is not None:
                request = _parse(head, connection)
                answer = self._answer(request)
                request.body.skip()
                keep = request.body.left == 0 and request.headers.get("connection", "").lower() != "close"
                _send(sock, request.method, answer, keep=keep)
                if not keep:
                    return
        except Malformed as error:
            with contextlib.suppress(OSError):
                _send(sock, "", Answer(400, {"Content-Type": "text/plain"}, f"{error}\n".encode()), keep=False)
        except (OSError, Broken):
            return
        finally:
            self.open.discard(sock)
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
            sock.close()

    def _answer(self, request: Request) -> Answer:
        try:
            return self.handler(request)
        except (Broken, ConnectionError):
            raise
        except Exception as error:
            return Answer(500, {"content-type": "text/plain"}, f"{type(error).__name__}: {error}".encode())


def _parse(head: bytes, connection: Connection) -> Request:
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Malformed("not a request line")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise Malformed("not a header line")
        key = name.lower()
        headers[key] = f"{headers[key]},{value.strip()}" if key in headers else value.strip()
    length = headers.get("content-length", "0")
    is_chunked = headers.get("transfer-encoding", "").lower() == "chunked"
    if not re.fullmatch(r"[0-9]{1,18}", length) or ("transfer-encoding" in headers and not is_chunked):
        raise Malformed("not a length")
    if is_chunked and "content-length" in headers:
        raise Malformed("a body in pieces has no length")
    raw, _, query = words[1].partition("?")
    if "://" in raw:
        raw = "/" + raw.split("://", 1)[1].partition("/")[2]
    pairs = []
    for item in query.split("&") if query else ():
        key, equals, value = item.partition("=")
        pairs.append((unquote_plus(key), unquote_plus(value) if equals else None))
    expects = headers.get("expect", "").lower() == "100-continue"
    return Request(words[0], raw, unquote(raw, errors="surrogateescape"), tuple(pairs), headers,
                   ChunkedBody(connection, expects) if is_chunked
                   else Body(connection, int(length), expects))  # fmt: skip


def _send(sock: socket.socket, method: str, answer: Answer, *, keep: bool) -> None:
    size = answer.size if answer.file else len(answer.body)
    lines = [f"HTTP/1.1 {answer.status} {_phrase(answer.status)}", f"Date: {formatdate(usegmt=True)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    if "content-length" not in answer.headers and answer.status not in (204, 304):
        lines.append(f"Content-Length: {size}")
    lines.append(f"Connection: {'keep-alive' if keep else 'close'}")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", errors="replace")
    if method == "HEAD" or not size:
        sock.sendall(head)
    elif answer.file:
        _send_file(sock, head, answer)
    else:
        sock.sendall(head + answer.body)


def _send_file(sock: socket.socket, head: bytes, answer: Answer) -> None:
    handle = os.open(answer.file, os.O_RDONLY)
    try:
        sock.sendall(head, socket.MSG_MORE)
        offset, left = answer.start, answer.size
        with open(handle, "rb", buffering=0, closefd=False) as file:
            if sock.sendfile(file, offset, left) != left:
                raise Broken("the file became shorter while it was sent")
    finally:
        os.close(handle)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
