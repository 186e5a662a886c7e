"""The MoXing of the stand-in: same calls for paths and addresses; and the session for Python users."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from jumar import cloud
from jumar.cloud.standin import moxing_file as mox
from jumar.core.errors import UserError


@pytest.fixture
def session() -> cloud.Session:
    made = cloud.Session()
    made.obs.make_bucket("bucket-1")
    return made


@pytest.fixture(params=["s3://bucket-1/top", "obs://bucket-1/top", "folder"])
def top(request: pytest.FixtureRequest, session: cloud.Session, tmp_path: Path) -> str:
    if request.param == "folder":
        (tmp_path / "top").mkdir()
        return str(tmp_path / "top")
    return str(request.param)


def test_files(top: str) -> None:
    mox.make_dirs(f"{top}/a")
    mox.write(f"{top}/a/x.txt", "one\n")
    mox.append(f"{top}/a/x.txt", "two\n")
    assert mox.read(f"{top}/a/x.txt") == "one\ntwo\n"
    assert mox.read(f"{top}/a/x.txt", binary=True) == b"one\ntwo\n"
    assert mox.get_size(f"{top}/a/x.txt") == mox.stat(f"{top}/a/x.txt").length == 8
    assert (mox.exists(f"{top}/a"), mox.is_directory(f"{top}/a"), mox.is_directory(f"{top}/a/x.txt")) == (
        True,
        True,
        False,
    )
    with mox.File(f"{top}/a/y.bin", "bw") as file:
        file.write(b"\x00\x01")
    with mox.File(f"{top}/a/y.bin", "rb") as file:
        assert file.read() == b"\x00\x01"
    with mox.File(f"{top}/a/x.txt") as file:
        assert list(file) == ["one\n", "two\n"]
    mox.make_dirs(f"{top}/b")
    mox.copy(f"{top}/a/x.txt", f"{top}/b/z.txt")
    mox.rename(f"{top}/b/z.txt", f"{top}/b/w.txt")
    assert not mox.exists(f"{top}/b/z.txt")
    assert mox.list_directory(top) == ["a", "b"]
    assert mox.list_directory(top, recursive=True) == ["a", "a/x.txt", "a/y.bin", "b", "b/w.txt"]
    assert mox.list_directory(top, recursive=True, skip_dir=True) == ["a/x.txt", "a/y.bin", "b/w.txt"]
    assert mox.glob(f"{top}/*/*.txt") == [f"{top}/a/x.txt", f"{top}/b/w.txt"]
    assert next((where, sorted(folders), files) for where, folders, files in mox.walk(top)) == (top, ["a", "b"], [])
    mox.remove(f"{top}/a")
    assert mox.exists(f"{top}/a/x.txt")
    mox.remove(f"{top}/a", recursive=True)
    assert not mox.exists(f"{top}/a/x.txt")


def test_what_is_missing_is_said(top: str) -> None:
    with pytest.raises(mox.MoxFileNotExistsException):
        mox.read(f"{top}/none")
    with pytest.raises(mox.MoxFileNotExistsException):
        mox.copy_parallel(f"{top}/none", f"{top}/other")
    with pytest.raises(OSError, match=r"parent|No such file"):
        mox.mk_dir(f"{top}/no/parent")
    mox.make_dirs(f"{top}/folder")
    with pytest.raises(OSError, match="copy_parallel"):
        mox.copy(f"{top}/folder", f"{top}/other")


def test_copy_parallel_takes_the_contents(top: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "a").write_text("1")
    (source / "sub" / "b").write_text("2")
    mox.copy_parallel(str(source), f"{top}/there")
    assert mox.list_directory(f"{top}/there", recursive=True) == ["a", "sub", "sub/b"]
    mox.copy_parallel(f"{top}/there", str(tmp_path / "back"), threads=2)
    assert (tmp_path / "back" / "sub" / "b").read_text() == "2"
    mox.copy_parallel(f"{top}/there", f"{top}/again", file_list=["a"])
    assert mox.list_directory(f"{top}/again") == ["a"]


def test_shift_and_back(session: cloud.Session, tmp_path: Path) -> None:
    before = open, os.listdir, shutil.copy
    mox.shift("os", "mox")
    try:
        with open("s3://bucket-1/x", "w") as file:
            file.write("shifted")
        with open(tmp_path / "local", "w") as file:
            file.write("plain")
        assert os.path.exists("s3://bucket-1/x")
        assert os.listdir("s3://bucket-1/") == ["x"]
        assert "local" in os.listdir(tmp_path)
        assert os.path.getsize("s3://bucket-1/x") == 7
    finally:
        mox.shift("mox", "os")
    assert (open, os.listdir, shutil.copy) == before


def test_session_keeps_the_folder_or_takes_its_contents(session: cloud.Session, tmp_path: Path) -> None:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "sub" / "f").write_text("x")
    obs = session.obs
    assert obs.upload_dir(tmp_path / "data", "obs://bucket-1/one/") == "obs://bucket-1/one/data/"
    assert obs.upload_dir(str(tmp_path / "data"), "obs://bucket-1/two", contents=True) == "obs://bucket-1/two/"
    assert obs.upload_file(tmp_path / "data" / "sub" / "f", "obs://bucket-1/three/") == "obs://bucket-1/three/f"
    keys = [entry.key for entry in obs.store.entries("bucket-1")]
    assert keys == ["one/data/sub/f", "three/f", "two/sub/f"]
    assert obs.download_dir("obs://bucket-1/one/data/", tmp_path / "w") == tmp_path / "w" / "data"
    obs.download_dir("obs://bucket-1/one/data/", tmp_path / "v", contents=True)
    assert (tmp_path / "w/data/sub/f").read_text() == (tmp_path / "v/sub/f").read_text() == "x"
    assert obs.download_file("obs://bucket-1/three/f", tmp_path).read_text() == "x"
    with pytest.raises(UserError, match="is a path of this machine"):
        obs.upload_file(tmp_path / "data" / "sub" / "f", str(tmp_path))
