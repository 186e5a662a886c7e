"""A check of `jumar doctor`, its section in docs/findings/doctor.md, and its test on a recorded machine."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from kinds import Made, snake

HELP = "a check of `jumar doctor`"
EXAMPLE = "huge-pages"
PATTERN = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
NEXT = "fill the three files in, `pytest tests/machine`, a line in CHANGELOG.md"
AREAS = {"system": 1, "cards": 2, "network": 3, "cann": 4, "python": 5}
PAGE = "docs/findings/doctor.md"

CHECK = '''"""One sentence on what this looks at and why; then the vendor's page with its version."""

from __future__ import annotations

from jumar.machine.check import Check, Report, Skip, warning
from jumar.machine.host import Host

CHECK = Check("{id}", "{name}", "{words}")


def run(host: Host) -> Report:
    text = host.probe.read("/proc/meminfo").text  # TODO: what this check looks at
    if text is None:
        raise Skip("`/proc/meminfo` cannot be read")
    if "TODO" not in text:
        return Report("what was found, in a few words")
    return Report("what was found", (warning(CHECK, "what is wrong: the value", "the command that mends it"),))
'''
SECTION = """## {id} {name}

What is looked at, what goes wrong on a machine that fails it, and what mends it.

"""
TEST = '''"""The check `{name}` on a recorded machine: well, and damaged."""

from __future__ import annotations

from pathlib import Path

from virtual_machine import Machine

from jumar.machine.check import Status


def test_a_good_machine_is_told_in_a_few_words(tmp_path: Path) -> None:
    outcome = Machine(tmp_path).doctor("{name}")["{name}"]
    assert (outcome.status, outcome.told) == (Status.OK, "what was found, in a few words")


# TODO: a test for each kind of damage; `machine.write`, `machine.change` and `machine.tool` do it.
'''


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--area", choices=AREAS, default="system", help="its id comes behind those of this area")


def make(given: argparse.Namespace, root: Path) -> Made:
    page = root / PAGE
    text = page.read_text(encoding="utf-8")
    fields = {"id": next_id(AREAS[given.area], text), "name": given.name, "words": given.name.replace("-", " ")}
    return Made(
        {
            root / f"src/jumar/machine/checks/{snake(given.name)}.py": CHECK.format(**fields),
            root / f"tests/machine/test_check_{snake(given.name)}.py": TEST.format(**fields),
        },
        {page: insert(text, fields["id"], SECTION.format(**fields))},
    )


def next_id(area: int, page: str) -> str:
    used = [int(number) for number in re.findall(rf"^## DR({area}\d\d) ", page, re.M)]
    return f"DR{max(used, default=area * 100) + 1}"


def insert(page: str, id_: str, section: str) -> str:
    """Sections stand in the order of their ids."""
    for found in re.finditer(r"^## (DR\d{3}) .*\n", page, re.M):
        if found[1] > id_:
            return page[: found.start()] + section + page[found.start() :]
    return page.rstrip("\n") + "\n\n" + section.rstrip("\n") + "\n"
