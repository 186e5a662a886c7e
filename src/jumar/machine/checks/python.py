"""The Python that programs are started with."""

from __future__ import annotations

from jumar.core.finding import Finding
from jumar.machine import pairs
from jumar.machine.check import Check, Report, error, note, warning
from jumar.machine.host import Host, Python, Unknown
from jumar.machine.pairs import Fit
from jumar.tables import tested

CHECK = Check("DR501", "python", "Python version and build")
OLDEST = (3, 7)


def run(host: Host) -> Report:
    try:
        python = host.python()
    except Unknown as unknown:
        return Report("unknown", (error(CHECK, str(unknown), "jumar doctor --python /path/to/python3"),))
    short = ".".join(python.version.split(".")[:2])
    findings = []
    if tuple(map(int, short.split("."))) < OLDEST:
        findings.append(
            error(
                CHECK,
                f"Python {python.version} is too old: CANN needs 3.7 or newer",
                "jumar plan   # the Python that fits",
            )
        )
    for answer in _answers(python):
        if answer.fit is Fit.DOES_NOT:
            findings.append(warning(CHECK, answer.why, "jumar plan   # the Python that fits"))
    if not python.facts.get("shared", True) and _compiles(host):
        message = f"`{python.executable}` has no shared libpython: CANN's operator compiler may not start"
        findings.append(note(CHECK, message, "build Python with --enable-shared, or use the distribution's or conda's"))
    return Report(f"{python.version} ({python.executable})", tuple(findings), unknown=_unknown(host, python))


def _unknown(host: Host, python: Python) -> tuple[Finding, ...]:
    """A Python that nobody is known to use with this CANN."""
    try:
        cann = host.toolkit().version
    except Unknown:
        return ()
    answer = pairs.python_and_cann(python.version, cann)
    if answer.fit is not Fit.UNKNOWN or (host.prefix and cann == tested.pair().cann):
        return ()
    return (warning(CHECK, answer.why, "jumar plan   # the Python that fits"),)


def _answers(python: Python) -> list[pairs.Answer]:
    """Releases that are not in the tables are left to the checks of the frameworks."""
    named = (("torch_npu", "torch-npu", pairs.torch_npu), ("MindSpore", "mindspore", pairs.mindspore))
    return [
        pairs.python_and_framework(python.version, name, version, rows(version))
        for name, package, rows in named
        if (version := python.version_of(package))
    ]


def _compiles(host: Host) -> bool:
    try:
        return host.exists(f"{host.toolkit().home}/python/site-packages/tbe")
    except Unknown:
        return False
