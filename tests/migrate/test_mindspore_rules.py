"""Every new spelling of the MindSpore table exists in the MindSpore that is installed."""

from __future__ import annotations

import json
import subprocess

from jumar.tables import mindspore_names
from program_files import program_text

_PROGRAM = program_text(__file__, "call_moved_names")


def _new_names() -> set[str]:
    rows = [*mindspore_names.names().values(), *mindspore_names.modules().values()]
    made = {row.now for row in rows if row.now}
    made |= {f"mindspore.{row.call.partition('(')[0]}" for row in mindspore_names.context_keys().values() if row.call}
    return made


def test_rows_say_what_to_do() -> None:
    rows = [*mindspore_names.names().values(), *mindspore_names.modules().values()]
    assert len(rows) > 30
    assert [row.name for row in rows if not row.now and not row.fix] == []
    keys = mindspore_names.context_keys().values()
    assert [key.name for key in keys if not (key.drop or key.call or key.fix)] == []


def test_new_names_exist(mindspore: str) -> None:
    done = subprocess.run(
        [mindspore, "-c", _PROGRAM], input=json.dumps(sorted(_new_names())), capture_output=True, text=True, check=False
    )
    assert "missing:[]" in done.stdout.splitlines(), done.stdout + done.stderr
