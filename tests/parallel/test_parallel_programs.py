"""The programs that are copied beside a user's model: old Pythons parse them, and they need nothing of Jumar."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jumar.parallel import code, hardware, models, programs
from jumar.parallel.plan import Job, Plan
from jumar.parallel.search import Search

PROGRAMS = sorted(path.stem for path in Path(programs.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_for_python_37_and_stands_alone(name: str) -> None:
    tree = ast.parse(programs.source(name), feature_version=(3, 7))
    for node in ast.walk(tree):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert not any(name.split(".")[0] == "jumar" for name in names)


@pytest.mark.parametrize("plan", [Plan(8, 1, 1), Plan(2, 2, 2, 2, 1, "full")], ids=lambda plan: plan.name)
def test_network_carries_its_words(plan: Plan) -> None:
    search = Search(models.preset("llama-7b"), Job(8), hardware.find("910B3", {}))
    found = search.evaluate(plan, search.hardware.usable)
    assert found is not None
    tree = ast.parse(code.network(search.net, search.job, found), feature_version=(3, 7))
    given = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GIVEN"
    ]
    assert [ast.literal_eval(value) for value in given] == [code.words(search.net, search.job, found)]
