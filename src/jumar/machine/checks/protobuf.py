"""protobuf: generated files of older CANN stop with `Descriptors cannot be created directly` on 4 and newer."""

from __future__ import annotations

from jumar.machine import pairs
from jumar.machine.check import Check, Report, Skip, warning
from jumar.machine.host import Host
from jumar.tables.load import table

CHECK = Check("DR506", "protobuf", "protobuf that works with CANN")


def run(host: Host) -> Report:
    python = host.python()
    version = python.version_of("protobuf")
    if version is None:
        raise Skip("protobuf is not installed")
    toolkit = host.toolkit()
    first = table("machine.toml")["python"]["protobuf_below_4_until_cann"]
    major = version.partition(".")[0]
    if pairs.compare(toolkit.version, first) != -1 or not major.isdecimal() or int(major) < 4:
        return Report(version)
    message = f"protobuf {version}: CANN {toolkit.version} has files generated for 3.20"
    return Report(version, (warning(CHECK, message, f"{python.executable} -m pip install 'protobuf==3.20.*'"),))
