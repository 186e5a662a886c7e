"""How long `jumar doctor` takes beyond the slowest vendor command, on the emulated machine with 8 cards.

usage: python bench/doctor.py

The peer is a script that asks the same commands one after the other. Needs an installed package (the stand-ins).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from jumar.emulate import env, prefix
from jumar.machine import check
from jumar.machine.host import Host
from jumar.machine.probe import TIMEOUT, Ran
from jumar.machine.probe.local import Local


class Timed(Local):
    """Keeps how long each command took."""

    def __init__(self, environ: dict[str, str]) -> None:
        super().__init__(environ)
        self.asked: dict[tuple[str, ...], float] = {}

    def run(self, command: Sequence[str], timeout: float = TIMEOUT) -> Ran:
        begin = time.perf_counter()
        ran = super().run(command, timeout)
        self.asked[tuple(command)] = time.perf_counter() - begin
        return ran


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="jumar-bench-") as scratch:
        place = Path(scratch, "Ascend")
        values = env.environment(cards=8, base={})
        prefix.write(place, prefix.build(place, values))
        environ = prefix.environment(place, values, os.environ)
        print(f"{'npu-smi':<12} {'checks':>8} {'slowest':>8} {'beyond':>8} {'commands':>9} {'in turn':>8} {'ratio':>7}")
        for name, delay in (("as it is", 0), ("3 s slower", 3)):
            tool = place / "bin" / "npu-smi"
            if delay:
                tool.write_text(tool.read_text().replace("exec ", f"sleep {delay}; exec ", 1))
            measure(name, {**os.environ, **environ})


def measure(name: str, environ: dict[str, str]) -> None:
    probe = Timed(environ)
    begin = time.perf_counter()
    outcomes = check.run(Host(probe), check.units())
    took = time.perf_counter() - begin
    slowest = max(probe.asked.values())
    begin = time.perf_counter()
    for command in list(probe.asked):
        probe.run(command)
    in_turn = time.perf_counter() - begin
    red = [outcome.check.name for outcome in outcomes if outcome.findings]
    assert not red, red
    print(
        f"{name:<12} {took:>7.2f}s {slowest:>7.2f}s {took - slowest:>7.2f}s {len(probe.asked):>9}"
        f" {in_turn:>7.2f}s {in_turn / took:>6.1f}x"
    )


if __name__ == "__main__":
    main()
