"""The generated script really runs: against recording installers, twice, with failures, and past a restart."""

from __future__ import annotations

import grp
import io
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_installers import Machine

from jumar.core.errors import UserError
from jumar.machine.plan import build, execute, shell
from jumar.machine.plan.build import Plan
from jumar.machine.plan.host import Host
from jumar.machine.plan.request import PlanRequest
from jumar.tables import installation

NOTHING_TO_DO = {"devices", "proof", "system_python", "python_found", "torch_index"}
UBUNTU = installation.systems()["Ubuntu 22.04"]


def _plan(framework: str = "torch==2.6.0", cann: str = "8.5.0", host: Host | None = None, **options: object) -> Plan:
    asked = PlanRequest(chip="910B3", arch="x86_64", os="Ubuntu 22.04", python="3.10", framework=framework, cann=cann)
    made = build.make(asked, host or Host(system=UBUNTU), build.PlanOptions(**options))  # type: ignore[arg-type]
    assert isinstance(made, Plan)
    return made


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    bare = Machine(tmp_path)
    bare.installer("driver", "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run", "25.5.0")
    bare.installer("firmware", "Ascend-hdk-910b-npu-firmware_7.8.0.5.216.run", "7.8.0.5.216")
    bare.installer("toolkit", "Ascend-cann-toolkit_8.5.0_linux-x86_64.run", "8.5.0")
    bare.installer("ops", "Ascend-cann-910b-ops_8.5.0_linux-x86_64.run", "8.5.0")
    bare.installer("nnal", "Ascend-cann-nnal_8.5.0_linux-x86_64.run", "8.5.0")
    return bare


