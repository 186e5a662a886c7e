"""Requests that no client sends: seeded, so that a failure can be seen again."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "G E T", "get", "")
PARTS = (
    "bucket-1", "secret", "..", ".", "%2e%2e", "%2E%2E%2f", "%00", "%ff%fe", "%", "%zz", "a" * 3000, "link", "other",
    "", "%c3%28", "bucket-1%2Fsecret", "\\..\\", "~root", "con", "x\u00e9", ";", "+", " ", "%0d%0aX-A:%20b", ".jumar",
    "outside",
)  # fmt: skip
ASKED = (
    "acl", "uploads", "uploadId=x", "uploadId=..%2f..", "partNumber=99999999999999999999&uploadId=1", "versions",
    "delete", "max-keys=" + "9" * 5000, "max-keys=-1", "max-keys=1e9", "max-keys=99999999999999999999999999",
    "marker=%ff", "prefix=..%2f", "append&position=-5", "append&position=x", "rename&name=..%2f..%2fetc",
    "rename&name=", "metadata", "list-type=2&continuation-token=%00", "delimiter=%00", "encoding-type=url",
    "AccessKeyId=x&Expires=x&Signature=x", "X-Amz-Signature=1&X-Amz-Expires=x", "=", "&&", "%", "a=%zz", "acl&acl",
    "versionId=null", "partNumber=0&uploadId=",
)  # fmt: skip
HEADERS = (
    "Range: bytes=5-1", "Range: bytes=-", "Range: bytes=99999999999999999999-", "Range: items=0-1",
    "Range: bytes=0-1,3-4", "If-Modified-Since: never", "If-Match: *", "Content-MD5: !!", "Content-MD5: AAAA",
    "x-amz-copy-source: /../../etc/passwd", "x-obs-copy-source: bucket-1/../secret", "x-amz-copy-source: %",
    "x-amz-copy-source: /other/none", "x-amz-copy-source-range: bytes=x", "x-amz-content-sha256: zz",
    "Transfer-Encoding: gzip", "Transfer-Encoding: chunked", "Content-Length: " + "9" * 5000, "Content-Length: -1",
    "Content-Length: 1_0", "Content-Length: 99999999999999999999999", "Content-Length: 5, 6", "Content-Length: 3",
    "Host: ../x", "Host: bucket-1.localhost", "Host: ..localhost", "Host: ", "Date: x", "Expect: 100-continue",
    "Expect: 7", "Authorization: AWS x:y", "Authorization: OBS :", "Authorization: AWS4-HMAC-SHA256 Credential=",
    "X-Auth-Token: x", "x-amz-meta-a: \u00ff", "x-amz-metadata-directive: NEITHER", "broken", ": empty", " folded: x",
    "x-obs-acl: none", "x-amz-date: 20260101T000000Z", "x-amz-decoded-content-length: x", "x-sdk-date: x",
    "Content-Type: " + "x" * 70000,
)  # fmt: skip
BODIES = (
    b"", b"abc", b"<", b"<Delete>", b"<Delete><Object><Key>../../x</Key></Object></Delete>",
    b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>",
    b"<CompleteMultipartUpload><Part><PartNumber>x</PartNumber></Part></CompleteMultipartUpload>", b"\xff\xfe\x00",
    b"<CompleteMultipartUpload/>", b"<a>" * 20000, b"{", b"[]", b"null", b"[" * 5000, b'{"a": 1e999}', b"\x00" * 100,
    b"zz\r\nabc\r\n0\r\n\r\n", b"3\r\nabcX", b"ffffffffffffffff\r\nabc", b'{"offset": "x"}', b'{"limit": -1}',
    b"\xed\xa0\x80",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e308, float("inf"), float("nan"), "", "x" * 5000, "\x00", "../../etc", "/", "//",
    "\ud800", "$(id)", [], [None], [[]], {}, {"": {}}, {"a": [1]}, "/bucket-1/", "/bucket-1/../other/", 1.5, "-0",
    "\u0661", "9" * 5000,
)  # fmt: skip


class Answered(NamedTuple):
    sent: bytes
    status: int
    """0 when the connection was closed without an answer."""
    body: bytes


def storage(seed: int, count: int, prefix: str = "") -> Iterator[bytes]:
    """Requests for a store; most parts of each are in order, so that they get far."""
    dice = random.Random(seed)
    for _ in range(count):
        method = dice.choice(METHODS[:5] if dice.random() < 0.9 else METHODS)
        parts = ["bucket-1", "secret"] if dice.random() < 0.4 else dice.choices(PARTS, k=dice.randint(0, 4))
        path = prefix + "/" + "/".join(parts)
        query = "?" + "&".join(dice.choices(ASKED, k=dice.randint(1, 2))) if dice.random() < 0.6 else ""
        yield _request(dice, method, path + query, dice.choice(BODIES))


def _request(dice: random.Random, method: str, path: str, body: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *dice.choices(HEADERS, k=dice.randint(0, 3))]
    if dice.random() < 0.7:
        lines.append(f"Content-Length: {len(body)}")
    if dice.random() < 0.1:
        lines.append(dice.choice(lines[1:]))
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8", "surrogatepass") + body


def ask(port: int, data: bytes) -> Answered:
    """What comes back; a server that waits for more is told that there is none."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(data)
        with contextlib.suppress(OSError):  # the other side may have gone already
            sock.shutdown(socket.SHUT_WR)
        found = b""
        with contextlib.suppress(ConnectionError):
            while more := sock.recv(1 << 16):
                found += more
    head, _, body = found.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    words = head.split(b" ")
    return Answered(data, int(words[1]) if len(words) > 1 else 0, body)


def spoiled(value: Any) -> Iterator[Any]:
    """A tree of dictionaries and lists with one value replaced, for every value and every bad one."""
    yield from VALUES
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: other} for other in spoiled(inner))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in spoiled(inner))
