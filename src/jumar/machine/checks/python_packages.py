"""Python packages that CANN's operator compiler imports (Ascend/cann-container-image, Ascend/pytorch issues)."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from jumar.machine import pairs
from jumar.machine.check import Check, Report, Skip, error
from jumar.machine.host import Host
from jumar.tables.load import table

CHECK = Check("DR502", "python-packages", "Python packages that CANN's operator compiler needs")


def run(host: Host) -> Report:
    toolkit = host.toolkit()
    if not host.exists(f"{toolkit.home}/python/site-packages/tbe"):
        raise Skip("this toolkit has no operator compiler in Python")
    python, rules = host.python(), table("machine.toml")["python"]
    old = pairs.compare(toolkit.version, rules["numpy_below_2_until_cann"]) == -1
    findings = []
    missing = [name for name in rules["packages"] if python.version_of(name) is None]
    if missing:
        wanted = " ".join("'numpy<2'" if name == "numpy" and old else name for name in missing)
        findings.append(
            error(CHECK, f"not installed: {', '.join(missing)}", f"{python.executable} -m pip install {wanted}")
        )
    numpy = python.version_of("numpy")
    if numpy and old and _major(numpy) >= 2:
        message = f"numpy {numpy}: the operator compiler of CANN {toolkit.version} needs numpy 1"
        findings.append(error(CHECK, message, f"{python.executable} -m pip install 'numpy<2'"))
    return Report(f"{len(rules['packages']) - len(missing)} of {len(rules['packages'])} installed", tuple(findings))


def _major(version: str) -> int:
    try:
        return Version(version).major
    except InvalidVersion:
        return 0
