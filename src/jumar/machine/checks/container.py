"""In a container: are the devices passed in, and is the host's driver mounted?

What must be there: Ascend/cann-container-image and Ascend/mind-cluster docs (2026-11-15).
"""

from __future__ import annotations

from jumar.machine.check import Check, Report, error, warning
from jumar.machine.host import DRIVERS, Host, Unknown

CHECK = Check("DR102", "container", "in a container: devices passed in, driver mounted")
MANAGERS = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
MOUNTS = (
    "-v /usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64"
    " -v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info"
    " -v /etc/ascend_install.info:/etc/ascend_install.info -v /usr/local/dcmi:/usr/local/dcmi"
    " -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi"
)


def run(host: Host) -> Report:
    kind = host.in_container()
    if kind is None:
        return Report("not in a container")
    if host.prefix:
        return Report(f"{kind}, with the emulated machine in it")
    on_bus, passed = len(host.pci()), host.device_files()
    if not on_bus and not passed:
        return Report(f"{kind}, no NPU on the host")
    if not passed:
        flags = " ".join(f"--device {path}" for path in ("/dev/davinci0", *MANAGERS))
        return Report(kind, (error(CHECK, f"the host has {on_bus} NPUs; none is passed to this container",
                                   f"docker run {flags} {MOUNTS} …"),))  # fmt: skip
    findings = []
    missing = [path for path in _managers(host) if not host.exists(path)]
    if missing:
        flags = " ".join(f"--device {path}" for path in missing)
        findings.append(error(CHECK, f"not passed to this container: {', '.join(missing)}", f"docker run {flags} …"))
    if not any(host.exists(f"{home}/lib64") for home in dict.fromkeys((host.driver_home(), *DRIVERS))):
        findings.append(error(CHECK, "the host's driver is not mounted", f"docker run {MOUNTS} …"))
    elif not host.exists("/usr/local/dcmi"):
        findings.append(warning(CHECK, "`/usr/local/dcmi` is not mounted: npu-smi will not work",
                                "docker run -v /usr/local/dcmi:/usr/local/dcmi …"))  # fmt: skip
    return Report(f"{kind}, {len(passed)} NPUs passed in", tuple(findings))


def _managers(host: Host) -> tuple[str, ...]:
    """A 310B is a part of its board: it has the first of these files only."""
    try:
        return MANAGERS[:1] if host.family() == "310B" else MANAGERS
    except Unknown:
        return MANAGERS
