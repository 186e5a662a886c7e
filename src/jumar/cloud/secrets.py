"""Looks for keys and passwords in code that is about to leave the machine; says where, never what."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from jumar.core import read
from jumar.core.errors import UserError

LARGEST = 2 << 20
_PATTERNS = (
    ("a private key", re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("an access key", re.compile(rb"\bAKIA[0-9A-Z]{16}\b")),
    (
        "a key or password in a literal",
        re.compile(
            rb"(?i)(?:secret[_-]?(?:access[_-]?)?key|access[_-]?key(?:[_-]?id)?|api[_-]?key|passw(?:or)?d|auth[_-]?token"
            rb"|\b[as]k)[\"']?\s*[:=]\s*[\"'](?=[^\"'\s]*\d)[A-Za-z0-9/+=_.-]{16,}[\"']"
        ),
    ),
)


class Leak(NamedTuple):
    path: str
    line: int
    what: str


def scan(files: Iterable[tuple[str, str]], known: Iterable[str] = ()) -> list[Leak]:
    """Files as (name, path); `known` are secrets that must not stand anywhere."""
    own = [("the secret key in use", re.compile(re.escape(secret.encode()))) for secret in known if secret]
    found: list[Leak] = []
    for name, path in files:
        try:
            with read.opened(path) as file:
                data = file.read(LARGEST)
        except (OSError, UserError):
            continue
        for what, pattern in (*own, *_PATTERNS):
            if match := pattern.search(data):
                found.append(Leak(name, data.count(b"\n", 0, match.start()) + 1, what))
    return found
