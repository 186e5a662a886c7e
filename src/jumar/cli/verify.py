"""`jumar migrate --verify -- COMMAND`: the migrated project, run on the emulated machine."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.core.finding import Finding, Where
    from jumar.migrate.result import ProjectResult


class WithCommand(click.Command):
    """With `--verify`, the words after `--` are a command and not paths."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] = []
        if "--verify" in args and "--" in args:
            at = args.index("--")
            args, words = args[:at], args[at + 1 :]
        ctx.meta["verify"] = words
        return super().parse_args(ctx, args)


def check(paths: tuple[str, ...], words: list[str]) -> None:
    if not words:
        raise UserError("`--verify` needs a command", "jumar migrate PROJECT --verify -- python train.py")
    if "-" in paths:
        raise UserError("`-` and `--verify` cannot go together", "name a file or folder")


def run(
    result: ProjectResult, paths: tuple[str, ...], words: list[str], out: Path | None, write: bool
) -> list[Finding]:
    """Run the command in the copy at `out`, in the tree itself after `--write`, or in a copy of our own."""
    from jumar.core.finding import Where
    from jumar.emulate import verify
    from jumar.migrate import output

    with ExitStack() as stack:
        if out is not None:
            folder = out if out.is_dir() else out.parent
        elif write:
            folder = Path(result.root)
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jumar-verify-"))) / "project"
            output.copy(result, [Path(path) for path in paths], folder)
        click.echo(f"jumar: running `{' '.join(words)}` in the migrated project", err=True)
        outcome = verify.run(words, folder, os.environ)

        def place(name: str, line: int) -> Where:
            if out is not None:
                return Where((folder / name).as_posix(), line, 1, line, 1)
            old = _old_line(result, os.path.join(result.root, name), line)
            return Where(os.path.join(result.root, name), old, 1, old, 1)

        return verify.findings(outcome, folder, place)


def _old_line(result: ProjectResult, path: str, line: int) -> int:
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
