"""Which hosts keys and tokens may be sent to: those of their vendor, and others that the user has confirmed.

Loopback belongs to the stand-in, which has keys of its own: no other key goes there unless that port is confirmed too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from jumar.core.errors import UserError
from jumar.runtime import trust
from jumar.tables.load import table

LOOPBACK = ("127.0.0.1", "localhost", "::1")
REGION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
PROJECT_ID = re.compile(r"[A-Za-z0-9_-]{0,64}")
_NAME = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*|[0-9a-f:]+")
_PORTS = {"https": 443, "http": 80}


class Host(NamedTuple):
    """A host with its port, as keys are bound to it."""

    name: str
    port: int
    vendor: str
    """The vendor in whose table it is; empty for any other."""

    def __str__(self) -> str:
        shown = f"[{self.name}]" if ":" in self.name else self.name
        return shown if self.port == _PORTS["https"] else f"{shown}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return self.name in LOOPBACK


def of(url: str) -> Host:
    """The host of an endpoint that keys could be sent to at all; `UserError` for any other address."""
    try:
        parts = urlsplit(url)
        name, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise _unsafe(url) from None
    is_local = name in LOOPBACK
    if not _NAME.fullmatch(name) or parts.scheme not in (("https", "http") if is_local else ("https",)):
        raise _unsafe(url)
    if not _is_plain(parts):
        raise _unsafe(url)
    return Host(name, port or _PORTS[parts.scheme], _vendor(name) if (port or 443) == 443 and not is_local else "")


def named(text: str) -> Host:
    """A host as the user types it: `HOST` or `HOST:PORT`; an address is taken too."""
    if "://" in text:
        return of(text)
    name = text.rpartition(":")[0] if re.search(r":\d+$", text) else text
    scheme = "http" if name.strip("[]") in LOOPBACK else "https"
    try:
        return of(f"{scheme}://{text}")
    except UserError:
        raise UserError(f"not a host: `{text}`", "write it as `obs.example.com` or `127.0.0.1:9000`") from None


def is_confirmed(host: Host) -> bool:
    """Has the user said that keys may be sent there?"""
    return str(host) in trust.read().hosts


def is_foreign(value: Any, folder: object = None) -> bool:
    """Is this an endpoint that no project may name: anything but a service of the vendor?"""
    try:
        return not isinstance(value, str) or (value != "" and of(value).vendor != "huaweicloud")
    except UserError:
        return True


def refused(host: Host) -> UserError:
    """Keys are not sent to a host that nobody vouched for."""
    return UserError(
        f"no keys are sent to `{host}`: it is not one of Huawei Cloud's",
        f"if it is the right one: `jumar trust --host {trust.quoted(str(host))}`",
    )


def _is_plain(parts: SplitResult) -> bool:
    """Is there nothing in it that could name another host than it seems, or that a signature would not cover?"""
    return "@" not in parts.netloc and not parts.query and not parts.fragment and parts.path in ("", "/")


def _vendor(name: str) -> str:
    rows: Mapping[str, Any] = table("cloud_hosts.toml")
    for vendor, row in rows.items():
        for domain in row["domains"]:
            service, _, region = (
                name.removesuffix(f".{domain}").partition(".") if name.endswith(f".{domain}") else ("",) * 3
            )
            if service in row["services"] and (not region or REGION.fullmatch(region)):
                return vendor
    return ""


def _unsafe(url: str) -> UserError:
    return UserError(f"not a safe endpoint for keys: `{url}`", "write `https://…`; plain http is for this machine only")
