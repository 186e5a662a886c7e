"""The facts that checks share, each asked once: where things are installed, what npu-smi says, what Python has."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from jumar.core.read import decoded
from jumar.machine.parse import npu_smi, pci, version_info
from jumar.machine.parse.layout import UnknownLayout
from jumar.machine.probe import LATE, MISSING, NOT_COLLECTED, TIMEOUT, UNREACHABLE, Probe, Ran
from jumar.machine.python_facts import SCRIPT
from jumar.runtime import variables
from jumar.tables import chips
from jumar.tables.load import table

Value = TypeVar("Value")
DRIVERS = ("/usr/local/Ascend/driver", "/usr/local/npu/driver")
TOOLKITS = ("cann", "ascend-toolkit/latest", "nnae/latest", "latest")


class Unknown(Exception):
    """A fact cannot be told; the text says why. A check that needs it is skipped."""


class Toolkit(NamedTuple):
    home: str
    version: str
    facts: dict[str, str]


class Python(NamedTuple):
    executable: str
    version: str
    facts: dict[str, Any]

    @property
    def packages(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = self.facts["packages"]
        return found

    def version_of(self, name: str) -> str | None:
        return self.packages[name]["version"] if name in self.packages else None


class Host:
    """A machine through a probe, with a memory: checks run side by side and ask for the same things."""

    def __init__(self, probe: Probe, python: str | None = None, patience: float = TIMEOUT) -> None:
        self.probe = probe
        self.environ = probe.environ
        self.patience = patience
        self._python = python
        self._memory: dict[str, _Once] = {}
        self._lock = threading.Lock()

    def once(self, key: str, make: Callable[[], Value]) -> Value:
        """The value of `make`, made by the first that asks; the others wait for it, also for its exception."""
        with self._lock:
            first = key not in self._memory
            kept = self._memory.setdefault(key, _Once())
        if first:
            kept.fill(make)
        result: Value = kept.get()
        return result

    @property
    def prefix(self) -> str | None:
        """The folder of the emulated machine, if this is one."""
        return self.once("prefix", self._prefix)

    def place(self, path: str) -> str:
        """Where a path of a real machine is: below the prefix on the emulated one."""
        return f"{self.prefix or ''}{path}"

    def ask(self, *command: str) -> Ran:
        """Run a command; it may take as long as the host's patience lasts."""
        return self.once("run " + "\0".join(command), lambda: self.probe.run(command, self.patience))

    def file(self, path: str, *needed: str) -> dict[str, str]:
        """The `name=value` lines of a vendor's file; raises `Unknown` when it is missing or half written."""
        read = self.probe.read(path)
        if read.text is None:
            raise Unknown(f"`{path}`: {read.problem}")
        try:
            return version_info.values(read.text, *needed)
        except UnknownLayout as unknown:
            raise Unknown(f"`{path}`: {unknown}") from None

    def exists(self, path: str) -> bool:
        return bool(self.probe.paths(path))

    def smi(self) -> npu_smi.Info:
        """`npu-smi info`; raises `Unknown` when it does not work (the check `npu-smi` says more)."""
        return self.once("smi", self._smi)

    def pci(self) -> dict[str, str]:
        """The vendor's accelerators on the PCI bus: device id by bus address."""
        return self.once("pci", self._pci)

    def device_files(self) -> list[str]:
        """`/dev/davinci0` and so on."""
        return self.once("dev", lambda: self.probe.paths(self.place("/dev/davinci[0-9]*")))

    def has_npus(self) -> bool:
        """Is there any sign of an NPU: on the bus, in /dev, or in what npu-smi says?"""
        if self.prefix or self.pci() or self.device_files():
            return True
        try:
            return bool(self.smi().chips)
        except Unknown:
            return False

    def family(self) -> str:
        """A2, A3, 310P …; a `910B` without a digit is a first-generation 910, a plain `Ascend910` an A3."""
        names = {chip.name for chip in self.smi().chips}
        found = {_family(name) for name in names}
        if len(found) != 1 or None in found:
            raise Unknown(f"npu-smi names chips that are not known: {', '.join(sorted(names)) or 'none'}")
        return str(found.pop())

    def install_info(self) -> dict[str, str]:
        return self.once("install", lambda: self.file(self.place("/etc/ascend_install.info")))

    def driver_home(self) -> str:
        return self.once("driver home", self._driver_home)

    def driver(self) -> dict[str, str]:
        return self.once("driver", lambda: self.file(f"{self.driver_home()}/version.info", "Version"))

    def firmware(self) -> dict[str, str]:
        return self.once("firmware", lambda: self.file(self.firmware_file(), "Version"))

    def firmware_file(self) -> str:
        return f"{os.path.dirname(self.driver_home())}/firmware/version.info"

    def homes(self) -> list[str]:
        """Toolkits by folder: those that variables name first, then the usual places."""
        return self.once("homes", self._homes)

    def toolkit(self) -> Toolkit:
        """The toolkit that programs use: the one of the environment, else the first that is installed."""
        return self.once("toolkit", self._toolkit)

    def python(self) -> Python:
        """The `python3` that programs are started with, and what is installed in it."""
        return self.once("python", self._python_facts)

    def in_container(self) -> str | None:
        """The kind of container this is, or None."""
        return self.once("container", self._in_container)

    def _prefix(self) -> str | None:
        folder = variables.PREFIX.read(self.environ)
        wanted = variables.EMULATE.text(self.environ) not in ("", "0")
        return folder if wanted and folder and self.exists(f"{folder}/etc/jumar") else None

    def _smi(self) -> npu_smi.Info:
        ran = self.ask("npu-smi", "info")
        if ran.problem == MISSING:
            raise Unknown("`npu-smi` is not installed")
        if ran.problem == LATE:
            raise Unknown("`npu-smi info` does not answer")
        if ran.problem:
            raise Unknown(f"`npu-smi info`: {ran.problem}")
        try:
            return npu_smi.info(ran.said)
        except (npu_smi.SmiFailed, UnknownLayout) as failed:
            raise Unknown(f"`npu-smi info` failed: {failed}") from None

    def _pci(self) -> dict[str, str]:
        folder = shlex.quote(self.place("/sys/bus/pci/devices"))
        ran = self.ask("sh", "-c", f'grep -s "" {folder}/*/vendor {folder}/*/device {folder}/*/class')
        if ran.problem in (NOT_COLLECTED, UNREACHABLE):
            raise Unknown(f"the PCI bus: {ran.problem}")
        found = pci.from_sysfs(ran.out)
        if self.prefix:
            # As in npu-smi of the emulated machine, the variable wins over what the folder was written for.
            cards = variables.CARDS.text(self.environ)
            return dict(list(found.items())[: int(cards) if cards.isdecimal() else None])
        return found or pci.from_lspci(self.ask("lspci", "-n", "-d", f"{pci.VENDOR}:").out)

    def _driver_home(self) -> str:
        try:
            told = self.install_info().get("Driver_Install_Path_Param")
        except Unknown:
            told = None
        places = [
            *([f"{told.rstrip('/')}/driver"] if told else []),
            *([f"{self.prefix}/driver"] if self.prefix else DRIVERS),
        ]
        found: str = next((place for place in places if self.exists(f"{place}/version.info")), places[0])
        return found

    def _homes(self) -> list[str]:
        named = [self.environ.get(name, "") for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")]
        user = self.environ.get("HOME", "")
        roots = [self.prefix] if self.prefix else ["/usr/local/Ascend", *([f"{user}/Ascend"] if user else [])]
        usual = [f"{root}/{place}" for root in roots for place in TOOLKITS]
        found = [place.rstrip("/") for place in [*named, *usual] if place]
        return [place for place in dict.fromkeys(found) if self.probe.paths(f"{place}/*/ascend_toolkit_install.info")
                or self.probe.paths(f"{place}/compiler/version.info")]  # fmt: skip

    def _toolkit(self) -> Toolkit:
        homes = self.homes()
        if not homes:
            raise Unknown("no CANN toolkit found")
        files = self.probe.paths(f"{homes[0]}/*/ascend_toolkit_install.info")
        if files:
            # A toolkit can carry the files of another architecture too, to build for it.
            own = self.ask("uname", "-m").out.strip()
            names = (f"/{own}-linux/", "/arm64-linux/" if own == "aarch64" else "")
            files.sort(key=lambda path: not any(name and name in path for name in names))
            facts = self.file(files[0], "version")
            return Toolkit(homes[0], facts["version"], facts)
        facts = self.file(f"{homes[0]}/compiler/version.info", "Version")
        return Toolkit(homes[0], facts.get("version_dir", facts["Version"]), facts)

    def _python_facts(self) -> Python:
        for name in [self._python] if self._python else ["python3", "python"]:
            ran = self.ask(name, "-c", SCRIPT)
            if ran.problem in (MISSING, LATE) or not ran.out.strip():
                continue
            try:
                facts = decoded(ran.out.strip().splitlines()[-1])
                return Python(facts["executable"], facts["version"], facts)
            except (ValueError, KeyError, TypeError):
                continue
        raise Unknown(f"`{self._python or 'python3'}` does not run")

    def _in_container(self) -> str | None:
        for path, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
            if self.exists(path):
                return kind
        groups = self.probe.read("/proc/1/cgroup").text or ""
        return next((kind for kind in ("kubepods", "docker", "containerd", "lxc") if kind in groups), None)


class _Once:
    """One value, made by one thread and waited for by others."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._value: Any = None
        self._error: Exception | None = None

    def fill(self, make: Callable[[], Any]) -> None:
        try:
            self._value = make()
        except Exception as error:
            self._error = error
        finally:
            self._ready.set()

    def get(self) -> Any:
        self._ready.wait()
        if self._error is not None:
            raise self._error
        return self._value


def _family(name: str) -> str | None:
    if name in ("Ascend910", "910_93"):
        return "A3"
    chip = chips.find(name)
    if chip is not None:
        return chips.chips()[chip]
    plain = name.removeprefix("Ascend").strip()
    return next((family for family in ("950", "310P", "310B") if plain.startswith(family)), None)


def operators(family: str) -> dict[str, str] | None:
    """The operator package of a family."""
    found: dict[str, str] | None = table("machine.toml")["operators"].get(family)
    return found
