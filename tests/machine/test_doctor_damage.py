"""The emulated machine is all green; each kind of damage to a copy of it turns exactly the right check red."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from virtual_machine import CANN, TORCH, Machine, red

from jumar.core.finding import Level
from jumar.emulate import env, prefix
from jumar.machine import check, host
from jumar.machine.check import Status
from jumar.machine.probe.local import Local
from jumar.runtime import variables

SMI = "answers/npu-smi info"
HOME = "Ascend/ascend-toolkit/latest"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("soc", ["910B3", "910A", "910_9391", "310P3", "310B4", "950PR_9599"])
def test_emulated_machine_is_all_green(soc: str, tmp_path: Path) -> None:
    found = Machine(tmp_path, soc).doctor()
    assert {name: outcome.told for name, outcome in found.items() if outcome.findings} == {}
    may_be_skipped = {"python-packages", "mindspore", "protobuf", "device-addresses", "links", "tls", "dead-processes"}
    assert {name for name, outcome in found.items() if outcome.status is Status.SKIPPED} <= may_be_skipped


def test_emulated_machine_as_it_is_installed(tmp_path: Path) -> None:
    """With its own npu-smi, hccn_tool and libraries; the rest of this file gives their recorded answers."""
    if not list(env.library_dir().glob("lib*.so")):
        pytest.skip("the stand-ins are not built: pip install .")
    place, own = tmp_path / "Ascend", {variables.MACHINE.name: f"test-{os.getpid()}-{tmp_path.name}"}
    values = {**env.environment(cards=2, base={}), **own}
    prefix.write(place, prefix.build(place, values))
    environ = {**values, **prefix.environment(place, values, os.environ)}
    found = check.run(host.Host(Local(environ)), check.units())
    assert {outcome.check.name: outcome.findings for outcome in found if outcome.findings} == {}


def _library(machine: Machine) -> None:
    (machine.home / "lib64" / "libge_runner.so").unlink()


def _unsourced(machine: Machine) -> None:
    for name in [name for name in machine.environ if name.startswith("ASCEND") or name == "LD_LIBRARY_PATH"]:
        del machine.environ[name]


def _half_sourced(machine: Machine) -> None:
    machine.environ["LD_LIBRARY_PATH"] = "/usr/lib"


def _wrong_operators_folder(machine: Machine) -> None:
    machine.environ["ASCEND_OPP_PATH"] = "/opt/old/opp"


def _two_toolkits(machine: Machine) -> None:
    machine.write("old/lib64/libascendcl.so", "")
    machine.environ["LD_LIBRARY_PATH"] = f"{machine.root.parent}/old/lib64:{machine.environ['LD_LIBRARY_PATH']}"


def _wrong_pair(machine: Machine) -> None:
    machine.python(packages={"torch-npu": "2.12.0"})


def _no_torch(machine: Machine) -> None:
    machine.python(packages={"torch": None}, modules={})


def _no_plugin(machine: Machine) -> None:
    machine.python(packages={"torch-npu": None})


def _operators_of_another_chip(machine: Machine) -> None:
    folder = machine.home / "opp/built-in/op_impl/ai_core/tbe/kernel/config"
    (folder / "ascend910b").rename(folder / "ascend310p")


def _operators_of_another_version(machine: Machine) -> None:
    machine.change(f"{HOME}/x86_64-linux/ascend_ops_install.info", f"version={CANN}", "version=9.1.0")


def _no_operators(machine: Machine) -> None:
    (machine.home / "x86_64-linux/ascend_ops_install.info").unlink()
    shutil.rmtree(machine.home / "opp_kernel")


def _operators_half_written(machine: Machine) -> None:
    machine.write(f"{HOME}/x86_64-linux/ascend_ops_install.info", "package_name=Ascend-cann-910b-ops\nversi")


def _no_entry_to_operators(machine: Machine) -> None:
    (machine.home / "lib64" / "libopapi.so").unlink()


def _toolkit_half_written(machine: Machine) -> None:
    machine.write(f"{HOME}/x86_64-linux/ascend_toolkit_install.info", "package_name=Ascend-ca")


def _toolkit_of_another_architecture(machine: Machine) -> None:
    machine.change(f"{HOME}/x86_64-linux/ascend_toolkit_install.info", "arch=", "arch=not-")


def _part_of_another_release(machine: Machine) -> None:
    machine.change(f"{HOME}/compiler/version.info", f"version_dir={CANN}", "version_dir=9.0.0")


def _part_half_written(machine: Machine) -> None:
    machine.write(f"{HOME}/runtime/version.info", "\0\0\0")


def _card_gone(machine: Machine) -> None:
    text = (machine.root.parent / SMI).read_text()
    start = text.index("| 1     910B3")
    machine.write(SMI, text[:start] + text[text.index("+---", start) :])


def _card_sick(machine: Machine) -> None:
    machine.change(SMI, "| 1     910B3               | OK     ", "| 1     910B3               | Alarm  ")
    machine.change(
        "answers/npu-smi info -t health -i 1 -c 0", "Error Code                     : NA", "Error Code : 80E18401"
    )


def _card_hot(machine: Machine) -> None:
    machine.change(
        SMI,
        "| NA          NA                0    / 0             |",
        "| 90.1        97                0    / 0             |",
    )


def _memory_errors(machine: Machine) -> None:
    machine.change(
        "answers/npu-smi info -t ecc -i 1", "HBM Double Bit Error Count     : 0", "HBM Double Bit Error Count     : 3"
    )


def _memory_held(machine: Machine) -> None:
    machine.change(SMI, "0    / 65536 ", "60000/ 65536 ")


def _process_gone(machine: Machine) -> None:
    empty = "| No running processes found in NPU 0                                                            |"
    row = "| 0       0                 | 99999999      | python                   | 5000                    |"
    machine.change(SMI, empty, row)


def _smi_hangs(machine: Machine) -> None:
    machine.tool("npu-smi", "exec sleep 60")


def _smi_without_driver(machine: Machine) -> None:
    machine.tool("npu-smi", "echo 'dcmi module initialize failed. ret is -8005'; exit 1")


def _smi_of_tomorrow(machine: Machine) -> None:
    machine.change(SMI, "Power(W)", "Power(kW)")


def _smi_endless(machine: Machine) -> None:
    machine.tool("npu-smi", "exec yes '| NPU     Name |'")


def _smi_missing(machine: Machine) -> None:
    (machine.root / "bin" / "npu-smi").unlink()


def _driver_half_written(machine: Machine) -> None:
    machine.write("Ascend/driver/version.info", "Versio")


def _driver_half_installed(machine: Machine) -> None:
    machine.change("Ascend/etc/ascend_install.info", "Status=complete", "Status=installing")


def _driver_not_restarted(machine: Machine) -> None:
    machine.change("Ascend/driver/version.info", "Version=26.1.0", "Version=26.2.0")


def _firmware_too_new(machine: Machine) -> None:
    machine.change("answers/npu-smi info -t board -i 0", "7.7.0.9.220", "9.0.0.1.100")
    machine.change("Ascend/firmware/version.info", "7.7.0.9.220", "9.0.0.1.100")


def _firmware_refused(machine: Machine) -> None:
    machine.change(
        "answers/npu-smi info -t board -i 0", "Compatibility                  : OK", "Compatibility : NOT OK"
    )


def _firmware_half_written(machine: Machine) -> None:
    machine.write("Ascend/firmware/version.info", "")


def _same_address(machine: Machine) -> None:
    machine.change("Ascend/etc/hccn.conf", "address_1=192.168.101.101", "address_1=192.168.100.101")


def _no_address(machine: Machine) -> None:
    machine.write("Ascend/etc/hccn.conf", "")
    (machine.answers / "hccn_tool -i 1 -ip -g").unlink()


def _link_down(machine: Machine) -> None:
    machine.write("answers/hccn_tool -i 1 -link -g", "link status: DOWN\n")


def _link_hangs(machine: Machine) -> None:
    machine.write("answers/hccn_tool -i 1 -link -g", "Command execution timed out\n")


def _tls_mixed(machine: Machine) -> None:
    machine.change("answers/hccn_tool -i 1 -tls -g", "tls switch[0]", "tls switch[1]")


def _namesake(machine: Machine) -> None:
    machine.python(packages={"te": "0.0.0"})


def _msadapter(machine: Machine) -> None:
    machine.python(speaks={"torch": ["mindspore"]})


def _mindspore_numpy(machine: Machine) -> None:
    machine.python(packages={"mindspore": "2.99.0", "numpy": "2.4.6"})


def _mindspore_of_another_architecture(machine: Machine) -> None:
    wheel = {"version": "2.99.0", "tags": "py3-none-any"}
    machine.python(packages={"mindspore": wheel, "numpy": "1.26.4"}, binaries={"mindspore": "riscv64"})


def _packages_missing(machine: Machine) -> None:
    machine.write(f"{HOME}/python/site-packages/tbe/__init__.py", "")
    machine.environ["PYTHONPATH"] = f"{machine.home}/python/site-packages"


def _python_too_old(machine: Machine) -> None:
    machine.python(version="3.6.9", packages={"torch": None, "torch-npu": None}, modules={})


def _no_python(machine: Machine) -> None:
    machine.tool("python3", "exit 1")
    machine.tool("python", "echo no; exit 1")


DAMAGES: dict[Callable[[Machine], None], tuple[str, Level, str]] = {
    _library: ("toolkit", Level.ERROR, "`libge_runner.so`"),
    _unsourced: ("environment", Level.ERROR, "not set in this shell"),
    _half_sourced: ("environment", Level.ERROR, "`LD_LIBRARY_PATH` does not list"),
    _wrong_operators_folder: ("environment", Level.ERROR, "`ASCEND_OPP_PATH` is `/opt/old/opp`, should be"),
    _two_toolkits: ("environment", Level.ERROR, "of another CANN before"),
    _wrong_pair: ("torch-pair", Level.ERROR, f"2.12.0 belongs to torch 2.12.0, installed is torch {TORCH}+cpu"),
    _no_torch: ("torch-pair", Level.ERROR, "without torch"),
    _no_plugin: ("torch-pair", Level.WARNING, f"torch {TORCH}+cpu is installed without torch_npu"),
    _operators_of_another_chip: ("operator-package", Level.ERROR, "is for ascend310p, the chips here are A2"),
    _operators_of_another_version: ("operator-package", Level.ERROR, f"has version 9.1.0, the toolkit {CANN}"),
    _no_operators: ("operator-package", Level.ERROR, "no operator package"),
    _operators_half_written: ("operator-package", Level.ERROR, "cannot be read"),
    _no_entry_to_operators: ("operator-package", Level.ERROR, "`libopapi.so`, the entry to the operators"),
    _toolkit_half_written: ("toolkit", Level.ERROR, "cannot be read"),
    _toolkit_of_another_architecture: ("toolkit", Level.ERROR, "the toolkit is for not-"),
    _part_of_another_release: ("toolkit", Level.ERROR, "`compiler` has version 9.0.0"),
    _part_half_written: ("toolkit", Level.ERROR, "half written"),
    _card_gone: ("devices", Level.ERROR, "npu-smi does not see it: 0000:03:00.0"),
    _card_sick: ("health", Level.ERROR, "NPU 1 chip 0 (910B3): Alarm, code 80E18401"),
    _card_hot: ("temperature", Level.ERROR, "97 °C"),
    _memory_errors: ("ecc", Level.ERROR, "HBM Double Bit Error Count: 3"),
    _memory_held: ("dead-processes", Level.WARNING, "60,000 of 65,536 MB are in use, but no process is listed"),
    _process_gone: ("dead-processes", Level.WARNING, "process 99999999 is gone and still holds 5,000 MB"),
    _smi_hangs: ("npu-smi", Level.ERROR, "did not answer within"),
    _smi_without_driver: ("npu-smi", Level.ERROR, "the driver does not answer"),
    _smi_of_tomorrow: ("npu-smi", Level.ERROR, "an unknown layout"),
    _smi_endless: ("npu-smi", Level.ERROR, "prints endlessly"),
    _smi_missing: ("npu-smi", Level.ERROR, "`npu-smi` is not installed"),
    _driver_half_written: ("driver", Level.ERROR, "cannot be read"),
    _driver_half_installed: ("driver", Level.ERROR, "is incomplete"),
    _driver_not_restarted: ("driver", Level.WARNING, "installed driver is 26.2.0, the running one 26.1.0"),
    _firmware_too_new: ("firmware", Level.ERROR, "firmware 9.0.0.1.100 does not fit driver 26.1.0"),
    _firmware_refused: ("firmware", Level.ERROR, "do not fit: NOT OK"),
    _firmware_half_written: ("firmware", Level.ERROR, "half written"),
    _same_address: ("device-addresses", Level.ERROR, "devices 0, 1 have the same address 192.168.100.101"),
    _no_address: ("device-addresses", Level.WARNING, "no address: device 1"),
    _link_down: ("links", Level.ERROR, "the link is down: device 1"),
    _link_hangs: ("links", Level.ERROR, "is unknown: device 1"),
    _tls_mixed: ("tls", Level.ERROR, "TLS is on for device 1 and off for the others"),
    _namesake: ("namesakes", Level.ERROR, "`te` 0.0.0 is an empty package"),
    _msadapter: ("shadowed-torch", Level.ERROR, "is not PyTorch"),
    _mindspore_numpy: ("mindspore", Level.ERROR, "compiled against numpy 1, installed is 2.4.6"),
    _mindspore_of_another_architecture: ("mindspore", Level.ERROR, "is really for aarch64"),
    _packages_missing: ("python-packages", Level.ERROR, "not installed: attrs, cffi"),
    _python_too_old: ("python", Level.ERROR, "3.6.9 is too old"),
    _no_python: ("python", Level.ERROR, "does not run"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.strip("_"))
def test_damage_turns_the_right_check_red(damage: Callable[[Machine], None], machine: Machine) -> None:
    name, level, text = DAMAGES[damage]
    damage(machine)
    found = machine.doctor(patience=5 if damage is _smi_hangs else 20)
    assert red(found) == [name]
    (item, *_) = found[name].findings
    assert item.level is level
    assert text in item.message
    assert item.fix, "a finding comes with the commands that put it right"
    assert item.id in {unit.check.id for unit in check.units()}


def test_a_newer_cann_than_the_one_of_torch_npu_is_not_known_to_work(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.python(packages={"torch": "2.6.0", "torch-npu": "2.6.0"})
    found = machine.doctor("torch-pair")["torch-pair"]
    assert found.status is Status.UNKNOWN and found.findings[0].level is Level.WARNING
    assert found.findings[0].message == (
        f"torch_npu 2.6.0 belongs to CANN 8.2.RC1, installed is {CANN}: whether they work together is not known"
    )
