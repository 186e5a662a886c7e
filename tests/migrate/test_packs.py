"""The rows of every pack hold together, and speak only of the library that a file imports."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from jumar.core.compat import tomllib
from jumar.core.finding import State
from jumar.migrate.passes import packs
from jumar.migrate.passes.packs.hooks import folders, pack
from jumar.migrate.passes.packs.rows import FILE, Pack, Row
from jumar.migrate.project import migrate_bytes
from jumar.migrate.settings import Facts, Settings
from jumar.tables.third_party import recipes

PACKS = [known for folder in folders() if (known := pack(folder)) is not None]
every_pack = pytest.mark.parametrize("known", PACKS, ids=lambda known: known.folder)
KEYS = {
    "names": {"name"},
    "arguments": {"name", "calls", "values", "missing"},
    "options": {"name", "command", "values", "beside"},
    "settings": {"name", "values", "beside"},
}
SAME = {"state", "note", "fix", "new", "source"}


def rows(known: Pack) -> list[Row]:
    groups = [*known.arguments.values(), *known.settings.values()]
    return [*known.names.values(), *known.options, *(row for group in groups for row in group)]


@every_pack
def test_every_row_has_a_source_with_version_and_date(known: Pack) -> None:
    assert rows(known)
    for row in rows(known):
        assert row.source in known.sources, row.name
    for source in known.sources.values():
        assert source["url"].startswith("https://") and source["version"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", source["date"])
    assert set(known.sources) == {row.source for row in rows(known)}, "a source that no row names"


@every_pack
def test_rows_hold_what_their_kind_may_hold(known: Pack) -> None:
    raw = tomllib.loads(files(packs).joinpath(known.folder, FILE).read_text(encoding="utf-8"))
    for kind, own in KEYS.items():
        for row in raw.get(kind, ()):
            assert set(row) <= own | SAME, f"{kind} {row['name']}"
    assert set(raw) <= {*KEYS, "id", "name", "summary", "packages", "keywords", "sources"}


@every_pack
def test_what_is_written_is_certain_and_the_rest_says_what_to_do(known: Pack) -> None:
    for row in rows(known):
        assert (row.state is State.REWRITTEN) == (row.new is not None), row.name
        assert row.fix or row.new or row.state is State.BENIGN, f"`{row.name}` needs a fix"
        assert not row.note.endswith("."), row.name


def _full_names(known: Pack) -> list[str]:
    """Names with their module; some packs have only arguments and methods."""
    return [name for name in known.names if not name.startswith(".")]


@every_pack
def test_names_are_said_once(known: Pack) -> None:
    """A name with a row here and in the table of packages would be reported twice."""
    assert not set(known.names) & set(recipes())
    for name in known.names:
        assert name.startswith(".") or name.partition(".")[0] in known.packages, name


@pytest.mark.parametrize("known", [known for known in PACKS if _full_names(known)], ids=lambda known: known.folder)
def test_a_module_of_the_project_is_not_the_library(known: Pack, tmp_path: Path) -> None:
    name = _full_names(known)[0]
    code = f"import {name.rpartition('.')[0]}\n{name}\n".encode()
    spoken = {
        own: any(finding.id == known.id for finding in result.findings)
        for own in (True, False)
        if (
            result := migrate_bytes(
                "a.py", code, Settings(facts=Facts(own_modules=frozenset(known.packages if own else ())))
            )
        )
    }
    assert spoken == {True: False, False: True}


def ids(code: str, path: str = "a.py") -> list[str]:
    result = migrate_bytes(path, code.encode(), Settings())
    assert result is not None
    return [finding.id for finding in result.findings if finding.id.startswith("PK")]


@pytest.mark.parametrize(
    "use",
    ["isinstance(x, AdamW8bit)", "y: AdamW8bit = x", "def f(x: AdamW8bit) -> AdamW8bit: ..."],
)
def test_a_name_that_runs_nothing_is_not_reported(use: str) -> None:
    start = "from bitsandbytes.optim import AdamW8bit\nx = None\n"
    assert ids(start + use) == []
    assert ids(start + "AdamW8bit(x)") == ["PK200"]


def test_a_second_name_is_reported_where_it_is_made() -> None:
    assert ids("import bitsandbytes as bnb\ncls = bnb.nn.Linear4bit\n") == ["PK200"]


def test_a_note_is_said_once_in_a_file() -> None:
    launch = "import triton\nfrom kernels import add\ndef run(grid):\n" + "    add[grid](1, BLOCK=64)\n" * 3
    assert ids(launch) == ["PK241"]
    assert ids(launch.replace("def run", "import torch_npu  # cores of an npu\ndef run")) == []


def test_a_guarded_choice_of_two_communicators_is_left_alone() -> None:
    """A program that imports the counterpart already, under the same name, supports both."""
    code = (
        "if npu:\n    from vllm_ascend.distributed.device_communicators.pyhccl import PyHcclCommunicator as Comm\n"
        "else:\n    from vllm.distributed.device_communicators.pynccl import PyNcclCommunicator as Comm\n"
        "Comm(1)\n"
    )
    assert ids(code) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sudo ray start --head --num-gpus=4", ["PK100"]),
        ("ray start --num-gpus 0", []),
        ("myray start --num-gpus 4", []),
        ("ray stop --num-gpus 4", []),
        ("ray job submit --entrypoint-num-gpus 1 -- python a.py", ["PK100"]),
    ],
)
def test_options_belong_to_their_command(line: str, expected: list[str]) -> None:
    assert ids(line + "\n", "a.sh") == expected
