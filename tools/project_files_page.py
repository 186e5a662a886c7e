"""The page on what the files of a project may and may not do, with every key of `jumar.toml` and its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jumar.app import trust
from jumar.cloud import target
from jumar.runtime import owned, settings
from jumar.runtime.keys import Access, Key
from jumar.tables.load import table

PROJECT, TRUSTED = "the project", "needs trust"
PAGE = """# What a project's files may do

{note}
A project that you run Jumar on is input, also when you have not read it. Its files are data: they choose among what
Jumar offers, and everything that could run code, spend money, send data or keys elsewhere, or reach outside the
project waits for your word. Without it Jumar ignores the setting, says so in one line with the command to type, and
goes on; `--json` carries the line in `notes`.

```sh
jumar trust path/to/project --print
jumar trust path/to/project
jumar trust --list
jumar trust --remove path/to/project
```

`jumar trust` shows what the project asks for and records the folder, the content of its `jumar.toml` and the content
of the rule files that it names, in `~/.config/jumar/trust.json` (or below `XDG_CONFIG_HOME`), which only you can read
and write. A file that changes, or a folder that moves, needs trust anew. Read the files first: a rule is Python code
that runs inside Jumar with all your rights, and what it imports in turn is not part of the record. Agents should ask
you instead of typing the command.

## Every key of `jumar.toml`

"{project}": a project may set it. "{trusted}": it counts after `jumar trust`, on the command line, and for `[cloud]`
in your own file. Paths that a project sets are relative to its `jumar.toml`; one that leads out of that folder
(absolute, `~`, `..`, through a link) needs trust too.

| table | key | who may set it | except |
| --- | --- | --- | --- |
{rows}

Values of a project are checked before they are used: control characters, lines over {line} bytes and files over
{size} KiB are refused; `jobs` is 1 to 256; a row of `rows` gives one dotted name for another, and nothing else
can be written into your program through it. `skip`, `only` and `# jumar: keep` hide findings, as they should; the
summary, the page and `settings.from_project` of `--json` name the keys that the project set.

## Whose files are read

A `jumar.toml` counts if it belongs to the user who runs Jumar, and so do all folders between it and the path that you
name: the search upwards ends at the first folder of another user. Otherwise whoever may write to a folder above
yours, such as `/tmp` or a shared disk, could set your settings. Under sudo the files of the caller count too, as in
git: whoever may call sudo can be root anyway. Nothing changes this, not even `jumar trust`; in a container, run Jumar
as the owner of the mounted files. A pipe, a device, a link or a huge file in its place is an error.

## Rules, hooks and plug-ins

| what | what happens |
| --- | --- |
| `rules = ["…"]` | runs inside Jumar, after `jumar trust` only, and only with the content that was trusted |
| packages with an entry point `jumar.rules` | run inside Jumar: you installed them into its environment |
| `conftest.py`, `setup.py`, any module of the project | not run by `analyze`, nor by `migrate` without `--verify` |
| `.pre-commit-config.yaml`, `pytest.ini` (`addopts = --npu`) | read by pre-commit and pytest, not by Jumar |
| `.env` files with `JUMAR_*` variables | not read: variables come from the environment of the process |
| `.jumarignore`, `.gitignore` | patterns of files that stay at home |
| lists of known findings | read only when `--baseline FILE` names one |

## The cloud

- `[cloud]` of a project describes its job: folders, script, arguments, devices. The target (except `local`), the
  bucket, the flavour, several machines, more than {hours} hours, the price and the interpreter need trust: they
  decide how much money is spent and where your files go.
- Endpoints outside Huawei Cloud never come from a project, trusted or not. They stand in your own
  `~/.config/jumar/jumar.toml`, and you confirm each host once:

```sh
jumar trust --host obs.centre.example
```

- A key or token is sent to the hosts of its vendor ({hosts}), and to hosts that you confirmed; to no others, and
  never on because an answer redirects there. Variables of AWS are for AWS. `hosts = ["…"]` in a section of
  `credentials.toml` limits it further.
- Endpoints on this machine get the keys that the stand-in made for itself, and no others unless you confirm the port.
- Links in the code folder that lead out of the project are not sent; nor are those in a data folder that the project
  names.
- A job is the project's program: `jumar cloud submit` runs it. On this machine it runs as you, without your keys in
  its environment.
"""


def page(note: str) -> str:
    row = table("cloud_hosts.toml")["huaweicloud"]
    services = ", ".join(f"`{name}`" for name in row["services"])
    domains = ", ".join(f"`{name}`" for name in row["domains"])
    return PAGE.format(
        note=note,
        project=PROJECT,
        trusted=TRUSTED,
        rows="\n".join(_rows()),
        line=settings.LONGEST,
        size=owned.LARGEST >> 10,
        hours=target.USUAL_HOURS,
        hosts=f"{services} below {domains}",
    )


def _rows() -> Iterator[str]:
    for schema in trust.schemas():
        yield from _table(schema.name, schema.keys)
        for name, key in schema.keys.items():
            yield from _table(f"{schema.name}.{name}.NAME", key.below or {})


def _table(name: str, keys: Mapping[str, Key]) -> Iterator[str]:
    for key, row in keys.items():
        if row.below is None:
            who = PROJECT if row.access is Access.PROJECT else TRUSTED
            yield f"| `[{name}]` | `{key}` | {who} | {row.unless} |"
