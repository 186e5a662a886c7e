"""Huge pages that are set aside are lost to everything else: a server with most of its memory in them runs out."""

from __future__ import annotations

import re

from jumar.machine.check import Check, Report, Skip, warning
from jumar.machine.host import Host

CHECK = Check("DR105", "huge-pages", "memory set aside for huge pages")


def run(host: Host) -> Report:
    text = host.probe.read("/proc/meminfo").text or ""
    values = {name: int(number) for name, number in re.findall(r"^(\w+):\s+(\d+)", text, re.M)}
    if not values.get("MemTotal"):
        raise Skip("`/proc/meminfo` cannot be read")
    pages, size = values.get("HugePages_Total", 0), values.get("Hugepagesize", 0)
    if not pages:
        return Report(f"none set aside, {values['MemTotal'] >> 20} GB of memory")
    share = pages * size / values["MemTotal"]
    told = f"{pages} pages of {size >> 10} MB set aside, {values.get('HugePages_Free', 0)} free"
    if share < 0.5:
        return Report(told)
    message = f"huge pages hold {share:.0%} of the memory: programs that do not ask for them cannot use it"
    return Report(told, (warning(CHECK, message, "sysctl -w vm.nr_hugepages=0   # as root"),))
