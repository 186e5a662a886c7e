"""What needs trust, and the record of what is trusted."""

from __future__ import annotations

import ast
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import jumar
from jumar.app import trust as app
from jumar.cloud import target
from jumar.core import notes
from jumar.core.errors import UserError
from jumar.migrate import config
from jumar.runtime import keys, settings, trust
from jumar.runtime.keys import Access, Key

ROOT = Path(jumar.__file__).parent
TRUSTED = {
    "migrate": {"rules"},
    "cloud": {"bucket", "flavor", "python", "price"},
    "cloud.targets": {"obs_endpoint", "modelarts_endpoint", "iam_endpoint"},
}
"""Keys that no project sets without the user's word; one that leaves this list needs a reason."""


def _tables() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for schema in app.schemas():
        found[schema.name] = schema.keys
        found |= {f"{schema.name}.{name}": key.below for name, key in schema.keys.items() if key.below}
    return found


def test_every_key_has_a_class_a_kind_and_a_meaning() -> None:
    for table, rows in _tables().items():
        for name, key in rows.items():
            assert isinstance(key, Key), f"[{table}] {name} is not declared as a `Key`"
            assert isinstance(key.access, Access) and key.kinds and key.text
            assert key.access is Access.TRUSTED or not key.is_code, f"[{table}] {name} runs code without trust"


def test_the_keys_that_need_trust_are_these() -> None:
    found = {
        table: {name for name, key in rows.items() if key.access is Access.TRUSTED} for table, rows in _tables().items()
    }
    assert found == TRUSTED


def test_every_table_that_is_read_is_in_the_registry() -> None:
    """`settings.read` takes a schema, and every schema of the sources is one of the registry's."""
    made = {
        (path.relative_to(ROOT).as_posix(), node.args[0].value)
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Schema"
        if isinstance(node.args[0], ast.Constant)
    }
    assert made == {("migrate/config.py", "migrate"), ("cloud/target.py", "cloud")}
    assert {schema.name for schema in app.schemas()} == {name for _, name in made}


@pytest.mark.parametrize(
    ("table", "key", "value", "needs"),
    [
        ("migrate", "rules", ["a.py"], True),
        ("migrate", "rules", [], False),
        ("migrate", "skip", ["PT101"], False),
        ("cloud", "target", "local", False),
        ("cloud", "target", "huaweicloud", True),
        ("cloud", "bucket", "theirs", True),
        ("cloud", "code", "src/code", False),
        ("cloud", "code", "src/../code", False),
        ("cloud", "code", "../other", True),
        ("cloud", "code", "/etc", True),
        ("cloud", "code", "~/x", True),
        ("cloud", "code", "link", True),
        ("cloud", "code", "link/ssh", True),
        ("cloud", "code", "a\0b", True),
        ("cloud", "data", ["data", "pretrained_url=more"], False),
        ("cloud", "data", ["x=../../.ssh"], True),
        ("cloud", "data", "x=/etc", True),
        ("cloud", "data", "link", True),
        ("cloud", "data", "obs://theirs/", True),
        ("cloud", "data", "x=obs://theirs/", True),
        ("cloud", "boot", "../../x.py", True),
        ("cloud", "env", ["HCCL_CONNECT_TIMEOUT=600"], False),
        ("cloud", "env", ["A=1", "LD_PRELOAD=/x.so"], True),
        ("cloud", "env", ["https_proxy=http://evil"], True),
        ("cloud", "env", ["PATH=/x"], True),
        ("cloud", "env", ["PYTHONPATH=/x"], True),
        ("cloud", "env", ["JUMAR_CREDENTIALS=/x"], True),
        ("cloud", "env", [" PATH =/x"], True),
        ("cloud", "param", ["lr=../../x"], False),
        ("cloud", "python", "bin/python", True),
        ("cloud", "nodes", 1, False),
        ("cloud", "nodes", 64, True),
        ("cloud", "auto_stop", 4, False),
        ("cloud", "auto_stop", 0.5, False),
        ("cloud", "auto_stop", 1000, True),
        ("cloud", "auto_stop", float("inf"), True),
        ("cloud", "auto_stop", float("nan"), True),
        ("cloud", "auto_stop", -1, True),
    ],
)
def test_values_that_need_trust(tmp_path: Path, table: str, key: str, value: Any, needs: bool) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    assert keys.needs_trust(_tables()[table][key], value, tmp_path / "in") is needs


def test_the_record_is_private_and_a_changed_project_needs_trust_anew(tmp_path: Path) -> None:
    project = tmp_path / "p q"
    project.mkdir()
    rule = project / "rule.py"
    rule.write_text("x = 1\n")
    path = project / "jumar.toml"
    path.write_text('[migrate]\nrules = ["rule.py"]\n')
    with notes.collected() as told:
        assert "rules" not in settings.read(path, config.SCHEMA).values
    assert told == [f"`{path}`: ignored in `[migrate]`: `rules`: that needs your trust: `jumar trust '{project}'`"]
    app.add(project)
    assert stat.S_IMODE(trust.path().stat().st_mode) == 0o600
    assert stat.S_IMODE(trust.path().parent.stat().st_mode) == 0o700
    assert sorted(os.listdir(trust.path().parent)) == ["trust.json"]
    with notes.collected() as told:
        assert settings.read(path, config.SCHEMA).values == {"rules": ["rule.py"]}
    assert not told
    for changed, before in ((rule, rule.read_text()), (path, path.read_text())):
        changed.write_text(before + "\n")
        with notes.collected() as told:
            assert not settings.read(path, config.SCHEMA).values
        assert "the files have changed since you trusted them" in told[0]
        assert [row.state for row in app.rows()] == ["changed"]
        changed.write_text(before)
        assert settings.read(path, config.SCHEMA).values
    moved = project.rename(tmp_path / "moved")
    assert not settings.read(moved / "jumar.toml", config.SCHEMA).values
    assert [row.state for row in app.rows()] == ["gone"]
    assert app.remove(project) == str(project)
    assert app.rows() == []


