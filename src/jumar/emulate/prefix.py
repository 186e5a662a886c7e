"""The virtual CANN directory: what `/usr/local/Ascend` holds on a machine, as a value and on disk.

Layout and files: CANN 8.1.RC1 and 8.5.0, drivers 24.1 to 25.3 as seen in public repositories (2026-11-15); the home
moved from `ascend-toolkit/<version>` to `cann-<version>` at 8.5.0.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import zlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from jumar import __version__
from jumar.core.errors import UserError, cannot
from jumar.emulate import env, hccn_tool
from jumar.emulate.smi import machine
from jumar.runtime import sealed, variables
from jumar.runtime.compiled import cache_dir
from jumar.runtime.sealed import CACHE_NOTE
from jumar.tables import chips, tested
from jumar.tables.load import table

MARK = "etc/jumar"
"""A file that says the folder is ours."""
COMPONENTS = ("compiler", "hccl", "opp", "opp_kernel", "runtime", "toolkit")
LAYOUT = "6"
"""Goes up when the directory gets other files, so that one in the cache is written anew."""
KERNELS = "opp/built-in/op_impl/ai_core/tbe/kernel/config"
CONFIG = "opp/built-in/op_impl/ai_core/tbe/config"
PYTHON = "opp/built-in/op_impl/ai_core/tbe"
"""Where MindSpore wants PYTHONPATH to lead; it asks the `hccl` there for its version."""
TOOLS = {
    "npu-smi": ("tool.sh", ("bin/npu-smi",)),
    "hccn_tool": ("tool.sh", ("bin/hccn_tool", "driver/tools/hccn_tool")),
    "atc": ("program.sh", ("bin/atc",)),
}
"""Programs with their script, `program.sh` for those that need packages, and places; jumar/vendor.py starts them."""
MANAGERS = ("davinci_manager", "devmm_svm", "hisi_hdc")
_RENAMED = (8, 5)
_BRIDGE = "tools/ms_fmk_transplt/torch_npu_bridge/transfer_to_npu.py"


class PrefixFile(NamedTuple):
    """A file with its text, or a link to another path."""

    text: str = ""
    link: str = ""
    executable: bool = False


def build(prefix: Path, values: Mapping[str, str]) -> dict[str, PrefixFile]:
    """Every file of the directory by its path below `prefix`, for the machine that `values` describe."""
    version = variables.CANN.read(values) or tested.pair().cann
    home = f"cann-{version}" if _is_new(version) else f"ascend-toolkit/{version}"
    return {
        MARK: PrefixFile(_mark(prefix, values)),
        **_links(home, version),
        **_home(prefix, home, version, values),
        **_driver(prefix),
        **_devices(values),
        **_tools(prefix, values),
        "etc/hccn.conf": PrefixFile(hccn_tool.default_conf(variables.CARDS.read(values))),
    }


def default_place(values: Mapping[str, str]) -> Path:
    """Where `jumar run` and `jumar emulate env` keep the directory of a machine."""
    memory, version = variables.MEMORY.text(values) or "own", variables.CANN.read(values)
    # Two installations would take the libraries from each other's running programs.
    own = f"{zlib.crc32(_installation().encode()):08x}"
    key = "-".join(filter(None, [variables.SOC.read(values), variables.CARDS.text(values), memory, version, own]))
    return Path(os.path.abspath(cache_dir())) / "prefix" / key


def environment(prefix: Path, values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """What its `set_env.sh` sets, for a process that is started from here."""
    home, tools = f"{prefix}/ascend-toolkit/latest", f"{prefix}/bin"
    found = [path for path in environ.get("PATH", os.defpath).split(":") if path != tools]
    own = os.path.dirname(sys.executable)
    first = next((path for path in found if os.access(f"{path}/python", os.X_OK)), "")
    paths = [tools, *([own] if first != own else []), *found]  # plain `python` must be the one with torch_npu
    return {
        **values,
        variables.PREFIX.name: str(prefix),
        "ASCEND_HOME_PATH": home,
        "ASCEND_TOOLKIT_HOME": home,
        "ASCEND_OPP_PATH": f"{home}/opp",
        "ASCEND_AICPU_PATH": home,
        "TOOLCHAIN_HOME": f"{home}/toolkit",
        "PATH": ":".join(paths),
    }


def prepare(values: Mapping[str, str]) -> None:
    """Write the directory at its default place, unless it is there and current."""
    place = default_place(values)
    sealed.folder(place.parent, cache_dir())
    try:
        current = (place / MARK).read_text(encoding="utf-8")
    except OSError:
        current = ""
    if current != _mark(place, values):
        write(place, build(place, values), CACHE_NOTE)


def write(prefix: Path, entries: Mapping[str, PrefixFile], note: str | None = None) -> None:
    """Write the directory; a new one appears only when complete, an existing one of ours is updated."""
    prefix = Path(os.path.abspath(prefix))
    if prefix.exists() and not (prefix / MARK).exists() and (not prefix.is_dir() or any(prefix.iterdir())):
        raise UserError(f"`{prefix}` exists and was not written by Jumar", "name a new folder")
    scratch = None
    try:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{prefix.name}.", dir=prefix.parent))
        for name, entry in entries.items():
            _write_entry(scratch / name, entry)
        os.chmod(scratch, 0o755)
        _put(scratch, prefix)
    except OSError as error:
        raise cannot(f"write `{prefix}`", error, note) from error
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _mark(prefix: Path, values: Mapping[str, str]) -> str:
    facts = (variables.SOC, variables.CARDS, variables.MEMORY, variables.CANN)
    parts = [*(row.text(values) for row in facts), LAYOUT, __version__, _installation(), str(prefix)]
    return "\n".join(parts) + "\n"


def _installation() -> str:
    return f"{sys.executable}\n{Path(__file__).parents[2]}"


def _put(scratch: Path, prefix: Path) -> None:
    if not prefix.exists():
        try:
            os.rename(scratch, prefix)
            return
        except OSError:
            if not (prefix / MARK).exists():  # another process may have written the same one
                raise
    for path in sorted(scratch.rglob("*")):
        target = prefix / path.relative_to(scratch)
        if path.is_dir() and not path.is_symlink():
            target.mkdir(parents=True, exist_ok=True)
        elif not (target.exists() and target.name == "hccn.conf"):  # addresses that somebody set stay
            os.replace(path, target)


def _write_entry(path: Path, entry: PrefixFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.link:
        path.symlink_to(entry.link)
        return
    path.write_text(entry.text, encoding="utf-8")
    path.chmod(0o755 if entry.executable else 0o644)


def _links(home: str, version: str) -> dict[str, PrefixFile]:
    if _is_new(version):
        links = {"cann": home, "ascend-toolkit/latest": "../cann"}
    else:
        links = {"ascend-toolkit/latest": version}
    return {name: PrefixFile(link=target) for name, target in links.items()}


def _home(prefix: Path, home: str, version: str, values: Mapping[str, str]) -> dict[str, PrefixFile]:
    arch = platform.machine()
    info = (
        f"package_name=Ascend-cann-toolkit\nversion={version}\narch={arch}\nos=linux\n"
        f"path={prefix}/{home}/{arch}-linux\n"
    )
    latest = f"{prefix}/ascend-toolkit/latest"
    set_env = PrefixFile(_render("set_env.sh", prefix, values, home=latest))
    found = {
        f"{home}/set_env.sh": set_env,
        "ascend-toolkit/set_env.sh": set_env,
        f"{home}/lib64": PrefixFile(link=str(env.library_dir())),
        **_for_compilers(home, arch),
        f"{home}/{arch}-linux/ascend_toolkit_install.info": PrefixFile(info),
        f"{home}/{arch}-linux/ascend_ops_install.info": PrefixFile(
            info.replace("toolkit", _operators(values, "package"), 1)
        ),
        f"{home}/version.cfg": PrefixFile(f"# version: 1.0\nruntime_running_version=[{version}:{version}]\n"),
        f"{home}/tools/ms_fmk_transplt/pytorch_gpu2npu.sh": PrefixFile(
            _render("pytorch_gpu2npu.sh", prefix, values), executable=True
        ),
        f"{home}/{_BRIDGE}": PrefixFile("from torch_npu.contrib import transfer_to_npu  # noqa: F401\n"),
    }
    # No `te` beside it: where there is one, MindSpore takes it for the operator compiler.
    found[f"{home}/{PYTHON}/hccl/__init__.py"] = PrefixFile()
    found[f"{home}/{PYTHON}/hccl/sys_version.py"] = PrefixFile(f'__sys_version__ = "{version}"\n')
    if kernels := _operators(values, "kernels"):
        found[f"{home}/{KERNELS}/{kernels}/binary_info_config.json"] = PrefixFile("{}\n")
        # Which types and formats the vendor's operators take: MindSpore looks here for an operator of one's own that
        # comes without `reg_info`, and says that it is missing.
        found[f"{home}/{CONFIG}/{kernels}/aic-{kernels}-ops-info.json"] = PrefixFile("{}\n")
    # The guides are written for Arm servers: their paths lead to the same files.
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}.get(arch)
    if other:
        found[f"{home}/{other}-linux"] = PrefixFile(link=f"{arch}-linux")
    for part in COMPONENTS:
        found[f"{home}/{part}/version.info"] = PrefixFile(f"Version={version}\nversion_dir={version}\n")
    return found


def _for_compilers(home: str, arch: str) -> dict[str, PrefixFile]:
    """Headers and libraries at the places that build files of C and C++ programs name, old ones too."""
    links = {
        "include": str(env.include_dir()),
        f"{arch}-linux/include": "../include",
        f"{arch}-linux/lib64": "../lib64",
        f"{arch}-linux/devlib": "../lib64",
        "devlib": "lib64",
        "runtime/include": "../include",
        "runtime/lib64/stub": "../../lib64",
    }
    return {f"{home}/{name}": PrefixFile(link=target) for name, target in links.items()}


def _operators(values: Mapping[str, str], kind: str) -> str:
    """The word for the chip's operator package in its name (`package`), or the folder of its binaries (`kernels`)."""
    row = table("machine.toml")["operators"].get(_family(values), {})
    if kind == "kernels":
        return str(row.get("kernels", ""))
    return f"{row['package']}-ops" if row else "ops"


