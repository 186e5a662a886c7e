"""Takes out of a report what others need not know: names of users and hosts, addresses, tokens.

Versions look like addresses (driver 23.0.2.1): those that the machine itself calls versions stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from jumar.machine.host import Host

_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)")
_IPV6 = re.compile(
    r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}(?![\w:])|(?<![\w:])::(?:[0-9a-fA-F]{1,4}:){1,6}[0-9a-fA-F]{1,4}"
)
_MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:])")
_LOGIN = re.compile(r"(?<=://)[^/\s:@]+(?::[^/\s@]*)?@")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SECRET = re.compile(
    r"(?i)\b([\w-]*(?:token|secret|passw(?:or)?d|api_?key|access_?key|credential)[\w-]*[\"']?\s*[=:]\s*[\"']?)[^\s\"',;]+"
)
_LONG = re.compile(r"\b(?:gh[pousr]_\w{20,}|hf_\w{20,}|sk-\w{20,}|AKIA\w{12,}|eyJ[\w-]{10,}\.[\w.-]{10,})")
_SERIAL = re.compile(r"(?im)^(\s*(?:Serial Number|[VNDv]?Die ID|DDie ID)\s*:\s*)(?!NA\s*$).+$")
_HOME = re.compile(r"/home/(?!HwHiAiUser\b)[^/\s:\"']+")


def scrubber(host: Host, hosts: Iterable[str] = ()) -> Callable[[str], str]:
    """A function over texts; made from what the machine says its names and versions are."""
    names = _names(host, hosts)
    versions = _versions(host)

    def scrub(text: str) -> str:
        text = _SERIAL.sub(r"\1<serial>", text)
        text = _SECRET.sub(r"\1<secret>", text)
        text = _LONG.sub("<secret>", _LOGIN.sub("<login>@", text))
        text = _MAIL.sub("<mail>", text)
        text = _MAC.sub("<mac>", text)
        text = _IPV6.sub("<address>", text)
        text = _ADDRESS.sub(
            lambda match: match[0] if match[0] in versions or match[0] == "127.0.0.1" else "<address>", text
        )
        for name, word in names:
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", word, text)
        return _HOME.sub("/home/<user>", text)

    return scrub


def _names(host: Host, hosts: Iterable[str]) -> list[tuple[str, str]]:
    """Longest first, so that a name inside another one does not break it."""
    environ = host.environ
    users = {environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")} - {"", "root", "HwHiAiUser"}
    node = host.ask("uname", "-n").out.strip()
    machines = {environ.get("HOSTNAME", ""), node, node.partition(".")[0], *hosts} - {"", "localhost"}
    for name in [name for name in machines if "@" in name]:
        user, _, node = name.partition("@")
        users.add(user)
        machines |= {node}
    found = [(name, "<user>") for name in users if len(name) > 1] + [
        (name, "<host>") for name in machines if len(name) > 1
    ]
    return sorted(found, key=lambda pair: -len(pair[0]))


def _versions(host: Host) -> set[str]:
    found: set[str] = set()
    asks: tuple[Callable[[], Iterable[str]], ...] = (
        lambda: (host.smi().driver, host.smi().tool),
        lambda: host.driver().values(),
        lambda: host.firmware().values(),
        lambda: (host.toolkit().version,),
        lambda: (row["version"] for row in host.python().packages.values()),
    )
    for ask in asks:
        try:
            found |= set(ask())
        except Exception:  # a machine whose versions cannot be read has none to keep
            continue
    return {version for version in found if _ADDRESS.fullmatch(version)}
