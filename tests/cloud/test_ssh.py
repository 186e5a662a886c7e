"""`jumar cloud ssh-config`: the entry, the checks, and that nothing else in the file changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Jumar = Callable[..., Any]
ADDRESS = "ssh://ma-user@dev-modelarts-cnnorth4.huaweicloud.com:31261"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "KeyPair.pem"
    path.write_text("-----BEGIN RSA PRIVATE KEY-----\nxx\n")
    path.chmod(0o600)
    return path


def test_entry_is_written_once_and_replaced(jumar: Jumar, key: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host other\n    Port 1\n")
    words = ("cloud", "ssh-config", ADDRESS, "--key", key, "--config", config, "--name", "nb")
    shown = jumar(*words)
    assert shown.code == 0
    assert "ssh-keyscan -p 31261 dev-modelarts-cnnorth4.huaweicloud.com" in shown.out
    assert config.read_text() == "Host other\n    Port 1\n"
    assert jumar(*words, "--write").code == 0
    first = config.read_text()
    assert "    StrictHostKeyChecking yes\n" in first
    assert f"    IdentityFile {key}\n" in first
    assert first.endswith("\nHost other\n    Port 1\n")
    jumar(*words, "--write")
    assert config.read_text() == first
    changed = jumar("cloud", "ssh-config", "host.example.com:22", *words[3:], "--write")
    assert changed.code == 0
    assert config.read_text().count("Host nb\n") == 1
    assert "HostName host.example.com" in config.read_text()


@pytest.mark.parametrize(
    ("address", "name", "mode", "message"),
    [
        ("host", "nb", 0o600, "not an SSH address: `host`"),
        ("host:99999", "nb", 0o600, "not an SSH address"),
        (ADDRESS, "a b", 0o600, "not a name for a host"),
        (ADDRESS, "nb", 0o644, "can be read by others (mode 0644)"),
        (ADDRESS, "other", 0o600, "`other` is in the SSH config already"),
    ],
)
def test_mistakes(jumar: Jumar, key: Path, tmp_path: Path, address: str, name: str, mode: int, message: str) -> None:
    config = tmp_path / "config"
    config.write_text("Host other\n")
    key.chmod(mode)
    done = jumar("cloud", "ssh-config", address, "--key", key, "--config", config, "--name", name, "--write")
    assert done.code == 2
    assert message in done.err
    assert config.read_text() == "Host other\n"


def test_a_key_must_be_one(jumar: Jumar, tmp_path: Path) -> None:
    wrong = tmp_path / "x.pem"
    assert "cannot read the key" in jumar("cloud", "ssh-config", ADDRESS, "--key", wrong).err
    wrong.write_text("no")
    wrong.chmod(0o600)
    assert "is not a private key" in jumar("cloud", "ssh-config", ADDRESS, "--key", wrong).err
