"""`tools/new.py`: what it writes lints, is found by its place, and its own test runs with nothing else touched."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jumar.core.compat import tomllib
from jumar.emulate import env

_ROOT = Path(__file__).resolve().parents[1]
_PARTS = (
    "src",
    "docs",
    "native/api",
    "native/aclnn",
    "native/acl",
    "native/hccl",
    "tests/machine",
    "tests/emulate",
    "tests/migrate",
)
_LINKED = ("lib64", "opp", "runtime", "compiler", "api")
New = Callable[..., Path]


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> New:
    """`new("rule", "cuda-thing")` in a copy of the repository; the copy."""
    for part in _PARTS:
        shutil.copytree(_ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        "pyproject.toml",
        "tests/conftest.py",
        "tests/kept_environments.py",
        "tests/leaks.py",
        "tests/mindspore_python.py",
        "tests/program_files.py",
        "tests/slow_shares.py",
    ):
        shutil.copy(_ROOT / name, tmp_path / name)
    for name in _LINKED:  # what the build has made
        if (built := env.library_dir().parent / name).is_dir():
            (tmp_path / "src" / "jumar" / "emulate" / name).symlink_to(built)
    monkeypatch.syspath_prepend(_ROOT / "tools")
    module = importlib.import_module("new")

    def write(*words: str) -> Path:
        assert module.main([*words], root=tmp_path) == 0
        return tmp_path

    return write


def _python(root: Path, *words: str) -> str:
    """The same Python on the package of the copy."""
    variables = {**os.environ, "PYTHONPATH": str(root / "src")}
    done = subprocess.run(
        [sys.executable, *words], cwd=root, env=variables, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _lints(root: Path, *paths: str) -> None:
    for command in (["check", "--ignore", "INP"], ["format", "--check"]):
        _python(root, "-m", "ruff", *command, *paths)


def test_a_rule_gets_the_next_free_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src/jumar/migrate/passes/torch/python").mkdir(parents=True)
    (tmp_path / "src/jumar/data").mkdir()
    (tmp_path / "src/jumar/migrate/passes/torch/python/a_b.py").write_text('RULE = Rule(id="PT107")\n# PT900\n')
    (tmp_path / "src/jumar/data/renamed_ids.toml").write_text('[ids]\nPT109 = "PT107"\n')
    monkeypatch.syspath_prepend(_ROOT / "tools")
    new = importlib.import_module("new")
    assert new.main(["rule", "cuda-thing"], tmp_path) == 0
    code = (tmp_path / "src/jumar/migrate/passes/torch/python/cuda_thing.py").read_text()
    compile(code, "cuda_thing.py", "exec")
    assert 'id="PT110"' in code
    assert (tmp_path / "docs/rules/python/cuda-thing.md").read_text().startswith("# PT110 cuda-thing\n")
    with pytest.raises(SystemExit):
        new.main(["rule", "cuda-thing"], tmp_path)
    assert "exists" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        new.main(["rule", "CudaThing"], tmp_path)


def test_pack(new: New) -> None:
    root = new("pack", "fish_net")
    code = (
        "from jumar.migrate.rule import units; print([(u.rule.name, u.rule.id, u.family) for u in units('fish_net')])"
    )
    name, id_ = "fish-net-on-npus", _first_id(root / "src/jumar/migrate/passes/packs/fish_net/rows.toml")
    assert f"('{name}', '{id_}', 'fish_net')" in _python(root, "-c", code)
    assert "8 passed" in _python(
        root, "-m", "pytest", "-q", "-p", "no:randomly", "tests/migrate/test_pages.py", "-k", name
    )


def _first_id(rows: Path) -> str:
    return str(tomllib.loads(rows.read_text("utf-8"))["id"])


def test_rule(new: New) -> None:
    root = new("rule", "cuda-thing")
    _lints(root, "src/jumar/migrate/passes/torch/python/cuda_thing.py")
    program = (
        "from jumar.migrate.rule import units; print({u.rule.name: u.rule.id for u in units('python')}['cuda-thing'])"
    )
    assert _python(root, "-c", program).startswith("PT")
    assert "```python unchanged" in (root / "docs/rules/python/cuda-thing.md").read_text("utf-8")


def test_check(new: New) -> None:
    root = new("check", "swap-space", "--area", "system")
    _lints(root, "src/jumar/machine/checks/swap_space.py", "tests/machine/test_check_swap_space.py")
    tests = (
        "tests/machine/test_check_swap_space.py",
        "tests/machine/test_doctor_pages.py::test_every_check_has_a_page_and_every_page_a_check",
    )
    assert "2 passed" in _python(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    page = (root / "docs/findings/doctor.md").read_text("utf-8")
    assert page.index("## DR105") < page.index("## DR106 swap-space") < page.index("## DR201")


@pytest.mark.skipif(importlib.util.find_spec("torch_npu") is None, reason="torch_npu is not installed")
@pytest.mark.slow
def test_npu_op(new: New) -> None:
    root = new("npu-op", "npu_fused_attention_layernorm_qkv_fwd", "--family", "attention_block")
    source, test = (
        "src/jumar/emulate/ops/attention_block.py",
        "tests/emulate/test_npu_op_fused_attention_layernorm_qkv_fwd.py",
    )
    _lints(root, source, test)
    assert "    num_heads: int = 12,\n" in (root / source).read_text("utf-8")
    assert "1 passed" in _python(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", test)


def test_aclnn(new: New) -> None:
    root = new("aclnn", "aclnnAngleV2", "--parameters", "In self, Ints dims, Out out")
    test = "tests/emulate/test_aclnn_angle_v2.py"
    _lints(root, test)
    assert 'card.call("aclnnAngleV2", x, [0], out)' in (root / test).read_text("utf-8")
    rows = tomllib.loads((root / "native/api/opapi.toml").read_text("utf-8"))["works"]
    assert rows["aclnnAngleV2"] == "In self, Ints dims, Out out" and list(rows) == sorted(rows)
    assert "OPERATOR(aclnnAngleV2, " in (root / "native/aclnn/angle_v2.cpp").read_text("utf-8")


def test_cann_function(new: New) -> None:
    root = new("cann", "aclmdlRIDebugPrint", "--library", "ascendcl")
    row = tomllib.loads((root / "native/api/ascendcl.toml").read_text("utf-8"))["functions"]["aclmdlRIDebugPrint"]
    assert (row["state"], row["use"]) == ("works", "by name")
    body = (root / "native/acl/aclmdl_ri_debug_print.cpp").read_text("utf-8")
    assert "int32_t aclmdlRIDebugPrint(void *modelRI) {" in body
    test = (root / "native/tests/aclmdl_ri_debug_print_test.cpp").read_text("utf-8")
    assert "aclmdlRIDebugPrint(nullptr) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT" in test


def test_cann_function_that_no_list_has(new: New) -> None:
    root = new("cann", "HcclThing", "--library", "hccl", "--arguments", "void *comm")
    table = tomllib.loads((root / "native/api/hccl.toml").read_text("utf-8"))
    assert table["functions"]["HcclThing"] == {"args": "void *comm", "use": "by name", "state": "works"}
    assert list(table["functions"]) == sorted(table["functions"]) and table["faults"]
    assert (root / "native/hccl/hccl_thing.cpp").exists()


def test_chip(new: New) -> None:
    root = new("chip", "910B5", "--like", "910B4")
    socs = json.loads((root / "src/jumar/data/emulated_socs.json").read_text("utf-8"))["socs"]
    assert socs["Ascend910B5"] == socs["Ascend910B4"] and list(socs) == sorted(socs)
    program = "from jumar.tables import chips, socs; print(chips.chips()['910B5'], 'Ascend910B5' in socs.socs())"
    assert _python(root, "-c", program) == "A2 True\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("rule", "cudaThing"), "`cudaThing` is not of the form `cuda-device-string`"),
        (("rule", "cuda-device-string"), "`src/jumar/migrate/passes/torch/python/cuda_device_string.py` exists"),
        (("aclnn", "aclnnAdd"), "`aclnnAdd` works already"),
        (("aclnn", "aclnnThing", "--parameters", "Im x"), "aclnnThing: unknown type `Im` in `Im x`"),
        (("cann", "aclInit", "--library", "ascendcl"), "`aclInit` works already"),
        (("cann", "aclThing", "--library", "libacl"), "no list of a library `libacl`; there are acl_op_compiler"),
        (("chip", "910B3", "--like", "910B4"), "the chip `910B3` already exists"),
        (("chip", "910B9", "--like", "910X"), "no chip `910X`"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused(
    new: New, words: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        new(*words)
    assert end.value.code == 2
    assert f"error: {problem}" in capsys.readouterr().err
