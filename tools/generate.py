"""Writes the reference and results pages, and the tested versions where they are named; `--check` writes nothing."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import os
import sys
from pathlib import Path

import click

import stamps
from jumar import api
from jumar.cli import tasks
from jumar.cli.main import VERBS, jumar
from jumar.cloud import target
from jumar.core import held
from jumar.core.finding import State
from jumar.emulate import coverage
from jumar.migrate import config
from jumar.migrate.rule import families, units
from jumar.migrate.settings import Settings
from jumar.report import json, plan_json, proof, roadmap
from jumar.runtime import variables
from jumar.runtime.keys import Access, Key
from jumar.tables import pages, torch_releases
from jumar.tables.load import table

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import numerics_page  # noqa: E402  a tool beside this one, also when this file is loaded by its path
import project_files_page  # noqa: E402  the same
import results  # noqa: E402  the same
import standin_page  # noqa: E402  the same
import terminal_svg  # noqa: E402  the same

REFERENCE = ROOT / "docs" / "reference"
NOTE = "<!-- written by tools/generate.py: do not edit -->\n"
TITLES = {"mindspore": "MindSpore"}


def generated() -> dict[str, str]:
    """The text of every page by file name."""
    return {
        "api.md": api_page(),
        "cloud-standin.md": standin_page.page(NOTE),
        "cli.md": cli_page(),
        "emulator-coverage.md": coverage.page(coverage.read()),
        "jumar-toml.md": config_page(),
        "json.md": json_page(),
        "numerics.md": numerics_page.page(NOTE),
        "plan-json.md": plan_json_page(),
        "project-files.md": project_files_page.page(NOTE),
        "rules.md": rules_page(),
        "variables.md": variables_page(),
        "../assets/terminal.svg": terminal_svg.picture(terminal_svg.RECORDING.read_text(encoding="utf-8")),
        **{f"../results/{name}": text for name, text in results.generated().items()},
    }


def api_page() -> str:
    """Functions with their signatures, and results with their properties, from `jumar.api` itself."""
    parts = [f"# `jumar.api`\n\n{NOTE}", f"{inspect.cleandoc(api.__doc__ or '')}\n", "## Functions\n"]
    functions = [(name, value) for name in api.__all__ if inspect.isfunction(value := getattr(api, name))]
    for name, function in functions:
        signature = inspect.signature(function)
        shown = ",\n".join(f"    {param}" for param in _starred(signature))
        result = str(signature.return_annotation)
        parts.append(f"### {name}\n\n```python\n{name}(\n{shown},\n) -> {result}\n```\n\n{inspect.getdoc(function)}\n")
    parts.append("## Results\n")
    for name in api.__all__:
        kind = getattr(api, name)
        if inspect.isclass(kind):
            parts.append(f"### {name}\n\n{inspect.getdoc(kind)}\n\n{_members(kind)}".rstrip() + "\n")
    return "\n".join(parts)


def _starred(signature: inspect.Signature) -> list[str]:
    """The parameters as they are written, with the star before those that need a name."""
    rows: list[str] = []
    kinds = [param.kind for param in signature.parameters.values()]
    for at, param in enumerate(signature.parameters.values()):
        first = param.kind is param.KEYWORD_ONLY and (at == 0 or kinds[at - 1] is param.POSITIONAL_OR_KEYWORD)
        star = "*" if param.kind is param.VAR_POSITIONAL else ""
        default = "" if param.default is param.empty else f" = {_quoted(param.default)}"
        rows += [*(["*"] if first else []), f"{star}{param.name}: {param.annotation}{default}"]
    return rows


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _members(kind: type) -> str:
    """Fields, then properties and methods with the first line of what they say."""
    fields = {row.name: row.type for row in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}
    rows = [f"| `{name}` | `{type_}` |".replace(" | None`", " or None`") for name, type_ in fields.items()]
    for name, value in vars(kind).items():
        if name.startswith("_") or name in fields:
            continue
        if isinstance(value, property) or inspect.isfunction(value):
            call = "" if isinstance(value, property) else "()"
            told = (inspect.getdoc(value) or "").partition("\n")[0]
            rows.append(f"| `{name}{call}` | {told} |")
    return "| member | meaning |\n| --- | --- |\n" + "\n".join(rows) if rows else ""


def cli_page() -> str:
    """From the declarations, not from click's own help text: that changes with click."""
    context = click.Context(jumar, info_name="jumar")
    parts = [f"# Commands\n\n{NOTE}", _command("jumar", jumar, "VERB ...")]
    verbs = "\n".join(
        f"| {task if at == 0 else ''} | [`jumar {verb}`](#jumar-{verb}) | {text} |"
        for task, below in tasks.TASKS.items()
        for at, (verb, text) in enumerate(below.items())
    )
    parts.append(f"| task | verb | what it does |\n| --- | --- | --- |\n{verbs}\n")
    for verb in sorted(VERBS):
        command = jumar.get_command(context, verb)
        assert command is not None
        parts.append(_command(f"jumar {verb}", command, _arguments(command)))
        parts.append("```sh\n" + "\n".join(tasks.EXAMPLES[verb]) + "\n```\n")
        if isinstance(command, click.Group):
            for name in sorted(command.list_commands(context)):
                sub = command.get_command(context, name)
                assert sub is not None
                parts.append(_command(f"jumar {verb} {name}", sub, _arguments(sub)))
    codes = "0 nothing to report, 1 findings, 2 the work could not be done, 130 interrupted"
    parts.append(f"## Exit codes\n\n{codes}.\n")
    return "\n".join(parts)


