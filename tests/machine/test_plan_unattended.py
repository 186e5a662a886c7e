"""The script runs to its end by itself: without TORCH_INDEX, past a restart, with a sudo that asks and an old login."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from fake_installers import Machine

from jumar.machine.plan import build, candidates, dockerfile, shell
from jumar.machine.plan.build import Plan, PlanOptions
from jumar.machine.plan.host import Host
from jumar.machine.plan.request import PlanRequest
from jumar.tables import cann as releases
from jumar.tables import installation, tested

CPU_BUILDS = "https://builds.example/whl/cpu"
ASKED = PlanRequest(
    chip="910B3", arch="x86_64", os="Ubuntu 22.04", python="3.10", framework="torch==2.6.0", cann="8.5.0"
)


def _made(asked: PlanRequest = ASKED, **options: object) -> Plan:
    made = build.make(asked, Host(), PlanOptions(**options))  # type: ignore[arg-type]
    assert isinstance(made, Plan)
    return made


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    bare = Machine(tmp_path)
    bare.supply(_made())
    return bare


def _environment(machine: Machine, **more: str) -> dict[str, str]:
    return {name: value for name, value in {**machine.environment(), **more}.items() if value}


def _run(machine: Machine, made: Plan | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    script = machine.folder / "install.sh"
    script.write_text(shell.script(made or _made()))
    return subprocess.run(
        ["bash", str(script)],
        env=_environment(machine, **more),
        cwd=machine.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def _installed(machine: Machine) -> list[str]:
    return [line for line in machine.calls("Ascend") if "--check" not in line]


def test_the_address_of_the_cpu_builds_is_read_from_the_page(machine: Machine) -> None:
    (machine.state / "page").write_text(f"<code>pip install torch==2.6.0 --index-url {CPU_BUILDS}</code>")
    done = _run(machine, TORCH_INDEX="")
    assert done.returncode == 0, done.stderr
    used = [line for line in machine.calls("python") if "torch==2.6.0+cpu" in line]
    assert used == [f"python -m pip install torch==2.6.0+cpu --index-url {CPU_BUILDS}"]


def test_without_an_address_nothing_is_installed(machine: Machine) -> None:
    done = _run(machine, TORCH_INDEX="")
    assert done.returncode == 1
    assert "cannot be read from https://pytorch.org/get-started/previous-versions/: set TORCH_INDEX" in done.stderr
    assert _installed(machine) == []


def test_without_a_python_nothing_is_installed(machine: Machine) -> None:
    (machine.state / "no-python").touch()
    done = _run(machine, PATH=f"{machine.programs}:/usr/bin:/bin")
    assert done.returncode == 1
    assert "python3.10 is missing, and so are conda and uv" in done.stderr
    assert any("python3.10-venv" in line for line in machine.calls("apt-get"))
    assert _installed(machine) == []


def test_uv_makes_the_environment_where_the_system_has_no_python(machine: Machine) -> None:
    (machine.state / "no-python").touch()
    uv = machine.programs / "uv"
    uv.write_text(
        '#!/bin/sh\nfor last; do :; done\nmkdir -p "$last/bin"\ncp "$(command -v python3.10)" "$last/bin/python"\n'
    )
    uv.chmod(0o755)
    done = _run(machine)
    assert done.returncode == 0, done.stderr


def test_a_sudo_that_asks_stops_before_anything_where_nobody_answers(machine: Machine) -> None:
    (machine.state / "asks").touch()
    done = _run(machine, FAKE_UID="1000", FAKE_USER="me")
    assert done.returncode == 1
    assert "sudo does not work without a password here" in done.stderr
    assert machine.calls("apt-get", "Ascend") == []


def test_a_sudo_that_asks_is_asked_once_in_a_terminal(machine: Machine) -> None:
    (machine.state / "asks").touch()
    script = machine.folder / "install.sh"
    script.write_text(shell.script(_made()))
    leader, terminal = pty.openpty()
    try:
        done = subprocess.run(
            ["bash", str(script)],
            env=_environment(machine, FAKE_UID="1000", FAKE_USER="me"),
            cwd=machine.folder,
            stdin=terminal,
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        os.close(leader)
        os.close(terminal)
    assert done.returncode == 0, done.stderr
    assert machine.calls("sudo -v") == ["sudo -v"]


def test_a_login_without_the_new_group_goes_through_sg(machine: Machine) -> None:
    done = _run(machine, FAKE_UID="1000", FAKE_USER="me", FAKE_OLD_LOGIN="1")
    assert done.returncode == 0, done.stderr
    assert machine.calls("sg HwHiAiUser -c")
    assert "torch 2.6.0+cpu" in (machine.state / "pip").read_text()


def test_it_restarts_the_machine_and_goes_on_by_itself(machine: Machine) -> None:
    (machine.state / "restart").touch()
    done = _run(machine, REBOOT="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "restarting the machine; this continues by itself"
    unit = (machine.folder / "units/jumar-plan.service").read_text()
    assert f'Environment="ASCEND={machine.ascend}"' in unit and f'bash "{machine.folder}/install.sh"' in unit
    assert machine.calls("systemctl")[-1] == "systemctl reboot"
    again = _run(machine, REBOOT="1")
    assert again.returncode == 0, again.stderr
    assert "this plan was started here before: what is done is skipped" in again.stdout
    assert not (machine.folder / "units/jumar-plan.service").exists()


def test_a_restart_that_did_not_help_is_told_apart(machine: Machine) -> None:
    (machine.state / "restart").touch()
    first = _run(machine)
    assert first.returncode == 1 and "restart the machine, then run this again" in first.stderr
    (machine.state / "boot").write_text("second\n")
    second = _run(machine, REBOOT="1")
    assert second.returncode == 1
    assert "the machine was restarted since, and the driver does not answer" in second.stderr
    assert machine.calls("systemctl") == []


def test_another_plan_on_the_same_machine_is_mentioned(machine: Machine) -> None:
    assert _run(machine).returncode == 0
    other = _made(PlanRequest(chip="910B3", arch="x86_64", python="3.10", framework="none", cann="8.5.0"))
    assert "another plan was carried out here before: torch 2.6.0, CANN 8.5.0" in _run(machine, other).stdout


def _combinations() -> list[candidates.Candidate]:
    """For each family, framework and CANN the newest framework version, with its first Python."""
    found: dict[tuple[str, ...], candidates.Candidate] = {}
    for framework in candidates.FRAMEWORKS:
        for one in candidates.candidates(framework):
            found[(framework, one.family, one.cann, one.arch)] = one
    return list(found.values())


def _request(one: candidates.Candidate) -> PlanRequest:
    framework = f"{one.framework}=={one.version}" if one.row else "none"
    return PlanRequest(chip=one.family, arch=one.arch, python=one.python, framework=framework, cann=one.cann)


def test_every_combination_of_the_tables_renders_as_bash(tmp_path: Path) -> None:
    every = [one for at, one in enumerate(_combinations()) if at % 3 == 0]
    assert {one.family for one in every} == set(installation.families()) and len(every) > 100
    for at, one in enumerate(every):
        made = _made(_request(one))
        (tmp_path / f"{at}.sh").write_text(shell.script(made))
        image = dockerfile.image(_made(_request(one), container=True))
        assert "FROM " in image and "TORCH_INDEX:?" not in image
    done = subprocess.run(
        ["bash", "-c", 'for file in "$1"/*.sh; do bash -n "$file" || exit 1; done', "-", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


SAMPLE = (
    PlanRequest(chip="910A", arch="x86_64", framework="torch==1.11.0", cann="7.0.RC1"),
    PlanRequest(chip="910A", arch="aarch64", framework="mindspore==1.10.1"),
    PlanRequest(chip="310P3", arch="x86_64", framework="torch==2.1.0", cann="8.0.RC2"),
    PlanRequest(chip="310B4", arch="aarch64", framework="mindspore==2.5.0"),
    PlanRequest(chip="A3", arch="aarch64", framework="torch", cann="9.1.0"),
    PlanRequest(chip="950PR_9599", arch="x86_64", framework=f"mindspore=={tested.mindspore().mindspore}"),
    PlanRequest(chip="910B3", arch="aarch64", framework="none", cann="8.3.RC1"),
)


@pytest.mark.parametrize("asked", SAMPLE, ids=lambda asked: f"{asked.chip}-{asked.framework}-{asked.arch}")
def test_whole_scripts_run_to_the_end(asked: PlanRequest, tmp_path: Path) -> None:
    machine, made = Machine(tmp_path, arch=str(asked.arch)), _made(asked)
    machine.supply(made)
    if made.candidate.family == "310B":
        (machine.ascend / "driver").mkdir(parents=True)
        (machine.ascend / "driver/version.info").write_text("Version=23.0.0\n")
    (machine.state / "page").write_text(CPU_BUILDS)
    done = _run(machine, made, TORCH_INDEX="", FAKE_UID="1000", FAKE_USER="me", FAKE_OLD_LOGIN="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"all {len(made.steps)} steps are done"


@pytest.mark.parametrize("asked", SAMPLE[::2], ids=lambda asked: f"{asked.chip}-{asked.framework}-{asked.arch}")
def test_the_run_lines_of_a_dockerfile_run_to_the_end(asked: PlanRequest, tmp_path: Path) -> None:
    """In a folder that stands for the root of the image."""
    machine, made = Machine(tmp_path, arch=str(asked.arch)), _made(asked, container=True)
    machine.supply(made)
    (machine.state / "page").write_text(CPU_BUILDS)
    (machine.programs / "python3").symlink_to("python3.10")
    for folder in ("etc", "root", "usr/local", "var/lib/apt/lists", "tmp"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "usr/local/Ascend").symlink_to(machine.ascend)
    (tmp_path / "tmp/packages").symlink_to(machine.packages)
    text = dockerfile.image(made).replace("\\\n", " ")
    lines = [line.removeprefix("RUN ") for line in text.splitlines() if line.startswith("RUN ")]
    assert lines
    for line in lines:
        for folder in ("/usr/local/Ascend", "/tmp/packages", "/etc/profile", "/root/.bashrc", "/var/lib/apt"):
            line = line.replace(folder, f"{tmp_path}{folder}")
        line = line.replace(f"rm -rf {tmp_path}/tmp/packages", "true")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            env=_environment(machine, TORCH_INDEX="", ASCEND=""),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    if made.candidate.framework == "torch":
        assert any(CPU_BUILDS in line for line in machine.calls("python"))


def test_the_sample_covers_every_layout_of_cann() -> None:
    canns = {_made(asked).candidate.cann for asked in SAMPLE}
    assert any(releases.key(cann) < releases.key("6.3.RC1") for cann in canns)
    assert any(releases.key(cann) >= releases.key("8.5.0") for cann in canns)
