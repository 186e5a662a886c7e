"""`jumar cloud ls, cp, sync, rm, mb`, as they are typed, on the stand-in and on a loopback OBS."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ACCESS, SECRET = "JUMARTESTACCESSKEY00", "jumar/test+secret0123456789abcdefghijklmn"
Jumar = Callable[..., Any]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha")
    (folder / "sub" / "b.txt").write_text("beta")
    return folder


@pytest.fixture(params=["local", "obs"])
def where(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, confirmed: Callable[[str], None]
) -> tuple[str, ...]:
    if request.param == "local":
        return ()
    pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
    monkeypatch.setenv("OBS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("OBS_SECRET_ACCESS_KEY", SECRET)
    endpoint: str = request.getfixturevalue("loopback").endpoint
    confirmed(endpoint)
    return ("--endpoint", endpoint)


def test_a_day_with_a_bucket(jumar: Jumar, data: Path, where: tuple[str, ...]) -> None:
    def run(*words: object) -> Any:
        done = jumar("cloud", *words, *where)
        assert done.code == 0, done.err
        return done.out

    assert run("mb", "obs://bucket-1") == "obs://bucket-1/\n"
    assert run("ls") == "obs://bucket-1/\n"
    assert "2 files, 9 B" in run("sync", "data", "obs://bucket-1/x/")
    assert "0 files, 0 B" in run("sync", "data", "obs://bucket-1/x/")
    assert run("ls", "obs://bucket-1/x/").split() == ["5", "obs://bucket-1/x/a.txt", "obs://bucket-1/x/sub/"]
    run("cp", "-r", "data", "obs://bucket-1/y/")
    run("cp", "-r", "--contents", "data", "obs://bucket-1/z")
    rows = json.loads(run("ls", "-r", "obs://bucket-1/", "--json"))["rows"]
    assert [row["key"] for row in rows] == [
        "x/a.txt", "x/sub/b.txt", "y/data/a.txt", "y/data/sub/b.txt", "z/a.txt", "z/sub/b.txt"]  # fmt: skip
    run("cp", "-r", "obs://bucket-1/y/data/", "back")
    assert Path("back/data/sub/b.txt").read_text() == "beta"
    run("cp", "obs://bucket-1/x/a.txt", "one.txt")
    run("cp", "obs://bucket-1/x/a.txt", "back/")
    assert Path("one.txt").read_text() == Path("back/a.txt").read_text() == "alpha"
    run("cp", "data/a.txt", "obs://bucket-1/w/")
    run("cp", "obs://bucket-1/w/a.txt", "obs://bucket-1/v")
    assert "obs://bucket-1/v" in run("rm", "obs://bucket-1/v")
    assert run("rm", "-r", "--print", "obs://bucket-1/x") == "obs://bucket-1/x/a.txt\nobs://bucket-1/x/sub/b.txt\n"
    run("rm", "-r", "obs://bucket-1/")
    assert run("ls", "obs://bucket-1/") == ""


def test_links_that_are_not_copied_are_named(jumar: Jumar, data: Path, where: tuple[str, ...]) -> None:
    (data / "loop").symlink_to("loop")
    (data / "sub" / "folder").symlink_to("..")
    (data / "link.txt").symlink_to("a.txt")
    (data / "nowhere").symlink_to("missing")
    jumar("cloud", "mb", "obs://bucket-1", *where)
    done = jumar("cloud", "sync", "data", "obs://bucket-1/x/", *where)
    assert done.code == 0 and "3 files" in done.out
    assert "not copied: `loop`, `nowhere`, `sub/folder`: no file (a link to a folder, " in done.out
    again = jumar("cloud", "sync", "data", "obs://bucket-1/x/", "--ignore", "loop", "--json", *where)
    assert json.loads(again.out)["rows"][0]["left_out"] == ["nowhere", "sub/folder"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ls", "obs://no-such-1/"), "`no-such-1`: no such bucket"),
        (("ls", "obs://X"), "not a bucket name: `X`"),
        (("cp", "data", "obs://bucket-1/"), "`data` is a folder"),
        (("cp", "missing", "obs://bucket-1/"), "no such file: `missing`"),
        (("cp", "a", "b"), "both are local paths"),
        (("sync", "missing", "obs://bucket-1/"), "no such folder: `missing`"),
        (("sync", "data", "other"), "both are local paths"),
        (("cp", "obs://bucket-1/none", "x"), "no such object: `obs://bucket-1/none`"),
        (("rm", "obs://bucket-1/none"), "nothing is stored at `obs://bucket-1/none`"),
        (("rm", "obs://bucket-1/"), "is a whole bucket"),
        (("ls", "--target", "locale"), "no such target: `locale`"),
        (("ls", "--target", "huaweicloud"), "has no OBS endpoint"),
        (("ls", "--endpoint", "http://example.com"), "not a safe endpoint for keys"),
        (("ls", "--endpoint", "https://obs.example.com"), "no keys are sent to `obs.example.com`"),
        (("ls", "--endpoint", "https://obs.cn-north-4.myhuaweicloud.com"), "no key pair for the target `huaweicloud`"),
        (("lss",), "no such command: `jumar cloud lss`"),
    ],
)
def test_mistakes_are_one_line(jumar: Jumar, data: Path, words: tuple[str, ...], message: str) -> None:
    jumar("cloud", "mb", "obs://bucket-1")
    done = jumar("cloud", *words)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert message in done.err.splitlines()[0]
    assert "Traceback" not in done.err


def test_an_open_credentials_file_is_refused(jumar: Jumar, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "credentials.toml"
    path.write_text('[huaweicloud]\naccess_key = "AK"\nsecret_key = "SECRETWORD"\n')
    path.chmod(0o644)
    endpoint = "https://obs.cn-north-4.myhuaweicloud.com"
    done = jumar("cloud", "ls", "--endpoint", endpoint)
    assert done.code == 2
    assert "can be read by others (mode 0644)" in done.err
    assert "SECRETWORD" not in done.err
    path.write_text('[huaweicloud]\nsecret_key = "SECRETWORD\n')
    path.chmod(0o600)
    done = jumar("cloud", "ls", "--endpoint", endpoint)
    assert "is not valid TOML" in done.err
    assert "SECRETWORD" not in done.err


def test_a_full_disk_is_said_and_nothing_is_half_there(
    jumar: Jumar, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from jumar.cloud.store import folder

    jumar("cloud", "mb", "obs://bucket-1")

    def full(source: str, target: str) -> None:
        Path(target).write_bytes(b"ha")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folder, "copy_file", full)
    done = jumar("cloud", "sync", "data", "obs://bucket-1/x/")
    assert done.code == 2
    assert "the disk there is full" in done.err
    monkeypatch.undo()
    monkeypatch.setenv("JUMAR_CLOUD_HOME", str(data.parent / "home"))
    store = data.parent / "home" / "store"
    assert not [path for path in store.rglob("*") if path.is_file()]


def test_no_permission_is_said(
    jumar: Jumar, data: Path, loopback: Any, monkeypatch: pytest.MonkeyPatch, confirmed: Callable[[str], None]
) -> None:
    confirmed(loopback.endpoint)
    pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
    monkeypatch.setenv("OBS_ACCESS_KEY_ID", "SOMEBODYELSE")
    monkeypatch.setenv("OBS_SECRET_ACCESS_KEY", "SECRETWORD")
    done = jumar("cloud", "ls", "--endpoint", loopback.endpoint)
    assert done.code == 2
    assert "InvalidAccessKeyId" in done.err
    assert "SECRETWORD" not in done.out + done.err
    assert os.listdir(loopback.root) == []
