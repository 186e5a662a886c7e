"""One side of the self-test as a process: runs cases one after the other and writes a line for each.

It is started by its path, with the variables of its side; `Watch` of run.py reads the lines. The emulator's side also
judges what the card left. An error ends the process, because a card may be of no use after one.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # found by its path: the package may be on no path of this interpreter
    own = str(Path(__file__).resolve().parents[2])
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
    if own not in sys.path:
        sys.path.append(own)

from jumar.selftest import case, outcome
from jumar.selftest.case import Unit
from jumar.selftest.outcome import Outcome

LINES, ENDED_EARLY = "lines.jsonl", 4
_FALLBACK = re.compile(r"operator '([\w:.]+)'.*(?:fall ?back|run on the CPU)", re.S)


class Child:
    """The job of this process: which cases, on which card, with which files."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = job
        self.out = Path(job["out"])
        self.lines = open(self.out / LINES, "a", encoding="utf-8", buffering=1)  # noqa: SIM115
        self.device = f"npu:{job['device']}"
        self.cards: dict[Path, dict[str, dict[str, Any]]] = {}
        self.options = {"folder": job["scratch"], "rank": job["rank"], "world": job["world"]}

    def say(self, **fields: Any) -> None:
        self.lines.write(json.dumps(_plain(fields)) + "\n")

    def work(self) -> int:
        try:
            machine = self._begin()
        except BaseException as error:
            self.say(failed=outcome.described(error))
            return ENDED_EARLY
        self.say(machine=machine)
        known = {unit.id: unit for unit in case.units()}
        for id_ in self.job["cases"]:
            self.say(begin=id_)
            done, fatal = self._case(known[id_])
            self.say(end=id_, **done)
            if fatal:
                return ENDED_EARLY
        self._end()
        return 0

    def _begin(self) -> dict[str, Any]:
        import torch
        import torch_npu

        from jumar.runtime import standins

        torch.set_warn_always(True)  # or a fallback is told once in a process, wherever that is
        torch.set_num_threads(max(1, min(4, (os.cpu_count() or 1) // 2)))
        torch.npu.set_device(int(self.job["device"]))
        torch.zeros(1, device=self.device).add_(1).cpu()
        if self.job["world"] > 1:
            self._join(torch)
        properties = torch.npu.get_device_properties(int(self.job["device"]))
        return {
            "emulated": standins.are_used(), "name": torch.npu.get_device_name(int(self.job["device"])),
            "cards": torch.npu.device_count(), "memory_mib": properties.total_memory >> 20,
            "torch": torch.__version__, "torch_npu": torch_npu.__version__, "python": sys.version.split()[0],
        }  # fmt: skip

    def _join(self, torch: Any) -> None:
        torch.distributed.init_process_group(
            "hccl", init_method=f"file://{self.job['meet']}", rank=self.job["rank"], world_size=self.job["world"]
        )

    def _end(self) -> None:
        if self.job["world"] > 1:
            import torch

            torch.distributed.destroy_process_group()

    def _case(self, unit: Unit) -> tuple[dict[str, Any], bool]:
        """What it left, and whether this process is of no use any more."""
        from jumar.selftest import take
        from jumar.selftest.given import Given

        missing = [name for name in unit.case.needs if not _has(name)]
        if missing:
            return {"skipped": f"this torch_npu has no `{missing[0]}`"}, False
        gc.collect()
        taken, seconds, repeated, error = None, 0.0, 0.0, {}
        with _told() as told:
            try:
                for again in range(1 if unit.case.timed or unit.case.raises else 2):
                    before, begun = taken, time.perf_counter()
                    taken = take.once(unit, Given(unit.id, unit.dtype, self.device, **self.options))
                    seconds = time.perf_counter() - begun
                    if again:
                        repeated = _repeated(before, taken)
            except Exception as raised:
                error = outcome.described(raised)
        refused = self._refused()
        state = outcome.ERROR if error else outcome.DONE
        facts = taken.facts if taken and not error else {}
        fallbacks = tuple(sorted({found[1] for text in told if (found := _FALLBACK.search(text))}))
        left = Outcome(state, facts, error, round(seconds, 6), repeated, fallbacks, refused)
        if taken and not error:
            self._keep(unit, taken)
        return {**left._asdict(), **self._judged(unit, taken, left)}, bool(error) and not unit.case.raises

    def _keep(self, unit: Unit, taken: Any) -> None:
        import torch

        torch.save(taken.tensors, self.out / file_of(unit.id))

    def _judged(self, unit: Unit, taken: Any, left: Outcome) -> dict[str, Any]:
        """The evidence on what the card's side left for the same case."""
        if not self.job["against"] or left.state != outcome.DONE or unit.case.timed or unit.case.raises:
            return {}
        from jumar.selftest.judge import Judge

        judge, found = Judge(unit, self.device, taken, self.options), {}
        for label, folder in self.job["against"].items():
            card = self._card(Path(folder), unit)
            if card is not None:
                found[label] = {"differs": judge.evidence(card), "noise": judge.noise(card)}
        return {"judged": found}

    def _card(self, folder: Path, unit: Unit) -> Any:
        import torch

        from jumar.selftest.take import Taken

        if folder not in self.cards:
            self.cards[folder] = ended(folder)
        facts = self.cards[folder].get(unit.id, {})
        if facts.get("state") != outcome.DONE:
            return None
        return Taken(facts["results"], torch.load(folder / file_of(unit.id), weights_only=True))

    def _refused(self) -> tuple[str, ...]:
        from jumar.runtime import refusals

        path = self.job.get("refusals")
        if not path:
            return ()
        found = [item for item in refusals.read(Path(path)) if item.kind is not refusals.Kind.FALLBACK]
        with contextlib.suppress(OSError):
            os.truncate(path, 0)
        return tuple(item.name for item in found)


def ended(folder: Path) -> dict[str, dict[str, Any]]:
    """The last line of each case that came to its end, by id."""
    return {fields["end"]: fields for fields in read(folder) if "end" in fields}


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines that a child has written so far; an unfinished one is left out."""
    try:
        text = (folder / LINES).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            with contextlib.suppress(ValueError):
                yield json.loads(line)


def file_of(id_: str) -> str:
    return f"{id_.replace('/', '+')}.pt"


def _repeated(first: Any, second: Any) -> float:
    from jumar.selftest import floor

    if first is None or first.facts != second.facts:
        return math.inf
    return floor.repeated(first.tensors, second.tensors)


@contextlib.contextmanager
def _told() -> Iterator[list[str]]:
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    told += [str(item.message) for item in caught]


def _has(name: str) -> bool:
    import torch
    import torch_npu

    for top in (torch, torch_npu):
        found: Any = top
        for word in name.split("."):
            found = getattr(found, word, None)
        if found is not None:
            return True
    return False


def _plain(value: Any) -> Any:
    """As JSON has it: no infinity, no tuples."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return 1e300 if value > 0 else str(value)
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


if __name__ == "__main__":
    code = Child(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))).work()
    sys.stdout.flush()
    os._exit(code)  # the end of a broken card's process may hang, and nothing is left to do