def plan_json_page() -> str:
    rows = "\n".join(f"| `{name}` | {text} |" for name, text in plan_json.FIELDS.items())
    head = f"# JSON of `jumar plan`\n\n{NOTE}\n`--json` and `--format json` print one object.\n\n"
    return f"{head}| field | meaning |\n| --- | --- |\n{rows}\n"


def _arguments(command: click.Command) -> str:
    if isinstance(command, click.Group):
        return "COMMAND ..."
    return " ".join(param.metavar or "" for param in command.params if isinstance(param, click.Argument))


def _command(title: str, command: click.Command, arguments: str) -> str:
    rows = "\n".join(_option(param) for param in command.params if isinstance(param, click.Option))
    text = "\n".join(line.strip() for line in (command.help or "").strip().splitlines())
    usage = f"{title} {command.options_metavar} {arguments}".rstrip()
    options = f"\n| option | meaning |\n| --- | --- |\n{rows}\n" if rows else ""
    return f"## {title}\n\n```text\n{usage}\n```\n\n{text}\n{options}"


def _option(param: click.Option) -> str:
    value = f" {param.metavar}" if param.metavar else ""
    names = ", ".join(f"`{name}{value}`" for name in param.opts).replace("|", "\\|")
    return f"| {names} | {param.help} |"


def rules_page() -> str:
    known = pages.pages()
    parts = [f"# Rules\n\n{NOTE}", "`safe` changes are made by `--write`, `ask` ones also need `--unsafe`.\n"]
    for family in families():
        rows = [
            _rule_row(unit.rule.id, unit.rule.name, unit.rule.safety, unit.rule.summary, known)
            for unit in units(family)
        ]
        if rows:
            title = TITLES.get(family, family.capitalize())
            parts.append(f"## {title}\n\n| id | name | safety | what it finds |\n| --- | --- | --- | --- |")
            parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _rule_row(id_: str, name: str, safety: str, summary: str, known: dict[str, pages.Page]) -> str:
    shown = f"[{name}](../rules/{known[id_].area}/{name}.md)" if id_ in known else name
    return f"| {id_} | {shown} | {safety} | {summary.replace('|', '&#124;')} |"


