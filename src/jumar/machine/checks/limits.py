"""Limits of the shell: open files and processes.

Many ranks open many sockets and files, the operator compiler starts many processes (ascend-faultdiag texts).
"""

from __future__ import annotations

import re

from jumar.machine.check import Check, Report, Skip, limit, warning
from jumar.machine.host import Host

CHECK = Check("DR103", "limits", "open files and processes that the shell allows")
LIMITS = (("Max open files", "open_files", "open files", "-n"), ("Max processes", "processes", "processes", "-u"))


def run(host: Host) -> Report:
    text = host.probe.read("/proc/self/limits").text
    if not text:
        raise Skip("`/proc/self/limits` cannot be read")
    told, findings = [], []
    for title, bound, noun, flag in LIMITS:
        match = re.search(rf"^{title}\s+(\S+)\s+(\S+)", text, re.M)
        if match is None:
            continue
        told.append(f"{noun} {match[1]}")
        wanted = int(limit(bound))
        few = match[1].isdecimal() and int(match[1]) < wanted
        if few and not host.prefix and host.has_npus():
            fix = f"ulimit {flag} {wanted}"
            if match[2].isdecimal() and int(match[2]) < wanted:
                item = "nofile" if flag == "-n" else "nproc"
                fix = f"echo '* - {item} {wanted}' >> /etc/security/limits.conf   # as root; then log in again"
            findings.append(warning(CHECK, f"{match[1]} {noun} allowed; many ranks need {wanted}", fix))
    return Report(", ".join(told), tuple(findings))