def _family(values: Mapping[str, str]) -> str:
    return chips.chips().get(chips.find(variables.SOC.read(values)) or "", "")


def _devices(values: Mapping[str, str]) -> dict[str, PrefixFile]:
    """Device files, and the cards on the PCI bus as sysfs shows them."""
    cards = machine.read(values).chips
    found = {f"dev/{name}": PrefixFile() for name in (*(f"davinci{chip.card}" for chip in cards), *MANAGERS)}
    device = next((id_ for id_, family in table("machine.toml")["pci"].items() if family == _family(values)), "0000")
    facts = {"vendor": "0x19e5", "device": f"0x{device}", "class": "0x120000"}
    for chip in cards:
        if chip.bus != "NA":
            folder = f"sys/bus/pci/devices/{chip.bus.lower()}"
            found |= {f"{folder}/{name}": PrefixFile(f"{value}\n") for name, value in facts.items()}
    return found


def _driver(prefix: Path) -> dict[str, PrefixFile]:
    driver = table("npu_smi.json")["driver"]
    # The range of firmware is the one in the file of driver 25.5.2, the newest seen in public.
    version = f"Version={driver['version']}\ncompatible_version_fw=[7.0.0,8.9.9]\npackage_version={driver['version']}\n"
    install = (
        "UserName=HwHiAiUser\nUserGroup=HwHiAiUser\nFirmware_Install_Type=full\n"
        f"Firmware_Install_Path_Param={prefix}\nDriver_Install_Type=full\nDriver_Install_Path_Param={prefix}\n"
        "Driver_Install_For_All=yes\nDriver_Install_Mode=normal\nDriver_Install_Status=complete\n"
    )
    return {
        "driver/version.info": PrefixFile(version),
        "firmware/version.info": PrefixFile(f"Version={driver['firmware']}\npackage_version={driver['version']}\n"),
        "etc/ascend_install.info": PrefixFile(install),
    }


def _tools(prefix: Path, values: Mapping[str, str]) -> dict[str, PrefixFile]:
    return {
        place: PrefixFile(_render(template, prefix, values, tool=tool), executable=True)
        for tool, (template, places) in TOOLS.items()
        for place in places
    }


def _render(name: str, prefix: Path, values: Mapping[str, str], **more: str) -> str:
    memory = variables.MEMORY.text(values)
    text = files("jumar.emulate").joinpath("templates", name).read_text(encoding="utf-8")
    filled = Template(text).substitute(
        prefix=prefix,
        soc=variables.SOC.read(values),
        cards=variables.CARDS.text(values),
        memory_line=f'export JUMAR_MEMORY="${{JUMAR_MEMORY:-{memory}}}"' if memory else "",
        python=sys.executable,
        packages=Path(__file__).parents[2],
        **more,
    )
    return filled.replace("\n\n", "\n")


def _is_new(version: str) -> bool:
    numbers = version.split(".")
    return tuple(int(part) if part.isdecimal() else 0 for part in numbers[:2]) >= _RENAMED
