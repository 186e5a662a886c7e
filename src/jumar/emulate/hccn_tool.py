"""The hccn_tool command of the emulated machine: addresses of the cards' own network ports.

Source of options and output: Ascend/mind-cluster docs/en/faultdiag/user_guide/03_collecting_logs.md, hicann/driver
docs/en/Ascend_950_HCCN_Tool (2026-11-15). Settings are kept in `etc/hccn.conf` of the virtual prefix.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from jumar.core.errors import reason
from jumar.emulate.smi import machine
from jumar.runtime import variables

SETTABLE = {
    "ip": {"address": "address", "netmask": "netmask"},
    "gateway": {"gateway": "gateway"},
    "netdetect": {"address": "netdetect"},
    "tls": {"enable": "tls_switch"},
}
"""What `-s` sets, and the key of it in hccn.conf."""


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    found = machine.read(os.environ)
    if not found.family["network"]:
        return _refuse(f"{found.soc} has no network port")
    card = _card(words)
    if card is None or card >= len(found.chips):
        return _refuse(f"`-i N` names a device from 0 to {len(found.chips) - 1}")
    path = os.path.join(variables.PREFIX.read(), "etc", "hccn.conf")
    if "-ping" in words:
        return _ping(card, words, read(path))
    topic = next((word for word in words if word[1:] in TOPICS), None)
    if topic is None:
        return _refuse(f"this query is not emulated; these are: {', '.join(f'-{name}' for name in (*TOPICS, 'ping'))}")
    if "-g" in words:
        return TOPICS[topic[1:]](card, read(path))
    if "-s" in words:
        return _set(card, words[words.index("-s") + 1 :], SETTABLE.get(topic[1:], {}), path)
    return _refuse("`-g` reads and `-s` sets")


def default_conf(cards: int) -> str:
    """Addresses as the guides set them: four networks, cards of one ring in each."""
    lines = []
    for card in range(cards):
        ring, place = card % 4, card // 4
        address = {"address": f"192.168.{100 + ring}.{101 + place}", "netmask": "255.255.255.0",
                   "netdetect": f"192.168.{100 + ring}.1", "gateway": f"192.168.{100 + ring}.1"}  # fmt: skip
        lines += [f"{key}_{card}={value}\n" for key, value in address.items()]
    return "".join(lines)


def read(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return dict(line.strip().split("=", 1) for line in file if "=" in line)
    except OSError:
        return {}


def _card(words: list[str]) -> int | None:
    at = words.index("-i") + 1 if "-i" in words else len(words)
    return int(words[at]) if at < len(words) and words[at].isdecimal() else None


def _ip(card: int, conf: Mapping[str, str]) -> int:
    if f"address_{card}" not in conf:
        return _refuse(f"device {card} has no address; `hccn_tool -i {card} -ip -s address A netmask M` sets it")
    return _say(f"ipaddr:{conf[f'address_{card}']}", f"netmask:{conf.get(f'netmask_{card}', '')}")


def _gateway(card: int, conf: Mapping[str, str]) -> int:
    return _say(f"default gateway:{conf.get(f'gateway_{card}', '')}, Iface:eth{card}")


def _netdetect(card: int, conf: Mapping[str, str]) -> int:
    return _say(f"netdetect address: {conf.get(f'netdetect_{card}', '')}")


def _link(card: int, conf: Mapping[str, str]) -> int:
    return _say("link status: UP")


def _ping(card: int, words: list[str], conf: Mapping[str, str]) -> int:
    """Cards of this machine reach each other; nothing else is there to answer."""
    if "address" not in words[:-1]:
        return _refuse("`-ping -g address A` asks the port with address A")
    asked = words[words.index("address") + 1]
    there = asked in [value for key, value in conf.items() if key.startswith("address_")]
    seen = [f"recv seq={number},time=0.050000ms" if there else f"recv time out seq={number}" for number in range(3)]
    loss = "3 received, 0.00%" if there else "0 received, 100.00%"
    return _say(f"device {card} PING {asked}", *seen, f"3 packets transmitted, {loss} packet loss")


def _net_health(card: int, conf: Mapping[str, str]) -> int:
    return _say("net health status: Success")


def _tls(card: int, conf: Mapping[str, str]) -> int:
    switch = conf.get(f"tls_switch_{card}", "0")
    return _say(
        f"dev_id:{card}, tls switch[{switch}](0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset), "
        "tls alarm time threshold[60]days"
    )


def _vnic(card: int, conf: Mapping[str, str]) -> int:
    return _say("vnic link status: UP", f"vnic ipaddr: 192.168.2.{199 - card}", "vnic netmask: 255.255.255.0")


def _version(card: int, conf: Mapping[str, str]) -> int:
    return _say(f"Network Driver Version:    {machine.read(os.environ).driver['version']}")


TOPICS: dict[str, Callable[[int, Mapping[str, str]], int]] = {
    "gateway": _gateway,
    "ip": _ip,
    "link": _link,
    "net_health": _net_health,
    "netdetect": _netdetect,
    "tls": _tls,
    "version": _version,
    "vnic": _vnic,
}


def _set(card: int, words: list[str], keys: Mapping[str, str], path: str) -> int:
    pairs = dict(zip(words[::2], words[1::2]))
    if len(words) % 2 or not pairs or set(pairs) - set(keys):
        return _refuse(f"cannot set `{' '.join(words)}`; can be set here: {', '.join(keys) or 'nothing'}")
    conf = read(path) | {f"{keys[key]}_{card}": value for key, value in pairs.items()}
    try:
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
            file.writelines(f"{key}={value}\n" for key, value in conf.items())
        os.replace(file.name, path)
    except OSError as error:
        return _refuse(f"cannot write `{path}`: {reason(error)}")
    return 0


def _say(*lines: str) -> int:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _refuse(message: str) -> int:
    sys.stderr.write(f"hccn_tool: {message}\n")
    return 1
