"""The folder of the stand-in: links in it lead nowhere, killed uploads leave nothing, its keys are whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud.disk import Disk
from jumar.cloud.standin import service
from jumar.cloud.store.folder import FolderStore
from jumar.core.errors import UserError
from program_files import program_text


def test_links_in_the_store_do_not_lead_out_of_it(loopback: Any, s3: Any, tmp_path: Path) -> None:
    from botocore.exceptions import ClientError

    client = s3()
    client.create_bucket(Bucket="bucket-1")
    client.put_object(Bucket="bucket-1", Key="secret", Body=b"x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private").write_text("not for the store")
    bucket = loopback.root / "bucket-1"
    (bucket / "file").symlink_to(outside / "private")
    (bucket / "folder").symlink_to(outside)
    (loopback.root / "bucket-2").symlink_to(outside)
    for key in ("file", "folder/private"):
        with pytest.raises(ClientError, match="NoSuchKey"):
            client.get_object(Bucket="bucket-1", Key=key)
        assert FolderStore(loopback.root).head("bucket-1", key) is None
    with pytest.raises(ClientError, match="NoSuchBucket"):
        client.get_object(Bucket="bucket-2", Key="private")
    assert [row["Key"] for row in client.list_objects_v2(Bucket="bucket-1")["Contents"]] == ["secret"]
    assert [row["Name"] for row in client.list_buckets()["Buckets"]] == ["bucket-1"]
    with pytest.raises(ClientError, match="AccessDenied"):
        client.put_object(Bucket="bucket-1", Key="folder/new", Body=b"x")
    with pytest.raises(UserError, match="cannot store `folder/new`"):
        FolderStore(loopback.root).put("bucket-1", "folder/new", b"x", "0" * 32)
    assert [path.name for path in outside.iterdir()] == ["private"]


KILLED = program_text(__file__, "killed_store")


@pytest.mark.parametrize("next_one", ["upload", "look"])
def test_the_next_command_removes_what_a_killed_upload_left(tmp_path: Path, next_one: str) -> None:
    root, source = tmp_path / "store", tmp_path / "source"
    FolderStore(root).make_bucket("bucket-1")
    source.write_bytes(b"x" * 100_000)
    command = [sys.executable, "-c", KILLED, str(root), str(source)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    left = root / ".jumar" / "tmp"
    assert [path.stat().st_size for path in left.iterdir()] == [100_000]
    again = FolderStore(root)
    if next_one == "upload":
        again.put_file("bucket-1", "other", str(source))
    else:
        assert again.buckets() == ["bucket-1"]
    assert not list(left.iterdir())
    assert Disk(root).find("bucket-1", "k") is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"a": 1}'])
def test_a_key_file_without_keys_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(UserError, match="holds no key pair"):
        service.start(tmp_path)
    os.unlink(tmp_path / "keys.json")
    assert service.keys(tmp_path) == json.loads((tmp_path / "keys.json").read_text())
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]
