"""A whole job on a target with endpoints (the loopback servers, by esdk and REST), and what is written meanwhile."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud.standin import service
from jumar.core.compat import tomllib
from jumar.runtime import settings
from program_files import program_text

pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
Jumar = Callable[..., Any]
SCRIPT = program_text(__file__, "copying_job")


@pytest.fixture
def pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: Callable[[Path], None], confirmed: Callable[[str], None]
) -> Iterator[tuple[str, str]]:
    """A platform of its own elsewhere; the user's side knows its endpoints and keys only."""

    elsewhere = tmp_path / "elsewhere"
    running = service.start(elsewhere)
    access, secret = next(iter(service.keys(elsewhere).items()))
    project = tmp_path / "project"
    (project / "code").mkdir(parents=True)
    (project / "data").mkdir()
    (project / "code" / "train.py").write_text(SCRIPT)
    (project / "data" / "a.bin").write_bytes(os.urandom(100_000))
    (project / "jumar.toml").write_text(
        '[cloud]\ntarget = "centre"\ncode = "code"\nboot = "train.py"\ndata = "data"\nbucket = "bucket-1"\n'
    )
    trusted(project)
    settings.own_file().parent.mkdir(parents=True, exist_ok=True)
    settings.own_file().write_text(
        f'[cloud.targets.centre]\nregion = "local"\nproject_id = "{service.PROJECT}"\n'
        f'obs_endpoint = "http://127.0.0.1:{running.obs.port}"\n'
        f'modelarts_endpoint = "http://127.0.0.1:{running.modelarts.port}"\n'
    )
    for port in (running.obs.port, running.modelarts.port):
        confirmed(f"http://127.0.0.1:{port}")
    credentials = tmp_path / "credentials.toml"
    credentials.write_text(f'[centre]\naccess_key = "{access}"\nsecret_key = "{secret}"\n')
    credentials.chmod(0o600)
    monkeypatch.chdir(project)
    yield access, secret
    running.close()


def test_a_job_on_another_platform_and_no_key_is_written(jumar: Jumar, pair: tuple[str, str], tmp_path: Path) -> None:
    said = []
    for words in (("mb", "obs://bucket-1"), ("plan",), ("submit", "--follow"), ("pull", "-o", "out"), ("ls-jobs",),
                  ("logs", "--all"), ("ls", "-r", "obs://bucket-1/"), ("submit", "--flavor", "x"),
                  ("ls", "obs://missing-1/")):  # fmt: skip
        done = jumar("cloud", *words)
        said.append(done.out + done.err)
        assert done.code == (2 if words[-1] in ("x", "obs://missing-1/") else 0), done.out + done.err
    assert Path("out/model.bin").read_bytes() == Path("data/a.bin").read_bytes()
    own = {tmp_path / "credentials.toml", tmp_path / "elsewhere" / "keys.json"}
    for path in tmp_path.rglob("*"):
        if path.is_file() and path not in own:
            raw = path.read_bytes()
            for key in pair:
                assert key.encode() not in raw, path
    assert not any(key in text for key in pair for text in said)


def test_a_changed_code_folder_is_sent_incrementally(jumar: Jumar, pair: tuple[str, str]) -> None:
    jumar("cloud", "mb", "obs://bucket-1")
    assert jumar("cloud", "submit", "--follow").code == 0
    Path("code/extra.py").write_text("x = 1\n")
    uploads = json.loads(jumar("cloud", "plan", "--json").out)["rows"][0]["uploads"]
    assert [(one["files"], one["unchanged"]) for one in uploads] == [(1, 1), (0, 1)]


def test_a_missing_bucket_starts_nothing(jumar: Jumar, pair: tuple[str, str], tmp_path: Path) -> None:
    done = jumar("cloud", "submit")
    assert done.code == 2
    assert "`bucket-1`: no such bucket" in done.err
    assert not (tmp_path / "elsewhere" / "jobs").exists()


@pytest.mark.parametrize("words", [("ls",), ("ls", "obs://bucket-1/"), ("rm", "obs://bucket-1/x")])
def test_a_store_that_does_not_answer_is_said(
    jumar: Jumar, pair: tuple[str, str], words: tuple[str, ...], confirmed: Callable[[str], None]
) -> None:
    path = settings.own_file()
    confirmed("http://127.0.0.1:9")
    path.write_text(re.sub(r'obs_endpoint = ".*"', 'obs_endpoint = "http://127.0.0.1:9"', path.read_text()))
    done = jumar("cloud", *words)
    assert done.code == 2
    assert "connection refused" in done.err and "check the endpoint and the network" in done.err


def _login(endpoint: str, name: str, password: str) -> str:
    """As support.huaweicloud.com describes it: POST /v3/auth/tokens, the token is in a header of the answer."""
    import urllib.request

    user = {"name": name, "password": password, "domain": {"name": name}}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
    request = urllib.request.Request(f"{endpoint}/v3/auth/tokens", json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request) as answer:
        return str(answer.headers["X-Subject-Token"])


def test_a_token_is_enough_for_modelarts_and_not_for_obs(
    jumar: Jumar, pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import urllib.error

    table = tomllib.loads(settings.own_file().read_text())["cloud"]["targets"]["centre"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        _login(table["modelarts_endpoint"], pair[0], "wrong")
    assert refused.value.code == 401
    refused.value.close()
    token = _login(table["modelarts_endpoint"], *pair)
    (tmp_path / "credentials.toml").unlink()
    monkeypatch.setenv("HUAWEICLOUD_SDK_AUTH_TOKEN", token)
    assert jumar("cloud", "ls-jobs").code == 0
    without = jumar("cloud", "submit")
    assert without.code == 2
    assert "no key pair for the target `centre`" in without.err
    monkeypatch.setenv("HUAWEICLOUD_SDK_AUTH_TOKEN", "another")
    wrong = jumar("cloud", "ls-jobs")
    assert wrong.code == 2
    assert "ModelArts refuses the request: APIGW.0301" in wrong.err
    assert "another" not in wrong.err


def test_serve_says_where_and_ends_with_an_interrupt(tmp_path: Path) -> None:
    import signal
    import subprocess
    import sys

    command = [sys.executable, "-m", "jumar", "cloud", "serve"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert said == "ended\n"
    assert [line.split()[0] for line in lines] == ["OBS", "ModelArts", "key"]
    keys = json.loads((tmp_path / "home" / "keys.json").read_text())
    assert not any(key in line or secret in line for key, secret in keys.items() for line in lines)
