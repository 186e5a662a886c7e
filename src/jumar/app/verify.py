"""Runs a command in the migrated project, on the emulated machine, and says what went wrong at the user's own lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.runtime import scratch

if TYPE_CHECKING:
    from jumar.app.migrate import MigrateRequest
    from jumar.core.finding import Finding, Where
    from jumar.core.held import Held
    from jumar.migrate.result import ProjectResult


def run(result: ProjectResult, request: MigrateRequest) -> tuple[list[Finding], Held]:
    """Run the command in the copy at `out`, in the tree itself after `write`, or in a copy of our own.

    In the sandbox all of them stay as they are: what the command writes is gone when it ends.
    """
    from jumar.core.finding import Where
    from jumar.emulate import verify
    from jumar.migrate import output

    out = request.out
    with scratch.folder("jumar-verify-") as place:
        if out is not None:
            folder = out if out.is_dir() else out.parent
        elif request.write:
            folder = Path(result.root)
        else:
            folder = Path(place) / "project"
            output.copy(result, [Path(path) for path in request.paths], folder)
        outcome = verify.run(
            list(request.verify), folder, os.environ, Path(place), request.read, sandbox=request.sandbox
        )

        def where(name: str, line: int) -> Where:
            if out is not None:
                return Where((folder / name).as_posix(), line, 1, line, 1)
            old = old_line(result, os.path.join(result.root, name), line)
            return Where(os.path.join(result.root, name), old, 1, old, 1)

        return verify.findings(outcome, folder, where), outcome.held


def old_line(result: ProjectResult, path: str, line: int) -> int:
    """The line of the user's file that became `line` of the migrated one."""
    from jumar.core import diff

    file = next((item for item in result.files if os.path.normpath(item.path) == os.path.normpath(path)), None)
    if file is None or not file.changed:
        return line
    shift = 0
    for block in diff.blocks(diff.split(file.before), diff.split(file.after)):
        if line <= block.new_start:
            break
        if line <= block.new_end:
            return max(min(block.start + line - block.new_start, block.end), 1)
        shift = block.end - block.new_end
    return line + shift
