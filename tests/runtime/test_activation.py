"""Emulation is on where it is asked for, says so once, and leaves every other interpreter alone."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.runtime import activation, noise, npus
from jumar.runtime.hooks.hint import HINT

HERE = Path(__file__).parent / "programs"
SITE = Path(sysconfig.get_paths()["purelib"])
LINE = (
    "jumar: 8 emulated Ascend910B3 cards: results are the CPU's, speed is not a card's "
    "(JUMAR_QUIET=1 hides this line)\n"
)
Run = Callable[..., subprocess.CompletedProcess[str]]
needs_torch_npu = pytest.mark.skipif(importlib.util.find_spec("torch_npu") is None, reason="torch_npu is not installed")


def _clean() -> dict[str, str]:
    ours = ("JUMAR_", "ASCEND", "LD_LIBRARY_PATH", "TASK_QUEUE", "PYTHON", "TORCH_DEVICE")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program of the folder beside this file; the environment has nothing of ours but what is given."""

    def call(*words: str, python: str = sys.executable, **variables: str) -> subprocess.CompletedProcess[str]:
        first = [str(HERE / words[0]) if (HERE / words[0]).is_file() else words[0]]
        values = {**_clean(), "JUMAR_MACHINE": tmp_path.name, **variables}
        argv = [python, *first, *words[1:]]
        return subprocess.run(argv, env=values, capture_output=True, text=True, check=False, timeout=300)

    return call


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Path]:
    """A virtual environment: empty, with Jumar alone, or with all that this one has."""

    def make(name: str, has: str) -> Path:
        folder = tmp_path / name
        venv.create(folder, symlinks=True)
        inside = folder / SITE.relative_to(sys.prefix)
        if has == "jumar":
            (inside / "jumar").symlink_to(SITE / "jumar")
            shutil.copy(SITE / "jumar.pth", inside)
        elif has == "all":
            (inside / "all.pth").write_text(f"import site; site.addsitedir({str(SITE)!r})\n")
        return folder

    return make


