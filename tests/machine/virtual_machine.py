"""A copy of the emulated machine to be damaged: its folder, and tools that give recorded answers at once."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from jumar.emulate import env, hccn_tool, prefix
from jumar.emulate.smi import main as smi
from jumar.machine import check
from jumar.machine.host import Host
from jumar.machine.probe.local import Local
from jumar.machine.probe.recorded import Recorded, Recorder
from jumar.runtime import variables
from jumar.tables import tested
from jumar.tables.load import table

TORCH, NPU, CANN = tested.pair().torch, tested.pair().torch_npu, tested.pair().cann
FACTS: dict[str, Any] = {
    "executable": "/opt/venv/bin/python3", "version": "3.11.7", "prefix": "/opt/venv", "machine": platform.machine(),
    "libc": ["glibc", "2.36"], "shared": True, "binaries": {}, "speaks": {"torch": []},
    "packages": {"torch": {"version": f"{TORCH}+cpu"}, "torch-npu": {"version": NPU}, "numpy": {"version": "2.4.6"}},
    "modules": {"torch": "/opt/venv/lib/torch/__init__.py", "torch_npu": "/opt/venv/lib/torch_npu/__init__.py"},
}  # fmt: skip
TOOL = """file="{answers}/{tool} $*"
[ -f "$file" ] || {{ echo "{tool}: no answer to $*" >&2; exit 1; }}
cat "$file"
"""


class Machine:
    """The folder `root`, the variables of its shell, and files under `answers` that its tools print."""

    def __init__(self, place: Path, soc: str = "910B3", cards: int = 2, **more: str) -> None:
        self.root, self.answers = place / "Ascend", place / "answers"
        # A name of its own: without one, every emulated program of this host is a process of this machine too.
        own = {variables.MACHINE.name: f"test-{os.getpid()}-{place.name}"}
        values = {**env.environment(soc=soc, cards=cards, base={}), **own, **more}
        prefix.write(self.root, prefix.build(self.root, values))
        self.home = self.root / "ascend-toolkit" / "latest"
        self.environ = prefix.environment(self.root, values, {"PATH": os.defpath, "HOME": str(place)})
        self.environ["LD_LIBRARY_PATH"] = f"{self.home}/lib64"
        self._libraries()
        self._tools(values, cards)
        self.python()

    def python(self, **changes: Any) -> None:
        """What the program of python_facts prints; packages are added to those that are there, None takes one away."""
        facts = json.loads(json.dumps(FACTS))
        for name, version in changes.pop("packages", {}).items():
            facts["packages"].pop(name, None)
            if version is not None:
                facts["packages"][name] = {"version": version} if isinstance(version, str) else version
        self.write("answers/python.json", json.dumps(facts | changes))

    def write(self, name: str, text: str) -> None:
        path = self.root.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        path = self.root.parent / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}: {text}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def tool(self, name: str, script: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def doctor(self, *only: str, patience: float = 10) -> dict[str, check.Outcome]:
        outcomes = check.run(Host(Local(self.environ), patience=patience), check.chosen(only, ()), 30)
        return {outcome.check.name: outcome for outcome in outcomes}

    def _libraries(self) -> None:
        folder = self.home / "lib64"
        folder.unlink()
        folder.mkdir()
        for name in [*table("machine.toml")["toolkit"]["libraries"], "libopapi.so"]:
            (folder / name).touch()

    def _tools(self, values: Mapping[str, str], cards: int) -> None:
        npu = ["info", "info -t board -i 0", *(f"info -t ecc -i {npu}" for npu in range(cards))]
        npu += [f"info -t health -i {npu} -c {chip}" for npu in range(cards) for chip in range(2)]
        ports = [f"-i {card} -{topic} -g" for card in range(cards) for topic in ("ip", "link", "tls")]
        for tool, main, asked in (("npu-smi", smi.main, npu), ("hccn_tool", hccn_tool.main, ports)):
            for words in asked:
                text = _printed(main, words.split(), {**values, "JUMAR_PREFIX": str(self.root)})
                if text:
                    self.write(f"answers/{tool} {words}", text)
            self.tool(tool, TOOL.format(answers=self.answers, tool=tool))
        shutil.copy(self.root / "bin" / "hccn_tool", self.root / "driver" / "tools" / "hccn_tool")
        self.tool("python3", f"cat '{self.answers}/python.json'")
        self.tool("python", f"cat '{self.answers}/python.json'")


def _printed(main: Any, words: list[str], values: Mapping[str, str]) -> str:
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, values), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return out.getvalue() if code == 0 else ""


def red(outcomes: Mapping[str, check.Outcome]) -> list[str]:
    """The checks that found something wrong."""
    return [name for name, outcome in outcomes.items() if outcome.status in (check.Status.ERROR, check.Status.WARNING)]


class Snapshot:
    """A real server as `--collect` would have recorded it: the emulated machine with its folder at the usual place."""

    def __init__(self, place: Path, soc: str = "910B3", **more: str) -> None:
        machine = Machine(place, soc, 2, **more)
        recorder = Recorder(Local(machine.environ))
        check.run(Host(recorder), check.units(), 30)
        text = recorder.save(place / "collected", str).read_text(encoding="utf-8")
        text = text.replace(str(machine.root), "/usr/local/Ascend")
        for folder in ("dev", "etc", "sys"):
            text = text.replace(f"/usr/local/Ascend/{folder}/", f"/{folder}/")
        self.kept: dict[str, Any] = json.loads(text)
        for name in [name for name in self.kept["environ"] if name.startswith("JUMAR")]:
            del self.kept["environ"][name]
        self.paths("/.dockerenv")
        self.paths("/run/.containerenv")
        for path in ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"):
            self.paths(path, path)
        self.file("/proc/1/cgroup", "0::/init.scope\n")
        self.file(
            "/proc/self/limits", "Max processes  unlimited unlimited processes\nMax open files 65535 65535 files\n"
        )
        self.run("df -Pk /dev/shm", "Filesystem 1024-blocks Used Available\ntmpfs 263000000 0 263000000 0% /dev/shm\n")
        self.file("/proc/meminfo", "MemTotal: 1056000000 kB\nHugePages_Total: 0\nHugepagesize: 2048 kB\n")

    def paths(self, pattern: str, *found: str) -> None:
        self.kept["paths"][pattern] = list(found)

    def file(self, path: str, text: str | None) -> None:
        self.kept["files"][path] = [text, "" if text is not None else "missing"]

    def run(self, command: str, out: str, code: int = 0, problem: str = "") -> None:
        self.kept["runs"][json.dumps(command.split())] = [code, out, "", problem]

    def change(self, kind: str, part: str, old: str, new: str) -> None:
        """In the one text of `kind` (files or runs) whose name holds `part`."""
        (key,) = [key for key in self.kept[kind] if part in key]
        row = self.kept[kind][key]
        at = 0 if kind == "files" else 1
        assert old in row[at], row
        row[at] = row[at].replace(old, new)

    def doctor(self, *only: str) -> dict[str, check.Outcome]:
        probe = Recorded(self.kept, "a recorded machine")
        return {item.check.name: item for item in check.run(Host(probe), check.chosen(only, ()), 30)}
