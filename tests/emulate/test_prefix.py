"""The virtual CANN directory: the guides' commands work in it as they are written."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.emulate import env, prefix
from jumar.tables import tested

Jumar = Callable[..., Any]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    target = tmp_path / "Ascend"
    prefix.write(target, prefix.build(target, env.environment(soc="910B3", cards=4, base={})))
    return target


def _shell(command: str, machine: str, cwd: Path, **variables: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("JUMAR_", "ASCEND"))}
    done = subprocess.run(
        ["bash", "-ec", command], cwd=cwd, env={**clean, "JUMAR_MACHINE": machine, **variables},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_of_an_installation_are_there(place: Path, golden: Callable[[str, str], None]) -> None:
    def outside(path: Path) -> bool:
        return os.path.isabs(os.readlink(path))

    names = [
        f"{path.relative_to(place)}{f' -> {os.readlink(path)}' if path.is_symlink() and not outside(path) else ''}"
        for path in sorted(place.rglob("*"))
        if path.is_symlink() or path.is_file()
    ]
    arch = platform.machine()
    if arch != "x86_64":
        pytest.skip("the list was recorded on x86-64")
    golden("prefix.txt", "\n".join(names).replace(f"cann-{tested.pair().cann}", "cann-VERSION") + "\n")


def test_commands_of_the_guides_work(place: Path, machine: str, tmp_path: Path) -> None:
    command = f"""
source {place}/ascend-toolkit/set_env.sh
source {place}/ascend-toolkit/set_env.sh
npu-smi info > smi.txt
npu-smi info -l
hccn_tool -i 0 -ip -s address 192.168.100.101 netmask 255.255.255.0
{place}/driver/tools/hccn_tool -i 0 -ip -g
cd {place}/ascend-toolkit/latest/aarch64-linux
cat ascend_toolkit_install.info
cat {place}/ascend-toolkit/latest/opp_kernel/version.info
cat {place}/driver/version.info {place}/firmware/version.info
echo "$PATH" | tr : '\\n' | grep -c "^{place}/bin$"
echo "$JUMAR_SOC $JUMAR_CARDS $ASCEND_HOME_PATH"
"""
    out = _shell(command, machine, tmp_path)
    assert "Total Count                    : 4" in out
    assert "ipaddr:192.168.100.101" in out
    assert f"package_name=Ascend-cann-toolkit\nversion={tested.pair().cann}" in out
    assert "Version=26.1.0" in out
    assert out.splitlines()[-2:] == ["1", f"Ascend910B3 4 {place}/ascend-toolkit/latest"]
    assert "910B3" in (tmp_path / "smi.txt").read_text()


def test_variables_win_over_the_prefix(place: Path, machine: str, tmp_path: Path) -> None:
    out = _shell(f"source {place}/cann/set_env.sh; npu-smi info -l", machine, tmp_path, JUMAR_CARDS="2")
    assert "Total Count                    : 2" in out


def test_old_releases_have_the_old_layout(tmp_path: Path) -> None:
    entries = prefix.build(tmp_path, {**env.environment(base={}), "JUMAR_CANN": "8.1.RC1"})
    assert entries["ascend-toolkit/latest"].link == "8.1.RC1"
    assert "ascend-toolkit/8.1.RC1/opp/version.info" in entries
    assert "cann" not in entries


def test_writing_again_keeps_addresses(place: Path) -> None:
    (place / "etc" / "hccn.conf").write_text("address_0=10.0.0.1\n")
    prefix.write(place, prefix.build(place, env.environment(soc="910B4", cards=2, base={})))
    assert (place / "etc" / "hccn.conf").read_text() == "address_0=10.0.0.1\n"
    assert "Ascend910B4" in (place / "bin" / "npu-smi").read_text()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").touch()
    with pytest.raises(UserError, match="was not written by Jumar"):
        prefix.write(tmp_path / "theirs", {})
    with pytest.raises(UserError, match="cannot write"):
        prefix.write(Path("/proc/nowhere/prefix"), {})
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_env_prints_what_a_shell_needs(jumar: Jumar, machine: str, tmp_path: Path) -> None:
    done = jumar("emulate", "env", "--soc", "310P3", "--cards", "2")
    assert done.code == 0
    script = tmp_path / "env.sh"
    script.write_text(done.out)
    assert "310P3" in _shell(f". {script}; npu-smi info; command -v python", machine, tmp_path)
    assert "export JUMAR_EMULATE=1" in done.out


def test_migration_tool_of_the_vendor_is_there(place: Path, machine: str, tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "a.py").write_text('import torch\nx = torch.ones(1, device="cuda")\n')
    tool = place / "ascend-toolkit/latest/tools/ms_fmk_transplt"
    _shell(
        f"cd {tool}; ./pytorch_gpu2npu.sh -i {tmp_path}/net -o {tmp_path}/out -v 2.1.0 || test $? -eq 1",
        machine,
        tmp_path,
    )
    assert '"npu"' in (tmp_path / "out" / "net_msft" / "a.py").read_text()
    assert (tmp_path / "out" / "net_msft" / "change_list.csv").exists()


def test_npu_smi_starts_quickly(place: Path, machine: str) -> None:
    import resource

    tool = shutil.which(str(place / "bin" / "npu-smi"))
    assert tool
    best = 10.0
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([tool, "info"], check=True, stdout=-3, env={**os.environ, "JUMAR_MACHINE": machine})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert best < 0.2, f"{best:.3f} s"
