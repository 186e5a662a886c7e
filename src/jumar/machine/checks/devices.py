"""The NPUs on the PCI bus, and whether npu-smi sees each of them."""

from __future__ import annotations

from collections import Counter

from jumar.machine.check import Check, Report, error, note
from jumar.machine.host import Host, Unknown
from jumar.tables.load import table

CHECK = Check("DR201", "devices", "NPUs on the PCI bus, and those that npu-smi sees")
EMULATOR = "jumar emulate shell   # an emulated machine: NPU code runs on this CPU"


def run(host: Host) -> Report:
    if not host.has_npus():
        return _none(host)
    found = host.pci()
    known = table("machine.toml")["pci"]
    kinds = Counter(known.get(device, f"unknown device {device}") for device in found.values())
    told = ", ".join(f"{number} x {kind}" for kind, number in sorted(kinds.items())) or "none on the PCI bus"
    if host.prefix:
        told += " (emulated)"
    try:
        chips = host.smi().chips
    except Unknown:
        return Report(told)
    seen = {chip.bus.lower() for chip in chips if chip.bus}
    lost = [bus for bus in found if bus not in seen]
    if not lost or not seen or (host.in_container() and not host.prefix):
        return Report(told)
    message = f"on the PCI bus, but npu-smi does not see it: {', '.join(lost)}"
    fix = f"dmesg | grep -i {lost[0][5:]}   # then restart the server; a card that stays missing is defective"
    return Report(told, (error(CHECK, message, fix),))


def _none(host: Host) -> Report:
    try:
        version = host.driver()["Version"]
    except Unknown:
        message = "no NPU in this machine: only the checks that apply are run"
        return Report("no NPU", (note(CHECK, message, EMULATOR),))
    message = f"driver {version} is installed, but there is no NPU on the PCI bus"
    return Report(
        "no NPU", (error(CHECK, message, "lspci -n -d 19e5:   # empty: check the seat and power of the cards"),)
    )
