"""Ctrl-C in the middle of a run on several processes: one line, no traceback, no waiting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from program_files import program_text

CODE = program_text(__file__, "interrupted_analysis")


def test_interrupt_is_one_line(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"f{number}.py").write_text('device = "cuda"\n')
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.decode()) == (130, "error: interrupted\n")
