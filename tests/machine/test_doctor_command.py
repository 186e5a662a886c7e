"""`jumar doctor` as a user types it: choosing checks, other machines, sharing, and everything that can go wrong."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from virtual_machine import Machine

from jumar.machine import check
from jumar.machine.check import Check, Outcome, Report, Status, Unit
from jumar.machine.host import Host
from jumar.machine.probe import LATE, MISSING
from jumar.machine.probe.local import Local, run
from jumar.machine.python_facts import SCRIPT
from jumar.machine.share import scrubber

Jumar = Callable[..., Any]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """The emulated machine, with this process in its shell."""
    found = Machine(tmp_path / "machine")
    for name in [name for name in os.environ if name.startswith(("ASCEND", "JUMAR_"))]:
        monkeypatch.delenv(name)
    for name, value in found.environ.items():
        monkeypatch.setenv(name, value)
    yield found


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without anything of Ascend's."""
    for name in [name for name in os.environ if name.startswith(("ASCEND", "JUMAR_"))]:
        monkeypatch.delenv(name)
    if Host(Local(os.environ)).has_npus():
        pytest.skip("this machine has NPUs")
    monkeypatch.setenv("HOME", str(tmp_path))


def test_good_machine_exits_with_0(machine: Machine, jumar: Jumar) -> None:
    done = jumar("doctor")
    assert done.code == 0, done.out
    assert "DR204 ok npu-smi: 26.1.0, 2 x 910B3\n" in done.out
    every = len(check.units())
    assert re.search(rf"this machine \(emulated\): {every} checks in \d+\.\d s: \d+ ok, \d+ skipped", done.err)


def test_finding_exits_with_1_and_has_a_fix(machine: Machine, jumar: Jumar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH")
    monkeypatch.delenv("ASCEND_TOOLKIT_HOME")
    done = jumar("doctor", "--quiet")
    assert done.code == 1
    first, fix = done.out.splitlines()
    assert first.startswith("DR403 error the environment of CANN is not set")
    assert fix == f"    fix: source {machine.root}/cann/set_env.sh"
    assert done.err == ""


def test_verbose_tells_each_variable_and_chip(machine: Machine, jumar: Jumar) -> None:
    lines = jumar("doctor", "--verbose", "--only", "environment", "--only", "npu-smi").out.splitlines()
    assert f"    ASCEND_OPP_PATH={machine.home}/opp   should be {machine.home}/opp" in lines
    assert f"    LD_LIBRARY_PATH={machine.home}/lib64   should list {machine.home}/lib64" in lines
    assert "    NPU 1 chip 0 910B3 0000:03:00.0: OK, busy 0%, memory 0 of 65536 MB" in lines


def test_json_has_one_shape(machine: Machine, jumar: Jumar) -> None:
    (machine.home / "lib64" / "libhccl.so").unlink()
    done = jumar("doctor", "--json")
    found = json.loads(done.out)
    assert done.code == 1
    assert found["machine"] == {"name": "this machine", "emulated": True}
    skipped = sum(row["status"] == "skipped" for row in found["checks"])
    assert (found["summary"]["error"], found["summary"]["ok"]) == (1, len(check.units()) - 1 - skipped)
    (bad,) = [row for row in found["checks"] if row["status"] == "error"]
    assert (bad["id"], bad["name"], bad["findings"][0]["level"]) == ("DR401", "toolkit", "error")
    assert found["errors"] == []


def test_checks_are_listed_run_alone_and_skipped(machine: Machine, jumar: Jumar) -> None:
    listed = jumar("doctor", "--list").out.splitlines()
    assert len(listed) == len(check.units()) and listed[0].startswith("DR101  system ")
    rows = json.loads(jumar("doctor", "--list", "--json").out)["checks"]
    assert rows[0]["name"] == "system"
    assert [line[:5] for line in jumar("doctor", "--only", "npu-smi", "--only", "dr205").out.splitlines()] == [
        "DR204",
        "DR205",
    ]
    skipped = jumar("doctor", "--skip", "DR204", "--skip", "ecc").out
    assert "DR204" not in skipped and "DR207" not in skipped and "DR205" in skipped


def test_unknown_check_gets_the_nearest(jumar: Jumar) -> None:
    done = jumar("doctor", "--only", "enviroment")
    assert (done.code, done.err) == (2, "error: no such check: `enviroment`\n\nhint: did you mean `environment`?\n")


def test_machine_without_npus_is_told_about_the_emulator(plain: None, jumar: Jumar) -> None:
    done = jumar("doctor", "--only", "devices", "--only", "npu-smi", "--only", "system")
    assert done.code == 0
    assert "DR201 note no NPU in this machine" in done.out
    assert "fix: jumar emulate shell" in done.out
    assert "DR204 skipped npu-smi: no NPU in this machine" in done.out
    assert "DR101 ok system" in done.out


def test_collected_folder_gives_the_same_findings(
    machine: Machine, jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.home / "lib64" / "libhccl.so").unlink()
    there = jumar("doctor")
    done = jumar("doctor", "--collect", tmp_path / "collected")
    assert done.code == 0 and "machine.json" in done.err
    for name in machine.environ:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "/nowhere")
    here = jumar("doctor", "--from", tmp_path / "collected")
    assert (here.code, here.out) == (1, there.out)
    assert "PRIVATE" not in (tmp_path / "collected" / "machine.json").read_text()


