"""The npu-smi command; the script that `jumar emulate prefix` writes calls `main`.

Source of the options: hicann/driver docs/en/Ascend_950_npu-smi and the vendor's own help text (2026-11-15).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable

from jumar.emulate.smi import machine, queries, table

HELP = """npu-smi of the emulated machine

    npu-smi info                              all NPUs and processes
    npu-smi info -l                           list the NPUs
    npu-smi info -m                           which chip is which device
    npu-smi info -t TYPE -i NPU [-c CHIP]     TYPE: {kinds}
    npu-smi info proc-mem -i NPU              memory of each process
    npu-smi info watch [-i NPU] [-c CHIP] [-d SECONDS]
    npu-smi -v                                version
"""
_WATCH = ("NpuID(Idx)", "ChipId(Idx)", "Pwr(W)", "Temp(C)", "AI Core(%)", "AI Cpu(%)", "Ctrl Cpu(%)", "Memory(%)",
          "Memory BW(%)")  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    try:
        return _run(words)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _run(words: list[str]) -> int:
    found = machine.read(os.environ)
    if words in (["-v"], ["--version"]):
        return _print([f"npu-smi version: {found.driver['version']}"])
    if not words or words[-1] in ("-h", "--help"):
        return _print(HELP.format(kinds=", ".join(queries.ALL_KINDS)).splitlines())
    if words[0] != "info":
        return _refuse(f"`npu-smi {words[0]}` is not emulated; `npu-smi -h` lists what is")
    if words[1:] in ([], ["-a"]):
        return _print(table.lines(found))
    if words[1:] == ["-l"]:
        return _print(queries.listed(found))
    if words[1:] == ["-m"]:
        return _print(queries.mapped(found))
    return _ask(found, words[1:])


def _ask(found: machine.Machine, words: list[str]) -> int:
    kind = words.pop(0) if words[0] in ("watch", "proc-mem") else ""
    options = dict(zip(words[::2], words[1::2]))
    if len(words) % 2 or set(options) - {"-t", "-i", "-c", "-d", "-s"}:
        return _refuse(f"cannot read `npu-smi info {' '.join(words)}`; `npu-smi -h` shows the commands")
    kind = kind or options.get("-t", "")
    if kind not in (*queries.ALL_KINDS, "watch"):
        return _refuse(f"`-t {kind}` is not emulated; these are: {', '.join(queries.ALL_KINDS)}")
    if any(not options.get(name, "0").isdecimal() for name in ("-i", "-c", "-d")):
        return _refuse("the values of `-i`, `-c` and `-d` are numbers")
    npu = int(options["-i"]) if "-i" in options else None
    chip = int(options["-c"]) if "-c" in options else None
    if kind == "watch":
        return _watch(npu, chip, int(options.get("-d", "1")))
    if npu is None:
        return _refuse(f"`-t {kind}` needs `-i NPU`")
    if not any(item.npu == npu and chip in (None, item.chip) for item in found.chips):
        return _refuse(f"no such NPU or chip: this machine has NPU 0 to {found.npus()[-1]}")
    return _print(queries.asked(found, kind, npu, chip))


def _watch(npu: int | None, chip: int | None, seconds: int) -> int:
    _print(["".join(f"{head:<12}" for head in _WATCH)])
    while True:
        found = machine.read(os.environ)
        for item in found.chips:
            if npu in (None, item.npu) and chip in (None, item.chip):
                values = (item.npu, item.chip, table.UNKNOWN, table.UNKNOWN, found.busy(item.card), 0, 0,
                          found.rate(item.card), 0)  # fmt: skip
                _print(["".join(f"{value:<12}" for value in values)])
        time.sleep(max(seconds, 1))


def _print(lines: Iterable[str]) -> int:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
    return 0


def _refuse(message: str) -> int:
    sys.stderr.write(f"npu-smi: {message}\n")
    return 1
