"""The variables that `set_env.sh` sets: is it sourced in this shell, and do all of them mean the same toolkit?"""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.machine.check import Check, Report, error, warning
from jumar.machine.host import Host, Toolkit

CHECK = Check("DR403", "environment", "`set_env.sh` sourced, every variable right")
HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
FOLDERS = {"ASCEND_OPP_PATH": "opp", "ASCEND_AICPU_PATH": "", "TOOLCHAIN_HOME": "toolkit"}
"""Variables that name a folder of the toolkit; only `ASCEND_OPP_PATH` has to be set."""
LISTS = {"LD_LIBRARY_PATH": "lib64", "PYTHONPATH": "python/site-packages", "PATH": "bin"}
"""Variables that list folders, and the one of the toolkit that must be in each, if the toolkit has it."""


def run(host: Host) -> Report:
    toolkit = host.toolkit()
    source = f"source {_script(host, toolkit)}"
    facts = tuple(_facts(host, toolkit))
    if not any(host.environ.get(name) for name in HOMES):
        message = "the environment of CANN is not set in this shell: `ASCEND_HOME_PATH` is empty"
        return Report("not sourced", (error(CHECK, message, source),), facts)
    findings = [*_homes(host, toolkit, source), *_folders(host, toolkit, source), *_lists(host, toolkit, source)]
    findings += _driver_libraries(host)
    count = sum(bool(host.environ.get(name)) for name in (*HOMES, *FOLDERS, *LISTS))
    return Report(f"{count} variables for {toolkit.home}", tuple(findings), facts)


def _facts(host: Host, toolkit: Toolkit) -> Iterator[str]:
    """Each variable: what it is, what it should be."""
    for name, below in [*((name, "") for name in HOMES), *FOLDERS.items()]:
        wanted = f"{toolkit.home}/{below}".rstrip("/")
        yield f"{name}={host.environ.get(name, '')}   should be {wanted}"
    for name, below in LISTS.items():
        if host.exists(f"{toolkit.home}/{below}"):
            yield f"{name}={host.environ.get(name, '')}   should list {toolkit.home}/{below}"


def _script(host: Host, toolkit: Toolkit) -> str:
    root = toolkit.home.rpartition("/")[0]
    places = (f"{toolkit.home}/set_env.sh", f"{root}/set_env.sh", "/usr/local/Ascend/ascend-toolkit/set_env.sh")
    return next((place for place in places if host.exists(place)), places[0])


def _homes(host: Host, toolkit: Toolkit, source: str) -> list[Finding]:
    findings = []
    for name in HOMES:
        value = host.environ.get(name)
        if value and not _same(host, value, toolkit.home):
            findings.append(_wrong(name, value, toolkit.home, source))
    return findings


def _folders(host: Host, toolkit: Toolkit, source: str) -> list[Finding]:
    findings = []
    for name, below in FOLDERS.items():
        value, wanted = host.environ.get(name), f"{toolkit.home}/{below}".rstrip("/")
        if value and not _same(host, value, wanted):
            findings.append(_wrong(name, value, wanted, source))
        elif not value and name == "ASCEND_OPP_PATH":
            findings.append(error(CHECK, f"`{name}` is empty, should be `{wanted}`", source, name))
    return findings


def _lists(host: Host, toolkit: Toolkit, source: str) -> list[Finding]:
    findings = []
    for name, below in LISTS.items():
        wanted = f"{toolkit.home}/{below}"
        if not host.exists(wanted):
            continue
        entries = [entry for entry in host.environ.get(name, "").split(":") if entry]
        place = _resolved(host, wanted)
        known = _resolved_all(host, entries)
        if place in known:
            before = known[: known.index(place)]
            other = next((entry for entry in before if name != "PATH" and host.exists(f"{entry}/libascendcl.so")), None)
            if other:
                message = f"`{name}` lists `{other}` of another CANN before `{wanted}`"
                findings.append(error(CHECK, message, f"start a new shell, then {source}", name))
        else:
            level = error if name == "LD_LIBRARY_PATH" else warning
            findings.append(level(CHECK, f"`{name}` does not list `{wanted}`", source, name))
    return findings


def _driver_libraries(host: Host) -> list[Finding]:
    """The loader finds the driver's own libraries through ld.so.conf.d, or in containers through the variable."""
    folder = f"{host.driver_home()}/lib64/driver"
    if host.prefix or not host.exists(folder):
        return []
    configured = host.ask("sh", "-c", "cat /etc/ld.so.conf.d/*.conf 2>/dev/null").out.split()
    if folder in configured or folder in host.environ.get("LD_LIBRARY_PATH", "").split(":"):
        return []
    fix = f"export LD_LIBRARY_PATH={host.driver_home()}/lib64/common:{folder}:$LD_LIBRARY_PATH"
    return [warning(CHECK, f"the loader does not look in `{folder}`: `libascend_hal.so` will not be found", fix)]


def _wrong(name: str, value: str, wanted: str, source: str) -> Finding:
    return error(CHECK, f"`{name}` is `{value}`, should be `{wanted}`", source, name)


def _same(host: Host, one: str, other: str) -> bool:
    return one.rstrip("/") == other or _resolved(host, one) == _resolved(host, other)


def _resolved(host: Host, path: str) -> str:
    return _resolved_all(host, [path])[0]


def _resolved_all(host: Host, paths: list[str]) -> list[str]:
    """Without links; a path that does not exist stays as it is."""
    if not paths:
        return []
    lines = host.ask("readlink", "-m", "--", *paths).out.splitlines()
    return lines if len(lines) == len(paths) else [path.rstrip("/") for path in paths]