def test_collected_folder_keeps_other_variables_out(
    machine: Machine, jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "PRIVATE")
    jumar("doctor", "--collect", tmp_path / "collected", "--only", "system")
    assert "PRIVATE" not in (tmp_path / "collected" / "machine.json").read_text()


@pytest.mark.parametrize("text, message", [
    (None, "cannot read"), ("{", "is not a collected machine"), ("[]", "of format 1"), ('{"format": 1}', "is damaged"),
    ('{"format": 1, "environ": [], "runs": {}, "files": {}, "paths": {}}', "`environ` is not a table"),
    ('{"format": 1, "environ": {}, "runs": {"a": 1}, "files": {}, "paths": {}}', "is damaged"),
])  # fmt: skip
def test_folder_that_is_no_machine(text: str | None, message: str, tmp_path: Path, jumar: Jumar) -> None:
    if text is not None:
        (tmp_path / "machine.json").write_text(text)
    done = jumar("doctor", "--from", tmp_path)
    assert done.code == 2
    assert message in done.err and "Traceback" not in done.err


def test_old_folder_says_what_was_not_collected(machine: Machine, jumar: Jumar, tmp_path: Path) -> None:
    jumar("doctor", "--collect", tmp_path / "old")
    path = tmp_path / "old" / "machine.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"runs": {}, "environ": {}}))
    done = jumar("doctor", "--from", tmp_path / "old")
    assert "DR201 skipped devices: the PCI bus: not collected" in done.out
    assert "DR002" not in done.out


def test_one_machine_at_a_time(jumar: Jumar, tmp_path: Path) -> None:
    done = jumar("doctor", "--from", tmp_path, "--host", "a@b")
    assert (done.code, done.err.splitlines()[0]) == (2, "error: `--from` excludes `--host` and `--collect`")