def json_page() -> str:
    rows = "\n".join(
        f"| `{name}` | {text} |"
        for name, text in {**json.FIELDS, **json.BASELINE_FIELDS, **held.FIELDS, **proof.FIELDS}.items()
    )
    states = ", ".join(f"`{state.value}`" for state in State)
    return (
        f"# JSON output\n\n{NOTE}\n"
        f"`jumar migrate --json` and `jumar analyze --json` print one document on stdout, in this shape, version"
        f" {json.VERSION}. A failed run prints the same with `errors` filled and exits with 2.\n\n"
        f"States: {states}.\n\n| field | meaning |\n| --- | --- |\n{rows}\n\n"
        "`--plan FILE.json` writes a document of its own:\n\n| field | meaning |\n| --- | --- |\n"
        + "\n".join(f"| `{name}` | {text} |" for name, text in roadmap.FIELDS.items())
        + "\n"
    )


def config_page() -> str:
    kinds = {str: "string", bool: "true or false", list: "list of strings", dict: "table", int: "number"}
    plain = Settings()
    rows = "\n".join(
        f"| `{key}` | {kinds[row.kinds[0]]} | {_setter(row)} | {row.text} |" for key, row in config.KEYS.items()
    )
    cloud, targets = (
        "\n".join(f"| `{key}` | {_setter(row)} | {row.text} |" for key, row in keys.items())
        for keys in (target.KEYS, target.TARGET_KEYS)
    )
    families = table("chips.toml")["families"]
    chips = "\n".join(f"- {name}: {', '.join(family['chips'])}" for name, family in families.items())
    return (
        f"# jumar.toml\n\n{NOTE}\n"
        "The nearest `jumar.toml` of yours at or above the first path is read. The command line wins over it. What a"
        " project may set and what needs your trust, with the reasons: [project-files.md](project-files.md).\n\n"
        f'```toml\n[migrate]\nto = "{plain.to}"\ntorch = "{plain.torch}"\nchip = "{plain.chip}"\n'
        'skip = ["torch-npu-import"]\nrules = ["rules/our_launcher.py"]\n```\n\n'
        f"## Keys of `[migrate]`\n\n| key | kind | set by | meaning |\n| --- | --- | --- | --- |\n{rows}\n\n"
        "## Keys of `[cloud]`\n\nAlso read from your own `~/.config/jumar/jumar.toml`, below the project's file.\n\n"
        f"| key | set by | meaning |\n| --- | --- | --- |\n{cloud}\n\n"
        f"## Keys of `[cloud.targets.NAME]`\n\n| key | set by | meaning |\n| --- | --- | --- |\n{targets}\n\n"
        f"## Releases of torch\n\n{', '.join(torch_releases.releases())}; `2.7` means the newest 2.7.\n\n"
        f"## Chips\n\n{chips}\n"
    )


def _setter(row: Key) -> str:
    return project_files_page.PROJECT if row.access is Access.PROJECT else project_files_page.TRUSTED


def variables_page() -> str:
    rows = [variables.ROWS[name] for name in sorted(variables.ROWS)]
    parts = [
        f"# Variables\n\n{NOTE}",
        "A variable that is empty counts as not set. A value that cannot be read is refused.\n",
    ]
    for title, setter in (
        ("For you to set", variables.USER),
        ("Set by Jumar for its own processes", variables.INTERNAL),
    ):
        lines = "\n".join(_variable(row) for row in rows if row.setter == setter)
        parts.append(f"## {title}\n\n| variable | value | default | meaning |\n| --- | --- | --- | --- |\n{lines}\n")
    return "\n".join(parts)


def _variable(row: variables.Variable[object]) -> str:
    default = {True: "1", False: "0"}.get(row.default, row.default) if isinstance(row.default, bool) else row.default
    shown = f"`{default}`" if default not in ("", None, 0) or isinstance(row.default, bool) else ""
    return f"| `{row.name}` | {row.kind.words} | {shown} | {row.does} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is not current")
    check = parser.parse_args().check
    stale = []
    pages = {Path(os.path.normpath(REFERENCE / name)): text for name, text in generated().items()}
    for path, text in {**pages, **dict(stamps.stamped())}.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{'not current' if check else 'wrote'}: {name}", file=sys.stderr)
    if stale and check:
        print("\nhint: run `python tools/generate.py`", file=sys.stderr)
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
