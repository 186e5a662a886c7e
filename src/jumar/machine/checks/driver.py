"""The driver: installed to the end, loaded, and the one that npu-smi talks to."""

from __future__ import annotations

from jumar.core.finding import Finding
from jumar.machine.check import Check, Report, error, need_npus, warning
from jumar.machine.host import Host, Unknown
from jumar.machine.parse import install_log

CHECK = Check("DR202", "driver", "driver installed completely, loaded, one version")
LOG = "/var/log/ascend_seclog/ascend_install.log"
INSTALL = "jumar plan   # the driver package for this chip and system, and how to install it"


def run(host: Host) -> Report:
    need_npus(host)
    try:
        version = host.driver()["Version"]
    except Unknown as unknown:
        if host.in_container() and not host.prefix and not host.exists(f"{host.driver_home()}/version.info"):
            raise
        return Report("unknown", (error(CHECK, f"the driver's version cannot be read: {unknown}", INSTALL),))
    findings = []
    try:
        status = host.install_info().get("Driver_Install_Status", "complete")
    except Unknown:
        status = "complete"
    if status != "complete":
        findings.append(
            error(CHECK, f"the driver's installation is incomplete: `Driver_Install_Status={status}`", INSTALL)
        )
    if not host.in_container() and not host.prefix and not host.exists("/dev/davinci_manager"):
        findings.append(error(CHECK, f"driver {version} is installed but not loaded: no `/dev/davinci_manager`",
                              "modprobe drv_davinci_intf_host; dmesg | tail   # or restart the server"))  # fmt: skip
    try:
        loaded = host.smi().driver
    except Unknown:
        loaded = ""
    if loaded and loaded.lower() != version.lower():
        message = f"the installed driver is {version}, the running one {loaded}"
        findings.append(warning(CHECK, message, "reboot   # a new driver starts with the server"))
    findings += _last_installation(host)
    return Report(f"{version} in {host.driver_home()}", tuple(findings))


def _last_installation(host: Host) -> list[Finding]:
    """Only root may read the log on most machines; then nothing is said."""
    last = install_log.ended(host.probe.read(host.place(LOG)).text or "").get("Driver")
    if last is None or last.good:
        return []
    return [warning(CHECK, f"the last installation of a driver failed ({last.when}): {last.text}", f"tail -50 {LOG}")]