def _fake_ssh(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    path = folder / "ssh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_other_host_over_ssh(machine: Machine, jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in machine.environ:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("SHELL", "/bin/sh")
    exports = "".join(f"export {name}='{value}'\n" for name, value in machine.environ.items())
    (tmp_path / "there.sh").write_text(exports)
    script = f"""for word; do last=$word; done
case "$*" in *"-O exit"*) exit 0;; esac
case "$last" in *jumar-environment*) . {tmp_path}/there.sh; echo banner; echo jumar-environment; exec env -0;; esac
exec sh -c "$last" """
    _fake_ssh(tmp_path / "bin", script, monkeypatch)
    done = jumar("doctor", "--host", "alice@node7")
    assert done.code == 0, done.out + done.err
    assert "DR204 ok npu-smi: 26.1.0, 2 x 910B3" in done.out
    assert f"alice@node7 (emulated): {len(check.units())} checks" in done.err


@pytest.mark.parametrize("as_json", [False, True])
def test_broken_ssh_is_a_finding(as_json: bool, jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_ssh(
        tmp_path / "bin", "echo 'ssh: connect to host node7 port 22: No route to host' >&2; exit 255", monkeypatch
    )
    done = jumar("doctor", "--host", "alice@node7", *(["--json"] if as_json else []))
    assert done.code == 2
    assert "cannot reach `alice@node7`: ssh: connect to host node7 port 22: No route to host" in done.out
    assert "DR001" in done.out and "Traceback" not in done.out + done.err


def test_ssh_that_breaks_in_the_middle(jumar: Jumar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """for word; do last=$word; done
case "$last" in *jumar-environment*) echo jumar-environment; exec env -0;; esac
exit 255"""
    _fake_ssh(tmp_path / "bin", script, monkeypatch)
    done = jumar("doctor", "--host", "node7")
    assert done.code == 2
    assert done.out.startswith("DR001 error cannot reach `node7`: the connection was lost during the checks\n")
    assert "Traceback" not in done.err


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "a b", "", "a;b", "$(id)"])
def test_host_that_is_none(host: str, jumar: Jumar) -> None:
    done = jumar("doctor", f"--host={host}")
    assert done.code == 2 and f"not a host name: `{host}`" in done.err


def test_check_that_breaks_does_not_stop_the_others(machine: Machine) -> None:
    def broken(host: Host) -> Report:
        raise KeyError("secret of a check")

    def fine(host: Host) -> Report:
        return Report("well")

    units = [Unit(Check("DR901", "broken", ""), broken), Unit(Check("DR902", "fine", ""), fine)]
    first, second = check.run(Host(Local(machine.environ)), units)
    assert (first.status, first.findings[0].id) == (Status.ERROR, "DR002")
    assert "the check `broken` failed: KeyError: 'secret of a check' (broken, line " in first.findings[0].message
    assert second == Outcome(second.check, Status.OK, "well", (), second.seconds)


def test_check_that_hangs_is_left_behind(machine: Machine) -> None:
    import threading

    never = threading.Event()

    def hangs(host: Host) -> Report:
        never.wait(30)
        return Report("")

    (found,) = check.run(Host(Local(machine.environ)), [Unit(Check("DR901", "hangs", ""), hangs)], 0.1)
    never.set()
    assert found.findings[0].id == "DR003" and "did not finish within 0 s" in found.findings[0].message


def test_commands_that_hang_fail_or_are_missing() -> None:
    assert run(["sh", "-c", "sleep 60 & echo started; wait"], 0.5).problem == LATE
    assert run(["/nowhere/npu-smi"], 1).problem == MISSING
    assert run(["/"], 1).problem
    done = run(["sh", "-c", "echo out; echo err >&2; exit 3"], 5)
    assert (done.code, done.said, done.good) == (3, "out\nerr", False)


def test_shared_report_has_no_names(machine: Machine, jumar: Jumar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "alice")
    monkeypatch.setenv("ASCEND_OPP_PATH", "/home/alice/opp")
    machine.change("Ascend/etc/hccn.conf", "address_1=192.168.101.101", "address_1=192.168.100.101")
    plain, shared = jumar("doctor"), jumar("doctor", "--share")
    assert "/home/alice/opp" in plain.out and "192.168.100.101" in plain.out
    assert "alice" not in shared.out and "192.168.100.101" not in shared.out
    assert "`ASCEND_OPP_PATH` is `/home/<user>/opp`" in shared.out
    assert "have the same address <address>" in shared.out
    found = json.loads(jumar("doctor", "--share", "--json").out)
    assert "alice" not in json.dumps(found) and found["summary"]["error"] == 2
    assert "7.7.0.9.220" in shared.out and "26.1.0" in shared.out


def test_what_is_taken_out(machine: Machine) -> None:
    machine.change("answers/npu-smi info", "Version: 26.1.0", "Version: 23.0.2.1")
    environ = {**machine.environ, "USER": "bob", "HOSTNAME": "gpu-node-7"}
    scrub = scrubber(Host(Local(environ)), ["carol@10.1.2.3"])
    for secret in (
        "bob",
        "gpu-node-7",
        "carol",
        "10.1.2.3",
        "fe80:1:2:3:4:5:6:7",
        "a0:b1:c2:d3:e4:f5",
        "hf_" + "a1" * 15,
    ):
        assert secret not in scrub(f"see {secret} there"), secret
    assert scrub("HF_TOKEN=abc123 PASSWORD: x9") == "HF_TOKEN=<secret> PASSWORD: <secret>"
    assert scrub("http://me:pw@proxy:3128") == "http://<login>@proxy:3128"
    assert scrub("write to me@example.com") == "write to <mail>"
    assert scrub("Serial Number                  : 033VNY10MB000071") == "Serial Number                  : <serial>"
    kept = "driver 23.0.2.1, bobsled, firmware 7.1.0.7.220, bus 0000:C1:00.0, 127.0.0.1, /home/HwHiAiUser/Ascend"
    assert scrub(kept) == kept


def test_program_that_asks_a_python(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in (
        "te-0.0.0.dist-info",
        "torch_npu-2.6.0.post1.dist-info",
        "MindSpore-2.7.1.dist-info",
        "old-1.0-py3.11.egg-info",
    ):
        (site / name).mkdir(parents=True)
    (site / "MindSpore-2.7.1.dist-info" / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-none-any\n")
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text("import os\nimport mindspore as ms\n")
    (site / "mindspore").mkdir()
    (site / "mindspore" / "__init__.py").touch()
    header = b"\x7fELF" + bytes(14) + (183).to_bytes(2, "little")
    (site / "mindspore" / "_c_expression.cpython-311-aarch64-linux-gnu.so").write_bytes(header)
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path = [{str(site)!r}, *sys.path]\n{SCRIPT}"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    found = json.loads(done.stdout)
    versions = {name: row["version"] for name, row in found["packages"].items()}
    assert versions["te"] == "0.0.0" and versions["torch-npu"] == "2.6.0.post1" and versions["old"] == "1.0"
    assert found["packages"]["mindspore"]["tags"] == "cp311-none-any"
    assert found["binaries"] == {"mindspore": "aarch64"}
    assert found["speaks"] == {"torch": ["mindspore"]}
