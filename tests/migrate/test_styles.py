"""The styles beyond what a page can show: where the helper module goes, user rows, withdrawn edits."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumar.core.finding import Finding, State
from jumar.core.source import Source
from jumar.migrate import project, walk
from jumar.migrate import rule as rules
from jumar.migrate.languages import python
from jumar.migrate.look import Text
from jumar.migrate.passes.torch import owners
from jumar.migrate.passes.torch.styles import agnostic
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Unit
from jumar.migrate.settings import Facts, Settings, Style
from program_files import program_text

TEXT = b"import torch\ntorch.cuda.synchronize()\n"
RELATIVE = b"from . import x\n" + TEXT


def migrated(path: str, text: bytes, packages: set[str]) -> tuple[str, list[str]]:
    settings = Settings(to=Style.AGNOSTIC, facts=Facts(packages=frozenset(packages)))
    result = project.migrate_bytes(path, text, settings)
    assert result is not None
    return result.after.decode(), [name for name, _ in result.extra]


@pytest.mark.parametrize(
    ("path", "text", "packages", "line", "place"),
    [
        ("train.py", TEXT, set(), "import jumar_device", "jumar_device.py"),
        ("a/b/c.py", TEXT, {"a", "a/b"}, "from a import jumar_device", "../jumar_device.py"),
        (
            "r/a/b/c.py",
            b"from . import x\n" + TEXT,
            {"r/a", "r/a/b"},
            "from .. import jumar_device",
            "../jumar_device.py",
        ),
        ("a/c.py", TEXT + b"if __name__ == '__main__':\n  pass\n", {"a"}, "import jumar_device", "jumar_device.py"),
    ],
)
def test_the_helper_goes_to_the_top_package(path: str, text: bytes, packages: set[str], line: str, place: str) -> None:
    after, extra = migrated(path, text, packages)
    assert line in after.splitlines()
    assert extra == [place]


def test_imports_from_the_helper_name_its_package() -> None:
    after, _ = migrated("a/c.py", b"from torch.cuda import synchronize, Stream\n", {"a"})
    assert after == "from a.jumar_device import synchronize, Stream\n"


def test_the_helper_itself_is_not_migrated() -> None:
    text = agnostic.helper_text()
    for style in Style:
        result = project.migrate_bytes("x/jumar_device.py", text, Settings(to=style))
        assert result is not None and result.after == text and not result.findings


def test_the_helper_works_without_cards(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("the helper module needs torch")
    (tmp_path / "jumar_device.py").write_bytes(agnostic.helper_text())
    (tmp_path / "torch_npu.py").write_text("raise ImportError\n")
    (tmp_path / "check.py").write_text(program_text(__file__, "helper_without_cards"))
    env = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "check.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_rows_of_the_user_come_first() -> None:
    settings = Settings(rows={"torch_cuda": {"torch.cuda.nope": "torch.npu.synchronize"}})
    result = project.migrate_bytes("a.py", b"import torch\ntorch.cuda.nope()\n", settings)
    assert result is not None and b"torch.npu.synchronize()" in result.after


def test_facts_tell_movers_from_other_methods(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    file = tmp_path / "pkg" / "a.py"
    text = b"class A:\n    def cuda(self):\n        return self.to(1)\n\n    def is_cuda(self):\n        return 1\n"
    file.write_bytes(text)
    facts = owners.prepare(walk.facts([tmp_path], [file.as_posix()]), [Text(file.as_posix(), text)])
    assert facts.own_movers == {"cuda"} and facts.own_methods == {"is_cuda"}
    assert facts.packages == {(tmp_path / "pkg").as_posix()}


def test_an_unknown_object_of_a_project_with_its_own_method_is_left() -> None:
    facts = Facts(own_methods=frozenset({"cuda"}), own_modules=frozenset({"mine"}))
    text = b"from mine import load\ndef f(x):\n    return x.cuda(), x.float().cuda()\n"
    result = project.migrate_bytes("a.py", text, Settings(facts=facts))
    assert result is not None
    assert b"x.cuda(), x.float().npu()" in result.after
    assert [finding.state for finding in result.findings if finding.id == "PT105"] == [State.HAND, State.REWRITTEN]


def test_a_result_that_does_not_parse_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule("XX1", "bad", "breaks the file", ("cuda",))

    def visit_Name(node: ast.Name, file: PyFile) -> Iterator[Finding]:
        yield file.rewrite(rule, node, "bad", file.replace(node, "1 1"))

    unit = Unit(rule, "python", {"visit_Name": visit_Name}, (b"cuda",))
    monkeypatch.setattr(rules, "active", lambda language, settings: (unit,))
    source = Source("a.py", b"cuda\n")
    outcome = python.migrate(source, Settings())
    assert outcome.data == source.data
    assert [finding.state for finding in outcome.findings] == [State.HAND]


def test_a_gbk_file_is_read_as_what_it_is() -> None:
    raw = '# -*- coding: gbk -*-\nimport torch\ns = "升腾"; x = torch.zeros(1).cuda()  # 卡\n'.encode("gbk")
    result = project.migrate_bytes("a.py", raw, Settings())
    assert result is not None
    assert result.after.decode("gbk").endswith('s = "升腾"; x = torch.zeros(1).npu()  # 卡\n')


def test_imports_do_not_change_without_their_rule() -> None:
    text = b"import torch.cuda as c\nc.CUDAGraph()\n"
    only = project.migrate_bytes("a.py", text, dataclasses.replace(Settings(), only=frozenset({"PT102"})))
    assert only is not None and b"c.CUDAGraph" not in only.after and b"torch.npu.NPUGraph()" in only.after


def test_findings_are_made_in_one_place() -> None:
    """Levels, safety and styles are applied where a finding is made; the cache only brings back what was made there."""
    top = Path(project.__file__).parent
    makers = {
        path.relative_to(top).as_posix()
        for path in top.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding"
    }
    assert makers == {"document.py", "cache.py"}
