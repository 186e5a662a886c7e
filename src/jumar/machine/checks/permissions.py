"""May this user open the device files?

The driver gives them to the group HwHiAiUser unless it was installed with `--install-for-all` (hicann/driver FAQ).
"""

from __future__ import annotations

import shlex

from jumar.machine.check import Check, Report, Skip, error, need_npus
from jumar.machine.host import Host, Unknown

CHECK = Check("DR209", "permissions", "device files that this user may open")
MANAGERS = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")


def run(host: Host) -> Report:
    need_npus(host)
    files = [*host.device_files(), *(path for path in map(host.place, MANAGERS) if host.exists(path))]
    if not files:
        raise Skip("there are no device files (see `driver` and `container`)")
    names = " ".join(map(shlex.quote, files))
    test = f'for f in {names}; do if [ -r "$f" ] && [ -w "$f" ]; then :; else echo "$f"; fi; done'
    denied = host.ask("sh", "-c", test).out.split()
    identity = host.ask("id").out.strip()
    if not denied:
        return Report(f"{len(files)} device files open to this user")
    group = _group(host)
    shown = ", ".join(denied[:3]) + (f" and {len(denied) - 3} more" if len(denied) > 3 else "")
    inside = f"({group})" in identity
    fix = f"sudo usermod -aG {group} $USER && newgrp {group}   # or install the driver with --install-for-all"
    if inside:
        fix = f"sudo chgrp {group} {denied[0]} && sudo chmod 660 {denied[0]}"
    return Report(f"{len(denied)} of {len(files)} closed", (error(CHECK, f"this user may not open {shown}", fix),))


def _group(host: Host) -> str:
    try:
        return host.install_info().get("UserGroup") or "HwHiAiUser"
    except Unknown:
        return "HwHiAiUser"
