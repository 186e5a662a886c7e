"""`jumar run` watches its program: same exit code, signals and streams, and an explanation of a known failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

OOM = "RuntimeError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB total capacity;"
SAID = "jumar: explanation of the error above\nerror: the NPU ran out of memory\n"


def _watch(code: str) -> list[str]:
    """A process that runs Python code the way `jumar run` runs programs."""
    become = f"lambda: os.execv(sys.executable, [sys.executable, '-c', {code!r}])"
    imports = "import os, sys\nfrom jumar.app import watched\nfrom jumar.cli.cmd_run import tell_why"
    return [sys.executable, "-c", f"{imports}\nsys.exit(watched.run({become}, tell_why))"]


def _run(code: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_watch(code), capture_output=True, text=True, check=False, timeout=60, **more)  # type: ignore[call-overload,no-any-return]


def test_known_failure_is_explained_after_its_own_message() -> None:
    done = _run(f"import sys; print('out'); print({OOM!r}, file=sys.stderr); sys.exit(7)")
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert done.stderr.startswith(f"{OOM}\n\n{SAID}")


@pytest.mark.parametrize(
    "code",
    ["raise ValueError('x')", "pass", f"import sys; print({OOM!r}, file=sys.stderr)", "import sys; sys.exit(130)"],
)
def test_nothing_is_added_to_success_and_to_unknown_failures(code: str) -> None:
    watched = _run(code)
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (watched.returncode, watched.stdout, watched.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_stderr_in_a_file_is_left_alone_and_read_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("Error: NPU out of memory. Tried to allocate of an older run\n")
    code = f"import os, sys; print(os.fstat(2).st_ino); os.write(2, {OOM!r}.encode() + b'\\n'); sys.exit(1)"
    with path.open("a") as file:
        done = subprocess.run(_watch(code), stdout=subprocess.PIPE, stderr=file, text=True, check=False, timeout=60)
    assert (done.returncode, int(done.stdout)) == (1, path.stat().st_ino)
    assert SAID in path.read_text()
    assert "  stderr:1: RuntimeError" in path.read_text()


def test_death_by_signal_is_the_same_death() -> None:
    done = _run("import os, signal; os.kill(os.getpid(), signal.SIGABRT)")
    assert done.returncode == -signal.SIGABRT


def test_termination_reaches_the_program() -> None:
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5));"
        " print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(_watch(code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.terminate()
        assert process.wait(timeout=60) == 5


def test_program_does_not_outlive_a_killed_parent() -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen(_watch(code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    for _ in range(600):
        if not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes():
            break
        time.sleep(0.01)
    else:
        pytest.fail("the program lives on")


def test_terminal_stays_a_terminal() -> None:
    import pty

    ours, theirs = pty.openpty()
    try:
        code = f"import sys; print(sys.stderr.isatty()); print({OOM!r}, file=sys.stderr); sys.exit(1)"
        with subprocess.Popen(_watch(code), stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.read() == "True\n"
            assert process.wait(timeout=60) == 1
        said = os.read(ours, 1 << 16).decode().replace("\r", "")
    finally:
        os.close(ours)
        os.close(theirs)
    assert said.startswith(OOM)
    assert SAID in said


def test_grandchild_that_lives_on_does_not_hold_it_up() -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3)'])"
    done = subprocess.run(_watch(code), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 0


def test_much_output_keeps_its_beginning_and_end() -> None:
    from jumar.app.watched import KEPT, _Kept

    kept = _Kept()
    kept.add(b"first")
    for _ in range(300):
        kept.add(b"x" * (KEPT // 50))
    kept.add(b"last")
    text = kept.text()
    assert text.startswith(b"first") and text.endswith(b"last")
    assert len(text) < 3 * KEPT
