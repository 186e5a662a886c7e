"""Does the driver carry this CANN? Both version files list the releases that they work with.

Rule: the release of CANN in the driver's `compatible_version`, or that of the driver in CANN's (inferred from the files
of drivers 24.1 to 25.5 and CANN 7.0 to 8.5; the installer compares other fields and only warns).
"""

from __future__ import annotations

from jumar.machine.check import Check, Report, warning
from jumar.machine.host import Host, Unknown
from jumar.machine.parse.layout import UnknownLayout
from jumar.machine.parse.version_info import release_of, releases

CHECK = Check("DR404", "driver-and-cann", "driver that supports this CANN")


def run(host: Host) -> Report:
    toolkit, driver = host.toolkit(), host.driver()
    inner = {"CANN": toolkit.facts.get("innerversion", ""), "the driver": driver.get("Innerversion", "")}
    if not any(inner.values()):
        return Report(f"CANN {toolkit.version} on driver {driver['Version']}; their files list no releases to compare")
    try:
        fits = _listed(inner["CANN"], driver) or _listed(inner["the driver"], toolkit.facts)
    except UnknownLayout as unknown:
        raise Unknown(str(unknown)) from None
    told = f"CANN {toolkit.version} on driver {driver['Version']}"
    if fits:
        return Report(told)
    message = f"neither driver {driver['Version']} nor CANN {toolkit.version} lists the other as one it works with"
    return Report(told, (warning(CHECK, message, "jumar plan   # which driver belongs to this CANN"),))


def _listed(inner: str, other: dict[str, str]) -> bool:
    return bool(inner) and release_of(inner) in releases(other.get("compatible_version", ""))
