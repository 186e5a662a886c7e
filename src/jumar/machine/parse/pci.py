"""Finds the vendor's devices on the PCI bus, in sysfs or in what `lspci` prints.

Vendor 19e5; d801 and d806 from samples of lspci and npu-smi, the others from data/machine.toml with their confidence.
"""

from __future__ import annotations

import re

VENDOR = "19e5"


def from_sysfs(text: str) -> dict[str, str]:
    """`grep "" /sys/bus/pci/devices/*/vendor …/device …/class`: device id by bus address, accelerators only."""
    found: dict[str, dict[str, str]] = {}
    for bus, name, value in re.findall(r"([0-9a-fA-F:.]+)/(vendor|device|class):0x([0-9a-fA-F]+)\s*$", text, re.M):
        found.setdefault(bus.lower(), {})[name] = value.lower()
    return {
        bus: facts["device"]
        for bus, facts in sorted(found.items())
        if facts.get("vendor") == VENDOR and facts.get("class", "").startswith("12") and "device" in facts
    }


def from_lspci(text: str) -> dict[str, str]:
    """The same from `lspci` or `lspci -n`."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        named = re.match(r"\s*([0-9a-f:.]+) Processing accelerators: Huawei .*Device ([0-9a-f]{4})\b", line, re.I)
        plain = re.match(rf"\s*([0-9a-f:.]+) 12[0-9a-f]{{2}}: {VENDOR}:([0-9a-f]{{4}})\b", line, re.I)
        if match := named or plain:
            bus = match[1].lower()
            found[bus if bus.count(":") == 2 else f"0000:{bus}"] = match[2].lower()
    return found
