"""How a launch ended, for the person who started it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jumar.core.lang import t
from jumar.report import explain

if TYPE_CHECKING:
    from jumar.launch.job import Local, Outcome
    from jumar.machine.explain.result import Explanation


def ended(outcome: Outcome, ranks: Local, why: Explanation | None) -> Iterator[str]:
    """The throughput, and what became of the ranks; of a failure, the first rank's last lines and what they mean."""
    if outcome.rate:
        yield t(f"jumar: last throughput: {outcome.rate}")
    if outcome.state == "succeeded":
        yield t(f"jumar: {_all(len(ranks.device_ids))} finished; logs in `{ranks.logs}`")
    elif outcome.state == "failed" and outcome.failure is not None:
        one = outcome.failure
        yield from (f"  {text}" for text in one.tail)
        others = f", {outcome.others} more after it" if outcome.others else ""
        yield t(f"error: rank {one.rank} failed first, with {_end(one.code)}{others}: `{one.log}`")
        yield from explain.text(why) if why is not None else ()
    elif outcome.state == "until":
        late = [rank for rank, code in outcome.codes.items() if code in (None, -9)]
        saved = f"rank {', '.join(map(str, late))} had to be killed" if late else "all ranks ended in time"
        yield t(f"jumar: ended by `--until`: {saved}; logs in `{ranks.logs}`")
    elif outcome.state == "stopped":
        yield t(f"jumar: stopped all ranks; logs in `{ranks.logs}`")
    else:
        yield t(f"error: {outcome.message}")
        yield t(f"\nhint: the logs are in `{ranks.logs}`")


def _end(code: int) -> str:
    import signal

    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name}{' (out of memory?)' if name == 'SIGKILL' else ''}"


def _all(ranks: int) -> str:
    return "the one rank" if ranks == 1 else f"all {ranks} ranks"