def _said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Our lines on stderr, but for the one about the glue, which the first program of a day builds."""
    lines = done.stderr.splitlines(keepends=True)
    return [line for line in lines if line.startswith("jumar: ") and "building the emulator" not in line]


def _facts(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_an_interpreter_beside_jumar_is_like_one_without(run: Run, environment: Callable[..., Path]) -> None:
    without, beside = (environment(has, has) / "bin" / "python" for has in ("nothing", "jumar"))
    facts = _facts(run("look.py", python=str(without)))
    assert _facts(run("look.py", python=str(beside))) == facts
    assert _facts(run("look.py", python=str(beside), JUMAR_SOC="Ascend310P3", JUMAR_QUIET="1")) == facts


@needs_torch_npu
def test_beside_torch_npu_only_its_error_is_waited_for(run: Run, environment: Callable[..., Path]) -> None:
    without = environment("nothing", "nothing") / "bin" / "python"
    here, there = _facts(run("look.py")), _facts(run("look.py", python=str(without)))
    finders = [name for name in here.pop("finders") if "Distutils" not in name]  # type: ignore[attr-defined]
    assert finders == ["JumarHint", *there.pop("finders")]  # type: ignore[misc]
    extra = set(here.pop("modules")) - set(there.pop("modules"))  # type: ignore[call-overload]
    assert not [name for name in extra if name.startswith("jumar")]
    assert here == there


@needs_torch_npu
@pytest.mark.parametrize("module", ["torch", "torch_npu"])
def test_torch_npu_fails_as_ever_with_a_hint(run: Run, module: str) -> None:
    done = run("-c", f"import {module}")
    assert done.returncode == 1
    assert "ImportError: lib" in done.stderr
    assert ".so: cannot open shared object file" in done.stderr
    assert done.stderr.count(HINT) == 1


@needs_torch_npu
def test_a_machine_with_cann_gets_no_finder(run: Run, tmp_path: Path) -> None:
    assert "JumarHint" not in _facts(run("look.py", ASCEND_HOME_PATH=str(tmp_path)))["finders"]  # type: ignore[operator]


@needs_torch_npu
def test_the_variable_switches_on_and_says_so(run: Run) -> None:
    done = run("touch.py", JUMAR_EMULATE="1")
    assert (done.stdout, _said(done)) == ("True True 3.0 Ascend910B3\n", [LINE])


@needs_torch_npu
def test_quiet_says_nothing(run: Run) -> None:
    done = run("touch.py", JUMAR_EMULATE="1", JUMAR_QUIET="1")
    assert (done.stdout, _said(done)) == ("True True 3.0 Ascend910B3\n", [])


@needs_torch_npu
def test_run_says_it_once(run: Run) -> None:
    done = run("-m", "jumar", "run", str(HERE / "touch.py"))
    assert done.stdout == "True True 3.0 Ascend910B3\n"
    emulating = "jumar: no NPU found, emulating 8 x Ascend910B3 with 65536 MiB each\n"
    assert _said(done) == [emulating, f"jumar: {noise.TOLD}\n"]
    assert _said(run("-m", "jumar", "run", str(HERE / "touch.py"), JUMAR_QUIET="1")) == []


@needs_torch_npu
@pytest.mark.parametrize(
    "words",
    [
        ("-m", "torch.distributed.run", "--nproc-per-node=2", str(HERE / "ranks.py")),
        ("workers.py",),
        ("processes.py", "spawn"),
        ("processes.py", "fork"),
        ("parent.py",),
    ],
    ids=["torchrun", "workers", "spawn", "fork", "subprocess"],
)
def test_a_process_tree_says_it_once(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words, JUMAR_EMULATE="1", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert _said(done) == [LINE]


def test_nothing_of_a_tree_that_ended_stays(run: Run) -> None:
    done = run("-c", "import os; print(os.environ['JUMAR_ANNOUNCED'])", JUMAR_EMULATE="1")
    assert not list(Path("/dev/shm").glob(f"jumar-*-announced-{done.stdout.strip()}"))


@needs_torch_npu
def test_a_virtual_environment_is_switched_on_and_off(run: Run, environment: Callable[..., Path]) -> None:
    folder = environment("own", "all")
    python = str(folder / "bin" / "python")

    def jumar(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return run("-m", "jumar", "emulate", *words, python=python, **variables)

    assert "emulation is off: nobody asked for it" in jumar("status").stdout
    assert "`jumar emulate off` removes it" in jumar("on", "--cards", "2", "--soc", "310P3").stderr
    told = json.loads(jumar("status", "--json").stdout)
    marker = folder / SITE.relative_to(sys.prefix) / "jumar-emulate.pth"
    assert (told["emulated"], told["by"], told["marker"]) == (True, "environment", str(marker))
    assert told["machine"]["cards"] == 2
    done = run("touch.py", python=python)
    assert done.stdout == "True True 3.0 Ascend310P3\n"
    assert [line[:36] for line in _said(done)] == ["jumar: 2 emulated Ascend310P3 cards:"]
    assert json.loads(jumar("status", "--json", JUMAR_EMULATE="0").stdout)["by"] == "variable"
    assert "cannot open shared object file" in run("touch.py", python=python, JUMAR_EMULATE="0").stderr
    assert "emulation is off for" in jumar("off").stderr
    assert "emulation was not on for" in jumar("off").stderr
    assert "cannot open shared object file" in run("touch.py", python=python).stderr


def test_outside_of_a_virtual_environment_it_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    with pytest.raises(UserError, match="this Python is not in one") as caught:
        activation.switch_on({}, str(tmp_path))
    assert "JUMAR_EMULATE=1" in str(caught.value.hint)


def test_the_variable_beats_the_marker(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    Path(activation.marker(prefix)).parent.mkdir(parents=True)
    assert activation.decide({}, prefix) == (False, "nothing")
    assert activation.decide({"JUMAR_EMULATE": "1"}, prefix) == (True, "variable")
    activation.switch_on({"JUMAR_SOC": "Ascend310P3"}, prefix)
    assert activation.decide({}, prefix) == (True, "environment")
    assert activation.machine(prefix) == {"JUMAR_SOC": "Ascend310P3"}
    assert activation.decide({"JUMAR_EMULATE": "0"}, prefix) == (False, "variable")
    with pytest.raises(UserError, match="`JUMAR_EMULATE=yes` is not a switch"):
        activation.decide({"JUMAR_EMULATE": "yes"}, prefix)


def test_a_value_that_means_nothing_is_told_and_the_program_runs(run: Run) -> None:
    done = run("-c", "print(1)", JUMAR_EMULATE="yes")
    assert (done.stdout, done.stderr) == ("1\n", "jumar: `JUMAR_EMULATE=yes` is not a switch: write 0 or 1\n")


def test_vendor_runtime_on_the_path_is_real(tmp_path: Path) -> None:
    (tmp_path / "libascendcl.so").touch()
    assert npus.has_cann({"LD_LIBRARY_PATH": str(tmp_path)})
    (tmp_path / "libjumar_ascend.so").touch()
    assert not npus.has_cann({"LD_LIBRARY_PATH": str(tmp_path)})


def test_without_emulation_nothing_is_emulated(run: Run) -> None:
    assert run("-c", "import jumar; print(jumar.is_emulated())").stdout == "False\n"
    assert run("-c", "import jumar; print(jumar.is_emulated())", JUMAR_EMULATE="1").stdout == "True\n"
    assert run("-c", "import jumar; print(jumar.is_emulated())", JUMAR_EMULATE="0").stdout == "False\n"
