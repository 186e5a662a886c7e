"""The version files, hccn_tool and the PCI bus, as the samples have them; broken ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar.core.compat import pairwise
from jumar.machine.parse import hccn_tool, install_log, pci, version_info
from jumar.machine.parse.layout import UnknownLayout

SAMPLES = Path(__file__).parent / "samples"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name, version, inner", [
    ("driver_version_info_24.1.rc1", "24.1.rc1", "V100R001C15"),
    ("driver_version_info_24.1.rc2.2", "24.1.rc2.2", "V100R001C18"),
    ("driver_version_info_25.0.rc1.1", "25.0.rc1.1", "V100R001C21"),
])  # fmt: skip
def test_driver_files(name: str, version: str, inner: str) -> None:
    found = version_info.values(sample(name), "Version")
    assert found["Version"] == version
    assert version_info.release_of(found["Innerversion"]) == inner
    assert inner in version_info.releases(found["compatible_version"])
    (window,) = version_info.ranges(found["compatible_version_fw"])
    assert window.holds("7.1.0.11.220")
    assert not window.holds("8.0.0.1.200") and not window.holds("6.3.0.1.241")


def test_firmware_file() -> None:
    found = version_info.values(sample("firmware_version_info"), "Version")
    assert found["Version"] == "7.1.0.11.220"
    windows = version_info.ranges(found["compatible_version_drv"])
    drivers = {"23.0.rc3.2": True, "23.0.0": True, "23.0.0.7": True, "24.1.rc1": False}
    assert {driver: any(window.holds(driver) for window in windows) for driver in drivers} == drivers


@pytest.mark.parametrize("name, version", [
    ("ascend_toolkit_install_info_7.0.RC1_310B", "7.0.RC1"),
    ("ascend_toolkit_install_info_8.1.RC1", "8.1.RC1"),
    ("ascend_toolkit_install_info_doc", "8.5.0"),
])  # fmt: skip
def test_toolkit_files(name: str, version: str) -> None:
    assert version_info.values(sample(name), "version")["version"] == version


def test_component_and_install_files() -> None:
    runtime = version_info.values(sample("runtime_version_info_8.1.RC1"), "Version")
    assert (runtime["Version"], runtime["required_package_opp_kernel_version"]) == ("7.7.0.1.238", ">=7.6, <=7.7")
    assert version_info.values(sample("ascend_install_info"))["UserGroup"] == "HwHiAiUser"


@pytest.mark.parametrize("text", ["", "Version=\n", "Versio", "Version=24.1.0\nInnerver", "\0\0\0\0"])
def test_half_written_file_is_refused(text: str) -> None:
    with pytest.raises(UnknownLayout):
        version_info.values(text, "Version")


def test_releases_are_in_the_vendors_order() -> None:
    names = (
        "6.3.RC1",
        "7.0.0",
        "8.0.RC1",
        "8.0.RC3",
        "8.0.0",
        "8.0.0.1",
        "8.1.RC1",
        "8.5.0.alpha002",
        "8.5.0",
        "9.2.0",
    )
    assert all(version_info.key(older) < version_info.key(newer) for older, newer in pairwise(names))
    with pytest.raises(UnknownLayout):
        version_info.key("x.x.x")


def test_addresses_and_links() -> None:
    assert hccn_tool.address(sample("hccn_tool_ip_g")) == ("192.161.200.10", "255.255.255.0")
    assert hccn_tool.address(sample("hccn_tool_950_vnic")).address == "192.168.2.199"
    with pytest.raises(UnknownLayout, match="not an address"):
        hccn_tool.address(sample("hccn_tool_ip_g_doc"))
    assert hccn_tool.link(sample("hccn_tool_link_g")) == "UP"
    assert hccn_tool.link(sample("hccn_tool_950_link")) == "DOWN"
    assert hccn_tool.health(sample("hccn_tool_net_health_g")) == "Init"
    assert hccn_tool.tls(sample("hccn_tool_tls_g")) == (False, True)
    assert hccn_tool.versions(sample("hccn_tool_950_version"))["Network Driver Version"] == "25.7.rc1"
    ports = hccn_tool.ports(sample("hccn_tool_950_dev_info"))
    assert [port.port for port in ports] == [4, 5, 6] and ports[0] == (0, 4, 400, "UB", "UP")
    found = hccn_tool.conf(sample("hccn_conf"))
    assert sorted(found) == [0, 7] and found[7]["address"] == "29.1.170.143"
    assert found[0]["send_arp_status"] == "1"


READERS = [hccn_tool.address, hccn_tool.link, hccn_tool.health, hccn_tool.tls, hccn_tool.versions,
           hccn_tool.ports, hccn_tool.conf]  # fmt: skip


@pytest.mark.parametrize("read", READERS)
def test_unknown_answers_are_refused(read: object) -> None:
    with pytest.raises(UnknownLayout, match="hccn"):
        read("Command execution failed\n")  # type: ignore[operator]


def test_log_of_an_installation() -> None:
    text = sample("driver_firmware_install_log_910_23.0.rc1")
    found = install_log.ended(text)
    assert found["Driver"][:2] == ("2023-07-10 22:25:04", True) and found["Firmware"].good
    failed = "[Driver] [2024-01-01 10:00:00] [ERROR]ERR_NO:0x0091;ERR_DES:HwHiAiUser not exists!\n"
    assert install_log.ended(text + failed)["Driver"] == ("2024-01-01 10:00:00", False, failed[38:].strip())
    assert install_log.ended("") == {}


def test_devices_on_the_bus() -> None:
    found = pci.from_lspci(sample("lspci_910A"))
    assert len(found) == 8 and found["0000:3d:00.0"] == "d801"
    assert pci.from_lspci("c1:00.0 1200: 19e5:d802 (rev 20)\n") == {"0000:c1:00.0": "d802"}
    text = (
        "/sys/bus/pci/devices/0000:c1:00.0/vendor:0x19e5\n/sys/bus/pci/devices/0000:c1:00.0/device:0xd802\n"
        "/sys/bus/pci/devices/0000:c1:00.0/class:0x120000\n/sys/bus/pci/devices/0000:02:00.0/vendor:0x19e5\n"
        "/sys/bus/pci/devices/0000:02:00.0/device:0x1711\n/sys/bus/pci/devices/0000:02:00.0/class:0x030000\n"
    )
    assert pci.from_sysfs(text) == {"0000:c1:00.0": "d802"}
