"""Does the driver carry this CANN? Both version files list the releases that they work with; else the tables tell.

Rule: the release of CANN in the driver's `compatible_version`, or that of the driver in CANN's (inferred from the files
of drivers 24.1 to 25.5 and CANN 7.0 to 8.5; the installer compares other fields and only warns). Where the files list
nothing to compare, the pairs of driver kits and CANN releases decide.
"""

from __future__ import annotations

from jumar.machine import pairs
from jumar.machine.check import Check, Report, error, warning
from jumar.machine.host import Host, Toolkit, Unknown
from jumar.machine.pairs import Answer, Fit
from jumar.machine.parse.layout import UnknownLayout
from jumar.machine.parse.version_info import release_of, releases
from jumar.tables import tested
from jumar.tables.load import table

CHECK = Check("DR404", "driver-and-cann", "driver that supports this CANN")
FIX = "jumar plan   # which driver belongs to this CANN"


def run(host: Host) -> Report:
    toolkit, driver = host.toolkit(), host.driver()
    version = driver["Version"]
    told = f"CANN {toolkit.version} on driver {version}"
    listed = _by_files(toolkit, driver)
    if listed:
        return Report(told)
    answer = _by_tables(host, version, toolkit.version)
    if answer.fit is Fit.DOES_NOT:
        message = f"driver {version} does not run CANN {toolkit.version}: {answer.why}"
        return Report(told, (error(CHECK, message, FIX),))
    if listed is False:
        message = f"neither driver {version} nor CANN {toolkit.version} lists the other as one it works with"
        return Report(told, (warning(CHECK, message, FIX),))
    if answer.fit is Fit.FITS or (host.prefix and (version, toolkit.version) == _emulated()):
        return Report(told)
    message = f"it is not known whether driver {version} runs CANN {toolkit.version}: {answer.why}"
    return Report(told, unknown=(warning(CHECK, message, FIX),))


def _emulated() -> tuple[str, str]:
    """The driver and CANN that the emulated machine plays; it is built for the pair."""
    return table("npu_smi.json")["driver"]["version"], tested.pair().cann


def _by_files(toolkit: Toolkit, driver: dict[str, str]) -> bool | None:
    """Does one list the other? None where there is nothing to compare."""
    sides = ((toolkit.facts.get("innerversion", ""), driver), (driver.get("Innerversion", ""), toolkit.facts))
    try:
        lists = [(release_of(inner), releases(other.get("compatible_version", ""))) for inner, other in sides if inner]
    except UnknownLayout as unknown:
        raise Unknown(str(unknown)) from None
    found = [release in names for release, names in lists if names]
    return any(found) if found else None


def _by_tables(host: Host, driver: str, cann: str) -> Answer:
    try:
        family = host.family()
    except Unknown:
        family = ""
    return pairs.driver_and_cann(driver, cann, family)
