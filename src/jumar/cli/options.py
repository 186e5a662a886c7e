"""Options that `migrate` and `analyze` share, and how they become a result."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.migrate.result import ProjectResult

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_SHARED = (
    click.argument("paths", nargs=-1, metavar="PATH..."),
    click.option("--to", metavar="npu|agnostic|import",
                 help="Explicit NPU code (the default), code for any device, or the run-time import."),
    click.option("--torch", metavar="VERSION", help="torch on the target, such as 2.7; the tested release by default."),
    click.option("--chip", metavar="NAME", help="Chip of the target, such as 910B3 (the default) or 310P3."),
    click.option("--multi-card", is_flag=True, help="Also turn a one-card training script into one for many cards."),
    click.option("--only", multiple=True, metavar="ID", help="Only this rule; may be given again."),
    click.option("--skip", multiple=True, metavar="ID", help="Without this rule; may be given again."),
    click.option("--list", "list_rules", is_flag=True, help="List the rules and stop."),
    click.option("--all", "show_all", is_flag=True, help="Show every finding, also benign ones."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF for code review tools."),
    click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write one self-contained page."),
    click.option("--csv", type=click.Path(path_type=Path), metavar="DIR", help="Write change_list.csv and its like."),
    click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use; all cores if not given."),
    click.option("--no-cache", is_flag=True, help="Do not use results of earlier runs."),
    click.option("--stdin-name", default="stdin.py", show_default=True, metavar="NAME",
                 help="File name that `-` stands for; its suffix says the language."),
    click.option("-q", "--quiet", is_flag=True, help="No summary, no progress."),
)  # fmt: skip


def shared(function: Decorated) -> Decorated:
    """Add the options of both verbs."""
    for decorate in reversed(_SHARED):
        function = decorate(function)
    return function


def run(paths: tuple[str, ...], options: dict[str, Any]) -> ProjectResult:
    """Read `jumar.toml`, run the rules over the paths, or over stdin for `-`."""
    if not paths:
        raise UserError("nothing to migrate: no path given", "`jumar migrate .` looks at the current folder")
    from jumar.migrate import config

    stdin = "-" in paths
    if stdin and len(paths) > 1:
        raise UserError("`-` cannot stand beside other paths", "pipe one file, or name files and folders")
    if not stdin:
        for path in paths:
            _check_readable(path)
    found = config.load(config.find(Path(options["stdin_name"] if stdin else paths[0])))
    settings = config.settings(found, options)
    if stdin:
        return _stdin(options["stdin_name"], settings)
    from jumar.cli.progress import Progress
    from jumar.migrate import project

    jobs = options["jobs"] or found.values.get("jobs")
    with Progress(quiet=options["quiet"]) as progress:
        return project.migrate(
            [Path(path) for path in paths], settings, jobs=jobs, cache=not options["no_cache"], progress=progress
        )


def _stdin(name: str, settings: Any) -> ProjectResult:
    from jumar.migrate import languages, project
    from jumar.migrate.result import ProjectResult

    raw = sys.stdin.buffer.read()
    if languages.classify(name, raw[:200]) is None:
        raise UserError(f"no language known for `{name}`", "give a name such as `--stdin-name train.sh`")
    result = project.migrate_bytes(name, raw, settings)
    assert result is not None
    return ProjectResult(".", (result,), settings, 1, raw.count(b"\n"))


def _check_readable(path: str) -> None:
    if not os.path.exists(path):
        hint = "check the spelling; `-` reads from stdin"
        folder = os.path.dirname(path) or "."
        if os.path.isdir(folder) and os.access(folder, os.R_OK):
            from jumar.core.nearest import did_you_mean

            near = {os.path.join(os.path.dirname(path), name): name for name in os.listdir(folder)}
            hint = did_you_mean(path, near, hint)
        raise UserError(f"no such file or folder: `{path}`", hint)
    if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
        raise UserError(f"cannot read `{path}`: no permission")