def test_the_bytes_that_were_trusted_run_and_no_others(tmp_path: Path) -> None:
    """Also in a process that looks at the file later."""
    from jumar.migrate import rule
    from jumar.migrate.settings import RuleFile

    file = tmp_path / "mine.py"
    file.write_text("from jumar.migrate.rule import Rule\nRULE = Rule('XX902', 'ours', 'ours', ())\n")
    good = RuleFile(str(file), trust.digest(file.read_bytes()))
    assert "XX902" in {unit.rule.id for unit in rule.units("python", (good,))}
    file.write_text("raise SystemExit('ran')\n")
    with pytest.raises(UserError, match="has changed since you trusted it"):
        rule.units("python", (RuleFile(str(file), "0" * 64),))


def test_a_record_that_others_can_change_is_refused(tmp_path: Path) -> None:
    trust.add_host("obs.example.com")
    trust.path().chmod(0o620)
    with pytest.raises(UserError, match="others can change") as caught:
        trust.read()
    assert caught.value.hint == f"chmod go-w {trust.path()}"
    trust.path().chmod(0o600)
    trust.path().parent.chmod(0o777)
    with pytest.raises(UserError, match="others can change"):
        trust.read()
    trust.path().parent.chmod(0o700)
    for text in ("{", "[]", '{"jumar_trust": 2}', '{"jumar_trust": 1, "folders": 3, "hosts": {}}', "[" * 100_000):
        trust.path().write_text(text)
        with pytest.raises(UserError, match="is not a list of what is trusted"):
            trust.read()


def test_records_that_are_made_at_once_are_all_kept() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(trust.add_host, [f"h{number}.example.com" for number in range(40)]))
    assert len(trust.read().hosts) == 40


def test_odd_folders_stay_one_word_on_one_line() -> None:
    assert trust.command("/a b") == "jumar trust '/a b'"
    assert trust.command("/a\n\x1b]0;'x") == "jumar trust $'/a\\x0a\\x1b]0;\\x27x'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[migrate]\nchip = "\\u001b[31m"\n', "holds a control character"),
        ('[migrate]\nskip = ["a\\nb"]\n', "holds a control character"),
        ('[migrate]\n"a\\u202e" = 1\n', "holds a control character"),
        ("[migrate]\nx = " + "[\n" * 3000 + "]" * 1000 + "\n", "nested too deeply"),
        ("[migrate]\njobs = " + "9" * 5000 + "\n", "has a line of more than 2000 bytes"),
        ("[migrate]\n" + "a." * 20_000 + "a = 1\n", "has a line of more than 2000 bytes"),
        ("[migrate]\njobs = 1000000\n", "`jobs` must be 1 to 256"),
        ("[migrate]\njobs = 0\n", "`jobs` must be 1 to 256"),
        ("[migrate]\njobs = -3\n", "`jobs` must be 1 to 256"),
        ('[migrate.rows.torch_cuda]\n"torch.cuda.x" = "exec(\'1\')"\n', "not dotted names"),
        ('[migrate.rows.torch_cuda]\n"torch.cuda.x" = "a;import os"\n', "not dotted names"),
        ('[migrate.rows.torch_cuda]\n"torch.cuda.x" = "a.lambda"\n', "not dotted names"),
        ('[migrate.rows.torch_cuda]\n"torch.cuda.x" = ""\n', "not dotted names"),
    ],
)
def test_hostile_values_are_errors_without_the_value(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "jumar.toml").write_text(text)
    with pytest.raises(UserError) as caught:
        config.load(config.find(tmp_path))
    assert message in caught.value.message
    assert caught.value.message.isprintable()


def test_the_users_own_file_is_below_the_projects_and_its_targets_above(tmp_path: Path) -> None:
    own = settings.own_file()
    own.parent.mkdir(parents=True)
    own.write_text(
        '[cloud]\nbucket = "mine"\ndevices = 2\n[cloud.targets.centre]\nobs_endpoint = "https://obs.centre.example"\n'
    )
    (tmp_path / "jumar.toml").write_text(
        '[cloud]\nbucket = "theirs"\ndevices = 4\n[cloud.targets.centre]\nregion = "cn-north-4"\n'
        '[cloud.targets.other]\nobs_endpoint = "https://obs.other.example"\n'
    )
    with notes.collected() as told:
        found = target.load_config(tmp_path)
    assert (found.table["bucket"], found.table["devices"]) == ("mine", 4)
    assert target.find("centre", found, {}).obs_endpoint == "https://obs.centre.example"
    assert target.find("centre", found, {}).region == ""
    assert target.find("other", found, {}).obs_endpoint == ""
    assert len(told) == 2
    assert "`targets.other.obs_endpoint`: endpoints outside Huawei Cloud count only in `" in told[0]
    assert "ignored in `[cloud]`: `bucket`: that needs your trust" in told[1]
    app.add(tmp_path)
    with notes.collected() as told:
        trusted = target.load_config(tmp_path)
    assert trusted.table["bucket"] == "theirs"
    assert target.find("other", trusted, {}).obs_endpoint == ""
    assert len(told) == 1


def test_what_a_job_gets_by_itself_is_what_a_project_may_ask_for() -> None:
    from jumar.cloud import catalogue

    assert catalogue.limits()["auto_stop_hours"] == target.USUAL_HOURS
