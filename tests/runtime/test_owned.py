"""Files that steer Jumar: of the user's own, plain and small; anything else is an error at once."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from jumar.core import notes
from jumar.core.errors import UserError
from jumar.runtime import home, owned, settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jumar.toml"


def _odd(path: object) -> str:
    return f"cannot read `{path}`: it is no plain file (a link, a pipe, a device or a folder)"


def _message(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        owned.read(path)
    return caught.value.message


def test_a_plain_file_is_read(path: Path) -> None:
    path.write_bytes(b"x")
    assert owned.read(path) == b"x"


def test_a_pipe_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    assert _message(path) == _odd(path)
    with pytest.raises(UserError, match="no plain file"):
        owned.content(path)


def test_links_devices_sockets_and_folders_are_named(path: Path, tmp_path: Path) -> None:
    path.symlink_to("/dev/zero")
    assert _message(path) == _odd(path)
    path.unlink()
    path.mkdir()
    assert _message(path) == _odd(path)
    assert _message(Path("/dev/zero")) == _odd("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        place = os.path.relpath(tmp_path / "s")  # the name of a socket is short
        server.bind(place)
        assert _message(Path(place)) == _odd(place)


def test_a_huge_file_is_refused(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    assert _message(path) == f"`{path}` is larger than 64 KiB"


def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"")
    uid = os.stat(path).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    assert _message(path) == f"cannot read `{path}`: it belongs to another user (uid {uid})"
    assert not owned.is_own(path)


def test_under_sudo_the_caller_counts_too_and_only_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in git: whoever can call sudo can be root, and a variable alone makes nobody another user."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert owned.users({"SUDO_UID": "1000"}) == {0, 1000}
    for text in ("", "-1", "1e3", "٣", "9" * 30):
        assert owned.users({"SUDO_UID": text}) == {0}
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert owned.users({"SUDO_UID": "1000"}) == {1001}


def test_a_file_in_a_folder_above_counts_up_to_folders_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "theirs" / "mine"
    inner.mkdir(parents=True)
    (tmp_path / "jumar.toml").write_text("")
    assert settings.find(inner) == tmp_path / "jumar.toml"
    real = settings._owner

    def owner(path: Path, *, follow: bool) -> int:
        return 4242 if path == tmp_path / "theirs" else real(path, follow=follow)

    monkeypatch.setattr(settings, "_owner", owner)
    with notes.collected() as told:
        assert settings.find(inner) is None
    assert told == [f"`{tmp_path / 'jumar.toml'}` is not read: a folder on the way to it belongs to another user"]
    (inner / "jumar.toml").write_text("")
    assert settings.find(inner) == inner / "jumar.toml"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_read_and_hides_those_above(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    inner.mkdir()
    (tmp_path / "jumar.toml").write_text("")
    os.mkfifo(inner / "jumar.toml")
    os.chown(inner / "jumar.toml", 4242, 4242)
    with notes.collected() as told:
        assert settings.find(inner) is None
    assert told == [f"`{inner / 'jumar.toml'}` is not read: it belongs to another user"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_project_of_another_user_sets_nothing(tmp_path: Path) -> None:
    (tmp_path / "jumar.toml").write_text('[migrate]\nskip = ["PT101"]\n')
    os.chown(tmp_path, 4242, 4242)
    with notes.collected() as told:
        assert settings.find(tmp_path) is None
    assert told == [f"`{tmp_path / 'jumar.toml'}` is not read: a folder on the way to it belongs to another user"]


def test_the_configuration_folder_never_depends_on_the_working_folder() -> None:
    assert home.config({"XDG_CONFIG_HOME": "/c"}) == Path("/c/jumar")
    assert home.config({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == Path("/h/.config/jumar")
    assert home.config({"HOME": "/h"}) == Path("/h/.config/jumar")
