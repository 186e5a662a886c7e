"""A recorded server that is not emulated: what only a real one can have wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from virtual_machine import CANN, NPU, TORCH, Snapshot, red

from jumar.machine.check import Status
from jumar.machine.host import Host
from jumar.machine.probe.recorded import Recorded

Facts = dict[str, Any]
DENIED = "this user may not open /dev/davinci0"


@pytest.fixture
def server(tmp_path: Path) -> Snapshot:
    return Snapshot(tmp_path)


def test_server_is_all_green(server: Snapshot) -> None:
    """Its CANN is newer than any public table of pairs: that is said, and nothing else."""
    found = server.doctor()
    said = {name: outcome.status for name, outcome in found.items() if outcome.findings}
    assert said == {"driver-and-cann": Status.UNKNOWN, "torch-pair": Status.UNKNOWN}
    assert found["devices"].told == "2 x A2"
    assert found["container"].told == "not in a container"


def _closed(server: Snapshot) -> None:
    (key,) = [key for key in server.kept["runs"] if "davinci_manager" in key]
    server.kept["runs"][key][1] = "/dev/davinci0\n/dev/davinci1\n"
    server.run("id", "uid=1001(alice) gid=1001(alice) groups=1001(alice)")


def _few_files(server: Snapshot) -> None:
    server.file("/proc/self/limits", "Max processes unlimited unlimited processes\nMax open files 1024 4096 files\n")


def _small_shm(server: Snapshot) -> None:
    server.run("df -Pk /dev/shm", "Filesystem 1024-blocks Used Available\nshm 65536 0 65536 0% /dev/shm\n")


def _full_shm(server: Snapshot) -> None:
    server.run("df -Pk /dev/shm", "Filesystem 1024-blocks Used Available\nshm 65536000 65535000 1000 99% /dev/shm\n")


def _huge_pages(server: Snapshot) -> None:
    server.file(
        "/proc/meminfo", "MemTotal: 104857600 kB\nHugePages_Total: 40960\nHugePages_Free: 1\nHugepagesize: 2048 kB\n"
    )


def _not_loaded(server: Snapshot) -> None:
    server.paths("/dev/davinci_manager")


def _old_glibc(server: Snapshot) -> None:
    server.run("getconf GNU_LIBC_VERSION", "glibc 2.17\n")


def _odd_architecture(server: Snapshot) -> None:
    server.run("uname -srm", "Linux 6.1.0 riscv64\n")


def _driver_window(server: Snapshot) -> None:
    server.change(
        "files", "driver/version.info", "Version=26.1.0\n", "Version=26.1.0\nInnerversion=V100R001C15SPC006B220\n"
    )
    server.change(
        "files", "toolkit_install.info", f"version={CANN}\n", f"version={CANN}\ninnerversion=V100R001C12B100\n"
    )
    server.change("files", "driver/version.info", "compat", "compatible_version=[V100R001C13],[V100R001C15]\ncompat")


def _driver_libraries(server: Snapshot) -> None:
    server.paths("/usr/local/Ascend/driver/lib64/driver", "/usr/local/Ascend/driver/lib64/driver")


def _driver_not_upgraded(server: Snapshot) -> None:
    line = "[Driver] [2026-01-01 10:00:00] [ERROR]ERR_NO:0x0080;ERR_DES:no space left\n"
    server.file("/var/log/ascend_seclog/ascend_install.log", line)


def _smi_off_path(server: Snapshot) -> None:
    server.run("npu-smi info", "", 127, "missing")
    server.paths("/usr/local/sbin/npu-smi", "/usr/local/sbin/npu-smi")


def _no_toolkit(server: Snapshot) -> None:
    for key in [key for key in server.kept["paths"] if "ascend_toolkit_install" in key or "compiler" in key]:
        server.paths(key)


def _no_bus(server: Snapshot) -> None:
    server.run("npu-smi info", "", 127, "missing")
    server.paths("/dev/davinci[0-9]*")
    (key,) = [key for key in server.kept["runs"] if "/sys/bus/pci" in key]
    server.kept["runs"][key][1] = ""


DAMAGES: dict[Callable[[Snapshot], None], tuple[str, str]] = {
    _closed: ("permissions", DENIED),
    _few_files: ("limits", "1024 open files allowed; many ranks need 65535"),
    _small_shm: ("shared-memory", "`/dev/shm` has 64 MB"),
    _full_shm: ("shared-memory", "`/dev/shm` is full"),
    _huge_pages: ("huge-pages", "huge pages hold 80% of the memory"),
    _not_loaded: ("driver", "installed but not loaded"),
    _old_glibc: ("system", f"glibc 2.17 is too old for torch_npu {NPU}"),
    _odd_architecture: ("system", "no packages for `riscv64`"),
    _driver_window: ("driver-and-cann", f"neither driver 26.1.0 nor CANN {CANN} lists the other"),
    _driver_libraries: ("environment", "`libascend_hal.so` will not be found"),
    _driver_not_upgraded: ("driver", "the last installation of a driver failed (2026-01-01 10:00:00): ERR_NO:0x0080"),
    _smi_off_path: ("npu-smi", "not on PATH"),
    _no_toolkit: ("toolkit", "no CANN toolkit found"),
    _no_bus: ("devices", "driver 26.1.0 is installed, but there is no NPU on the PCI bus"),
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.strip("_"))
def test_damage_turns_the_right_check_red(damage: Callable[[Snapshot], None], server: Snapshot) -> None:
    name, text = DAMAGES[damage]
    damage(server)
    found = server.doctor()
    assert red(found) == [name]
    assert text in found[name].findings[0].message
    assert found[name].findings[0].fix or name == "system"


def test_member_of_the_group_gets_another_fix(server: Snapshot) -> None:
    _closed(server)
    assert "usermod -aG HwHiAiUser" in str(server.doctor("permissions")["permissions"].findings[0].fix)
    server.run("id", "uid=1001(alice) gid=1001(alice) groups=1001(alice),1000(HwHiAiUser)")
    assert "chgrp HwHiAiUser" in str(server.doctor("permissions")["permissions"].findings[0].fix)


def container(server: Snapshot) -> None:
    server.paths("/.dockerenv", "/.dockerenv")
    server.paths("/usr/local/Ascend/driver/lib64", "/usr/local/Ascend/driver/lib64")
    server.paths("/usr/local/dcmi", "/usr/local/dcmi")


def test_good_container(server: Snapshot) -> None:
    container(server)
    found = server.doctor()
    assert red(found) == []
    assert found["container"].told == "docker, 2 NPUs passed in"


def test_container_without_devices(server: Snapshot) -> None:
    container(server)
    server.paths("/dev/davinci[0-9]*")
    server.run("npu-smi info", "", 127, "missing")
    found = server.doctor("container")
    assert "the host has 2 NPUs; none is passed" in found["container"].findings[0].message
    assert "--device /dev/davinci0 --device /dev/davinci_manager" in str(found["container"].findings[0].fix)


def test_container_without_a_manager_or_the_driver(server: Snapshot) -> None:
    container(server)
    server.paths("/dev/devmm_svm")
    server.paths("/usr/local/Ascend/driver/lib64")
    messages = [item.message for item in server.doctor("container")["container"].findings]
    assert messages == ["not passed to this container: /dev/devmm_svm", "the host's driver is not mounted"]


def test_old_cann_and_its_python(tmp_path: Path) -> None:
    server = Snapshot(tmp_path, JUMAR_CANN="8.1.RC1")
    assert red(server.doctor()) == ["torch-pair"]
    (key,) = [key for key in server.kept["runs"] if "find_spec" in key]
    facts = json.loads(server.kept["runs"][key][1])
    facts["packages"] |= {
        "torch": {"version": "2.5.1"},
        "torch-npu": {"version": "2.5.1.post3"},
        "protobuf": {"version": "5.29.0"},
    }
    server.kept["runs"][key][1] = json.dumps(facts)
    assert server.doctor("torch-pair")["torch-pair"].status is not Status.ERROR
    found = server.doctor("protobuf")["protobuf"].findings[0]
    assert found.message == "protobuf 5.29.0: CANN 8.1.RC1 has files generated for 3.20"
    server.paths("/usr/local/Ascend/ascend-toolkit/latest/python/site-packages/tbe", "tbe")
    messages = [item.message for item in server.doctor("python-packages")["python-packages"].findings]
    assert messages[-1] == "numpy 2.4.6: the operator compiler of CANN 8.1.RC1 needs numpy 1"


def test_alarm_of_a_board_is_a_note(tmp_path: Path) -> None:
    server = Snapshot(tmp_path, soc="310B4")
    server.change("runs", '["npu-smi", "info"]', "| OK    ", "| Alarm ")
    for npu in range(2):
        server.run(
            f"npu-smi info -t health -i {npu} -c 0",
            "NPU ID : 0\nHealth Status : Alarm\nError Code : 80E3A203\nChip ID : 0\n",
        )
    found = server.doctor("health")["health"]
    assert found.status is Status.NOTE
    assert "common on this board" in found.findings[0].message


def test_ports_of_a_950(tmp_path: Path) -> None:
    server = Snapshot(tmp_path, soc="950PR_9599")
    text = (Path(__file__).parent / "samples" / "hccn_tool_950_dev_info.txt").read_text(encoding="utf-8")
    tool = "/usr/local/Ascend/driver/tools/hccn_tool"
    server.run(f"{tool} -g -dev_info -i 0", text)
    server.run(f"{tool} -g -dev_info -i 1", text.replace("UP ", "DOWN ", 1))
    found = server.doctor("links")["links"]
    assert (found.told, found.status) == ("5 of 6 ports up", Status.NOTE)
    assert found.findings[0].message == "the link is down: NPU 1 port 0/4"


def test_cards_that_were_flashed_elsewhere_are_well(server: Snapshot) -> None:
    server.file("/usr/local/Ascend/firmware/version.info", None)
    assert server.doctor("firmware")["firmware"].told == "7.7.0.9.220"
    server.run("npu-smi info -t board -i 0", "This device does not support querying board.\n", 1)
    assert server.doctor("firmware")["firmware"].status is Status.SKIPPED


def test_mindspore_against_cann(server: Snapshot) -> None:
    (key,) = [key for key in server.kept["runs"] if "find_spec" in key]
    facts = json.loads(server.kept["runs"][key][1])
    facts["packages"] |= {"mindspore": {"version": "2.7.0"}, "numpy": {"version": "1.26.4"}}
    server.kept["runs"][key][1] = json.dumps(facts)
    found = server.doctor("mindspore")["mindspore"]
    assert found.status is Status.UNKNOWN
    assert found.findings[0].message == (
        f"MindSpore 2.7.0 belongs to CANN 8.2.RC1, installed is {CANN}: whether they work together is not known"
    )


@pytest.mark.parametrize(
    ("driver", "cann", "status", "said"),
    [
        ("23.0.0", "9.1.0", Status.ERROR, "driver 23.0.0 does not run CANN 9.1.0: CANN 9.1.0 lists the drivers 25.2.X"),
        ("23.0.3", "9.2.0", Status.ERROR, "23.0.3 is older than all of them, and CANN 9.2.0 is newer"),
        ("25.0.rc1", "9.1.0", Status.ERROR, "and excludes 25.0.X"),
        ("25.2.0", "9.1.0", Status.OK, ""),
        ("24.1.0", "8.1.RC1", Status.UNKNOWN, "CANN 8.1.RC1 was released with driver 25.0.RC1; no public page says"),
        ("26.1.0", "9.2.0", Status.UNKNOWN, "it is not known whether driver 26.1.0 runs CANN 9.2.0"),
        ("24.1.rc2.2", "8.0.0", Status.UNKNOWN, "driver 24.1.rc2.2 lists CANN 7.0.RC1 to 8.0.RC2; 8.0.0 came later"),
        ("26.1.0", "9.1.0", Status.OK, ""),
    ],
)
def test_driver_and_cann_without_lists(server: Snapshot, driver: str, cann: str, status: Status, said: str) -> None:
    server.change("files", "driver/version.info", "Version=26.1.0", f"Version={driver}")
    for key in [key for key in server.kept["files"] if "ascend_toolkit_install.info" in key]:
        server.kept["files"][key][0] = f"package_name=Ascend-cann-toolkit\nversion={cann}\narch=x86_64\n"
    found = server.doctor("driver-and-cann")["driver-and-cann"]
    assert found.status is status
    assert [said in item.message for item in found.findings] == [True] * bool(said)


def test_a_framework_is_not_fine_where_cann_cannot_be_read(server: Snapshot) -> None:
    for key in [key for key in server.kept["files"] if "ascend_toolkit_install.info" in key]:
        server.kept["files"][key][0] = "package_name=Ascend-cann-toolkit\nversion=\n"
    found = server.doctor("torch-pair")["torch-pair"]
    assert found.status is Status.UNKNOWN
    assert "which one is installed is not known" in found.findings[0].message


def test_firmware_without_a_range_or_a_verdict_is_not_known(server: Snapshot) -> None:
    server.change("files", "driver/version.info", "compatible_version_fw=[7.0.0,8.9.9]\n", "")
    for key in [key for key in server.kept["runs"] if '"board"' in key]:
        server.kept["runs"][key][1] = ""
    found = server.doctor("firmware")["firmware"]
    assert found.status is Status.UNKNOWN
    assert "no public table says which firmware driver 26.1.0 works with" in found.findings[0].message


def test_a_framework_that_is_not_in_the_tables_is_not_known(server: Snapshot) -> None:
    (key,) = [key for key in server.kept["runs"] if "find_spec" in key]
    facts = json.loads(server.kept["runs"][key][1])
    facts["packages"] |= {"torch": {"version": "2.99.0"}, "torch-npu": {"version": "2.99.0.post1"}}
    server.kept["runs"][key][1] = json.dumps(facts)
    found = server.doctor("torch-pair")["torch-pair"]
    assert found.status is Status.UNKNOWN
    assert found.findings[0].message == "torch_npu 2.99.0.post1 is not in the tables: its CANN is not known"


@pytest.mark.parametrize(
    ("check", "facts", "said"),
    [
        ("torch-pair", {"builds": {"torch": "12.4"}}, "built for CUDA 12.4: torch_npu is made for the CPU build"),
        ("torch-pair", {"packages": {"torch": {"version": f"{TORCH}a0+git1234"}}}, "a preview; whether they work"),
        ("python", {"version": "3.14.0"}, "this is 3.14.0: whether it works is not known"),
    ],
)
def test_a_build_that_no_page_names_is_not_known(server: Snapshot, check: str, facts: Facts, said: str) -> None:
    for key in [key for key in server.kept["files"] if "ascend_toolkit_install.info" in key]:
        server.kept["files"][key][0] = "package_name=Ascend-cann-toolkit\nversion=8.5.0\narch=x86_64\n"
    (key,) = [key for key in server.kept["runs"] if "find_spec" in key]
    kept = json.loads(server.kept["runs"][key][1])
    packages = {**kept["packages"], **facts.get("packages", {})}
    server.kept["runs"][key][1] = json.dumps({**kept, **facts, "packages": packages})
    found = server.doctor(check)[check]
    assert any(said in item.message for item in found.findings), found
    if check == "python":
        assert found.status is not Status.OK


def test_container_on_a_board(tmp_path: Path) -> None:
    server = Snapshot(tmp_path, soc="310B4")
    container(server)
    server.paths("/dev/hisi_hdc")
    assert red(server.doctor()) == []


def test_all_links_down_is_right_for_one_server(server: Snapshot) -> None:
    for card in range(2):
        server.run(f"/usr/local/Ascend/driver/tools/hccn_tool -i {card} -link -g", "link status: DOWN\n")
    assert server.doctor("links")["links"].status is Status.NOTE


@pytest.mark.parametrize("name", ["/opt/py312/bin/python3.12", "python"])
@pytest.mark.parametrize("asked", [None, "/somewhere/else/python3"])
def test_what_another_python_said_is_read(server: Snapshot, name: str, asked: str | None) -> None:
    """`--collect --python` names it, `--from` need not; another Jumar may have asked with another program."""
    (key,) = [key for key in server.kept["runs"] if "find_spec" in key and json.loads(key)[0] == "python3"]
    said = server.kept["runs"].pop(key)
    server.kept["runs"][json.dumps([name, "-c", "print('another program')"])] = said
    host = Host(Recorded(server.kept, "collected"), asked)
    assert host.python().version == json.loads(said[1])["version"]
