"""`jumar run`: a program on NPUs, the real ones if there are any, otherwise emulated ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumar.emulate.command import Command, Wish
    from jumar.machine.explain.result import Explanation


def build(words: Sequence[str], wish: Wish, profile: Path | None = None) -> Command:
    """What would be started; with `profile`, recorded into that folder."""
    from jumar.emulate import command

    built = command.build(words, wish, os.environ)
    if profile is None:
        return built
    from jumar.app import profiling

    return profiling.recorded(built, profile)


def start(built: Command, failed: Callable[[Explanation], None]) -> int:
    """Run it, with its own streams and signals; `failed` is told what a failure means, where that is known."""
    from jumar.app import watched
    from jumar.emulate import command

    if os.environ.get("JUMAR_EXPLAIN") == "0":
        return command.execute(built)
    return watched.run(lambda: command.execute(built), failed)