def _run(machine: Machine, made: Plan, **more: str) -> subprocess.CompletedProcess[str]:
    script = machine.folder / "install.sh"
    script.write_text(shell.script(made))
    return subprocess.run(
        ["bash", str(script)],
        env={**machine.environment(), **more},
        cwd=machine.folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_bare_machine_ends_up_installed(machine: Machine) -> None:
    made = _plan()
    done = _run(machine, made)
    assert done.returncode == 0, done.stderr + (machine.folder / "log").read_text()
    assert done.stdout.splitlines()[-1] == f"all {len(made.steps)} steps are done"
    installs = [line.split("_")[0].split()[0] for line in machine.calls("Ascend") if "--check" not in line]
    assert installs == [
        "Ascend-hdk-910b-npu-driver",
        "Ascend-hdk-910b-npu-firmware",
        "Ascend-cann-toolkit",
        "Ascend-cann-910b-ops",
        "Ascend-cann-nnal",
    ]
    assert machine.calls("Ascend-hdk-910b-npu-driver")[-1].endswith(" --full --install-for-all --quiet")
    assert len([line for line in machine.calls("Ascend") if "--check" in line]) == 5
    assert "source" in (machine.home / ".bashrc").read_text()
    assert "nproc unlimited" in (machine.folder / "limits.conf").read_text()
    pip = (machine.state / "pip").read_text().split("\n")
    assert "torch 2.6.0+cpu" in pip and "torch_npu 2.6.0.post5" in pip and "torchvision 0.21.0+cpu" in pip


def test_a_second_run_does_nothing(machine: Machine) -> None:
    made = _plan()
    assert _run(machine, made).returncode == 0
    machine.record.unlink()
    again = _run(machine, made)
    assert again.returncode == 0
    assert again.stdout.count("done already") == len(made.steps)
    assert machine.calls("Ascend", "apt-get", "useradd") == []
    assert not [line for line in machine.calls("python") if " install " in line]
    assert (machine.home / ".bashrc").read_text().count("set_env.sh") == 1


def test_it_stops_at_the_first_failure_and_goes_on_from_there(machine: Machine) -> None:
    made = _plan()
    broken = machine.packages / "Ascend-cann-toolkit_8.5.0_linux-x86_64.run.fails"
    broken.touch()
    done = _run(machine, made)
    assert done.returncode == 1
    assert "Install the CANN toolkit: it failed" in done.stderr
    assert "  the disk is full" in done.stderr
    assert "to undo this step: bash Ascend-cann-toolkit_8.5.0_linux-x86_64.run --uninstall" in done.stderr
    assert machine.calls("Ascend-cann-910b-ops_8.5.0_linux-x86_64.run --quiet") == []
    broken.unlink()
    machine.record.unlink()
    assert _run(machine, made).returncode == 0
    assert machine.calls("Ascend-hdk") == []


def test_a_damaged_package_is_never_installed(machine: Machine) -> None:
    (machine.packages / "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run.broken").touch()
    done = _run(machine, _plan())
    assert done.returncode == 1
    assert "Get the packages and verify them: it failed" in done.stderr
    assert machine.calls("useradd") == []
    assert [line for line in machine.calls("Ascend-hdk") if "--full" in line] == []


def test_a_missing_package_is_named_with_its_page(machine: Machine) -> None:
    (machine.packages / "Ascend-hdk-910b-npu-firmware_7.8.0.5.216.run").unlink()
    done = _run(machine, _plan())
    assert done.returncode == 1
    assert "Ascend-hdk-910b-npu-firmware_*.run is not in" in done.stderr
    assert "https://www.hiascend.com/hardware/firmware-drivers/community" in done.stderr


def test_a_failed_download_leaves_no_package(machine: Machine) -> None:
    (machine.packages / "Ascend-cann-nnal_8.5.0_linux-x86_64.run").unlink()
    done = _run(machine, _plan())
    assert done.returncode == 1
    assert any("Ascend-cann-nnal_8.5.0_linux-x86_64.run" in line for line in machine.calls("curl"))
    assert not list(machine.packages.glob("*nnal*.run"))


def test_it_waits_for_a_restart(machine: Machine) -> None:
    (machine.state / "restart").touch()
    made = _plan()
    done = _run(machine, made)
    assert done.returncode == 1
    assert "npu-smi does not answer: restart the machine, then run this again: it continues here" in done.stderr
    (machine.state / "restart").unlink()
    assert _run(machine, made).returncode == 0


def test_over_an_older_driver_the_firmware_comes_first(machine: Machine) -> None:
    (machine.ascend / "driver").mkdir(parents=True)
    (machine.ascend / "driver" / "version.info").write_text("Version=24.1.rc2\n")
    first = _run(machine, _plan())
    assert first.returncode == 1
    assert (
        "another driver is installed, and this plan is for a first install: plan again with --overwrite" in first.stderr
    )
    host = Host(system=UBUNTU, family="A2", chip="910B3", driver="24.1.rc2")
    made = _plan(host=host)
    assert any("is replaced: firmware first, then driver" in note for note in made.notes)
    assert _run(machine, made).returncode == 0
    installs = [line for line in machine.calls("Ascend-hdk") if "--full" in line]
    assert ["firmware" in line for line in installs] == [True, False]


def test_a_fitting_driver_is_kept(machine: Machine) -> None:
    made = _plan(host=Host(system=UBUNTU, family="A2", chip="910B3", driver="25.5.0"))
    assert not {"driver", "firmware"} & {step.id for step in made.steps}
    assert "the driver 25.5.0 of this machine supports CANN 8.5.0 and is kept" in made.notes


def test_old_cann_has_another_layout_and_its_own_wheels(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    asked = PlanRequest(chip="910A", arch="x86_64", os="Ubuntu 20.04", python="3.9", framework="mindspore==2.2.14")
    made = build.make(asked, Host(), build.PlanOptions())
    assert isinstance(made, Plan)
    machine.installer("driver", "Ascend-hdk-910-npu-driver_23.0.0_linux-x86_64.run", "23.0.0")
    machine.installer("firmware", "Ascend-hdk-910-npu-firmware_7.1.0.3.220.run", "7.1.0.3.220")
    machine.installer("toolkit", "Ascend-cann-toolkit_7.0.0_linux-x86_64.run", "7.0.0", renamed=False)
    machine.installer("ops", "Ascend-cann-kernels-910_7.0.0_linux.run", "7.0.0", renamed=False)
    wheels = machine.ascend / "ascend-toolkit/latest/lib64"
    wheels.mkdir(parents=True)
    for name in ("te-0.4.0-py3-none-any.whl", "hccl-0.1.0-py3-none-any.whl"):
        (wheels / name).touch()
    done = _run(machine, made)
    assert done.returncode == 0, done.stderr
    assert {"te 0.4.0", "hccl 0.1.0", "mindspore 2.2.14"} <= set((machine.state / "pip").read_text().splitlines())


def test_another_architecture_is_refused(machine: Machine) -> None:
    other = Machine(machine.folder / "arm", arch="aarch64")
    done = _run(other, _plan())
    assert done.returncode == 1
    assert done.stderr == "this plan is for x86_64, and this machine is aarch64\n"


def test_without_root_nothing_asks_for_it(machine: Machine) -> None:
    asked = PlanRequest(
        chip="910B3", arch="x86_64", framework="torch==2.6.0", cann="8.5.0", python="3.10", no_root=True
    )
    made = build.make(asked, Host(system=UBUNTU), build.PlanOptions())
    assert isinstance(made, Plan)
    assert not any(step.root for step in made.steps)
    (machine.ascend / "driver").mkdir(parents=True)
    (machine.ascend / "driver" / "version.info").write_text("Version=25.5.0\n")
    done = _run(machine, made)
    assert done.returncode == 0, done.stderr
    assert machine.calls("apt-get", "useradd", "Ascend-hdk") == []
    assert all("--install-for-all" not in line for line in machine.calls("Ascend"))


@pytest.mark.parametrize(("who", "through"), [("user", "root"), ("sudo", "user")])
def test_nobody_does_more_than_needed(machine: Machine, who: str, through: str) -> None:
    """As a user only root's steps go through sudo; under sudo the user's steps are handed back to the user."""
    made = _plan()
    more = {"FAKE_UID": "1000", "FAKE_USER": "me"} if who == "user" else {"SUDO_USER": "me"}
    done = _run(machine, made, **more)
    assert done.returncode == 0, done.stderr
    text = machine.record.read_text()
    root = {step.id.replace("-", "_") for step in made.steps if step.root}
    every = {step.id.replace("-", "_") for step in made.steps}
    seen = set(re.findall(r"set -eo pipefail; do_(\w+)$", text, re.M))
    assert seen == ((root if through == "root" else every - root) - NOTHING_TO_DO)
    assert all(line.startswith("sudo -n -u me -H env ") == (through == "user") for line in machine.calls("sudo"))


def test_a_folder_with_an_awkward_name(machine: Machine) -> None:
    folder = machine.folder / "my 'pack}ages' $(touch bad) \"x\""
    machine.packages.rename(folder)
    environment = {name: value for name, value in machine.environment().items() if name != "PACKAGES"}
    script = machine.folder / "install.sh"
    script.write_text(shell.script(_plan(packages=folder)))
    done = subprocess.run(["bash", str(script)], env=environment, cwd=machine.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (machine.folder / "bad").exists()


def test_run_carries_the_same_steps_out(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in machine.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(execute.os, "geteuid", lambda: 0)
    seen: list[tuple[str, str]] = []
    made = _plan()
    log = machine.folder / "run.log"
    fails = machine.packages / "Ascend-cann-910b-ops_8.5.0_linux-x86_64.run.fails"
    fails.touch()
    with pytest.raises(UserError) as stopped:
        execute.run(made, log, lambda number, count, title, state: seen.append((title, state)))
    assert stopped.value.message == "step 11 of 21 failed: Install the operator package: the disk is full"
    assert "undo it with: bash Ascend-cann-910b-ops_8.5.0_linux-x86_64.run --uninstall" in (stopped.value.hint or "")
    assert seen[-1] == ("Install the operator package", "failed")
    fails.unlink()
    seen.clear()
    execute.run(made, log, lambda number, count, title, state: seen.append((title, state)))
    assert ("Install the driver", "skipped") in seen and ("Install the operator package", "done") in seen


def test_root_and_user_steps_change_hands(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"PLAN_USER": "me", "ASCEND": "/a"}
    by_id = {step.id: step for step in _plan().steps}
    monkeypatch.setattr(execute.os, "geteuid", lambda: 1000)
    assert execute.command(by_id["driver"], "true", values)[:3] == ["sudo", "-n", "env"]
    assert execute.command(by_id["torch"], "true", values)[0] == "env"
    monkeypatch.setattr(execute.os, "geteuid", lambda: 0)
    assert execute.command(by_id["driver"], "true", values)[0] == "env"
    assert execute.command(by_id["torch"], "true", values)[:5] == ["sudo", "-n", "-u", "me", "-H"]


def test_run_needs_a_sudo_that_works(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.state / "asks").touch()
    for name, value in machine.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(execute.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(execute.sys, "stdin", io.StringIO())
    with pytest.raises(UserError, match="sudo does not work without a password here"):
        execute.run(_plan(), machine.folder / "run.log", lambda *_: None)
    assert machine.calls("apt-get", "Ascend") == []


def test_run_uses_a_group_that_this_login_does_not_have_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    group = grp.struct_group(("HwHiAiUser", "x", 4711, ["me"]))
    monkeypatch.setattr(execute.grp, "getgrnam", lambda name: group)
    monkeypatch.setattr(execute.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(execute.os, "getgroups", lambda: [1000])
    by_id = {step.id: step for step in _plan().steps}
    assert execute.command(by_id["devices"], "true", {"PLAN_USER": "me"})[:3] == ["sg", "HwHiAiUser", "-c"]
    monkeypatch.setattr(execute.os, "getgroups", lambda: [1000, 4711])
    assert execute.command(by_id["devices"], "true", {"PLAN_USER": "me"})[0] == "env"


@pytest.mark.parametrize(
    ("chip", "framework", "cann"),
    [("910B3", "torch==2.6.0", "8.5.0"), ("910A", "torch==1.11.0", "7.0.RC1"), ("910A", "mindspore==1.2.1", None),
     ("310B4", "torch", "8.0.0"), ("A3", "torch", None), ("950PR_9599", "none", None)],
)  # fmt: skip
def test_scripts_are_clean_bash(chip: str, framework: str, cann: str | None, tmp_path: Path, shellcheck: str) -> None:
    asked = PlanRequest(chip=chip, arch="aarch64", framework=framework, cann=cann)
    made = build.make(asked, Host(), build.PlanOptions(extras=build.EXTRAS))
    assert isinstance(made, Plan)
    script = tmp_path / "install.sh"
    script.write_text(shell.script(made))
    assert subprocess.run(["bash", "-n", str(script)], capture_output=True).returncode == 0
    checked = subprocess.run([shellcheck, str(script)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_scripts_stay_as_they_are(golden: Callable[[str, str], None]) -> None:
    golden("plan/910B3-torch-2.6.0.sh", shell.script(_plan()))
