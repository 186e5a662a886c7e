"""The loopback OBS, judged by the unmodified official clients of OBS and of S3."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Client = Callable[..., Any]
ODD_KEYS = [
    *("a", "a/b", "a//b", "a/", "../up", "a/../../up", "/lead", ".", "..", "./x", "%25", "a%2Fb", "空 格+&=?#.txt"),
    *("n" * 255, "d" * 300 + "/" + "f" * 500, "a:b*c", "tab\tkey", "a%file", "%folder", ".jumar/tmp/x"),
]


@pytest.mark.parametrize("signature", ["obs", "v2", "v4"])
def test_esdk_does_everything(esdk: Client, tmp_path: Path, signature: str) -> None:
    client = esdk(signature)
    assert client.createBucket("bucket-1", location="local").status == 200
    assert client.headBucket("bucket-1").status == 200
    assert [bucket.name for bucket in client.listBuckets().body.buckets] == ["bucket-1"]
    data = bytes(range(256)) * 700
    put = client.putContent("bucket-1", "dir/one.bin", content=data, metadata={"note": "kept"})
    assert put.status == 200
    assert put.body.etag == f'"{hashlib.md5(data).hexdigest()}"'
    about = client.getObjectMetadata("bucket-1", "dir/one.bin")
    assert about.status == 200
    assert about.body.contentLength == len(data)
    assert dict(about.header)["note"] == "kept"
    got = client.getObject("bucket-1", "dir/one.bin", loadStreamInMemory=True)
    assert got.body.buffer == data
    assert client.copyObject("bucket-1", "dir/one.bin", "bucket-1", "dir/空 格&?.bin").status == 200
    listed = client.listObjects("bucket-1", prefix="dir/")
    assert [item.key for item in listed.body.contents] == ["dir/one.bin", "dir/空 格&?.bin"]
    source, target = tmp_path / "big", tmp_path / "back"
    source.write_bytes(data * 40)
    sent = client.uploadFile("bucket-1", "big", str(source), partSize=1 << 20, taskNum=4, enableCheckpoint=True)
    assert sent.status == 200, sent.errorMessage
    assert sent.body.etag.endswith('-7"')
    taken = client.downloadFile("bucket-1", "big", str(target), partSize=1 << 20, taskNum=4)
    assert taken.status == 200
    assert target.read_bytes() == source.read_bytes()
    from obs import DeleteObjectsRequest, Object

    keys = ["dir/one.bin", "dir/空 格&?.bin", "big"]
    assert client.deleteBucket("bucket-1").status == 409
    request = DeleteObjectsRequest(quiet=False, objects=[Object(key) for key in keys])
    assert len(client.deleteObjects("bucket-1", request).body.deleted) == 3
    assert client.deleteBucket("bucket-1").status == 204


@pytest.mark.parametrize("signature", ["obs", "v2", "v4"])
def test_esdk_changes_objects_in_place(esdk: Client, signature: str) -> None:
    from obs import AppendObjectContent, GetObjectHeader

    client = esdk(signature)
    client.createBucket("bucket-1", location="local")

    def append(key: str, text: str, position: int) -> Any:
        return client.appendObject("bucket-1", key, AppendObjectContent(content=text, position=position))

    assert append("log", "one ", 0).body.nextPosition == 4
    assert append("log", "two", 4).body.nextPosition == 7
    assert append("log", "late", 4).errorCode == "PositionNotEqualToLength"
    whole = client.getObject("bucket-1", "log", loadStreamInMemory=True)
    assert whole.body.buffer == b"one two"
    assert client.getObject("bucket-1", "log", headers=GetObjectHeader(range="4-5")).body.response.read() == b"tw"
    client.putContent("bucket-1", "plain", content="x", metadata={"a": "1"})
    assert append("plain", "y", 1).errorCode == "ObjectNotAppendable"
    assert client.setObjectMetadata("bucket-1", "plain", metadata={"b": "2"}).status == 200
    about = client.getObjectMetadata("bucket-1", "plain")
    assert dict(about.header).items() >= {"a": "1", "b": "2"}.items()
    assert client.renameFile("bucket-1", "plain", "log").errorCode == "NotImplemented"
    assert client.renameFile("bucket-1", "plain", "new/name").status == 204
    assert dict(client.getObjectMetadata("bucket-1", "new/name").header)["b"] == "2"
    versions = client.listVersions("bucket-1").body.versions
    assert [(one.key, one.versionId, one.isLatest) for one in versions] == [
        ("log", "null", True),
        ("new/name", "null", True),
    ]
    stored = client.getBucketStorageInfo("bucket-1").body
    assert (stored.size, stored.objectNumber) == (8, 2)


@pytest.mark.parametrize("signature", ["obs", "v2", "v4"])
def test_esdk_with_a_wrong_secret_is_refused(esdk: Client, signature: str) -> None:
    done = esdk(signature, "wrong").createBucket("bucket-1", location="local")
    assert (done.status, done.errorCode) == (403, "SignatureDoesNotMatch")


@pytest.mark.parametrize("version", ["s3", "s3v4"])
@pytest.mark.parametrize("style", ["path", "virtual"])
def test_boto3_does_everything(s3: Client, tmp_path: Path, version: str, style: str) -> None:
    client = s3(version, style)
    client.create_bucket(Bucket="bucket-1")
    data = bytes(range(256)) * 700
    client.put_object(Bucket="bucket-1", Key="x y/é&.bin", Body=data, Metadata={"note": "kept"}, ContentType="a/b")
    about = client.head_object(Bucket="bucket-1", Key="x y/é&.bin")
    assert about["Metadata"] == {"note": "kept"}
    assert about["ContentType"] == "a/b"
    assert client.get_object(Bucket="bucket-1", Key="x y/é&.bin", Range="bytes=256-511")["Body"].read() == data[256:512]
    client.copy_object(Bucket="bucket-1", Key="copy", CopySource={"Bucket": "bucket-1", "Key": "x y/é&.bin"})
    assert client.head_object(Bucket="bucket-1", Key="copy")["Metadata"] == {"note": "kept"}
    source, target = tmp_path / "big", tmp_path / "back"
    source.write_bytes(data * 100)
    client.upload_file(str(source), "bucket-1", "big")
    client.download_file("bucket-1", "big", str(target))
    assert target.read_bytes() == source.read_bytes()
    pages = client.get_paginator("list_objects_v2").paginate(Bucket="bucket-1", PaginationConfig={"PageSize": 1})
    assert [item["Key"] for page in pages for item in page["Contents"]] == ["big", "copy", "x y/é&.bin"]
    keys = [{"Key": key} for key in ("big", "copy", "x y/é&.bin")]
    assert len(client.delete_objects(Bucket="bucket-1", Delete={"Objects": keys})["Deleted"]) == 3
    client.delete_bucket(Bucket="bucket-1")
    assert client.list_buckets()["Buckets"] == []


@pytest.mark.parametrize("version", ["s3", "s3v4"])
def test_boto3_with_a_wrong_secret_is_refused(s3: Client, version: str) -> None:
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        s3(version, secret="wrong").list_buckets()


@pytest.mark.parametrize("version", ["s3", "s3v4"])
def test_signed_addresses_work_and_changed_ones_do_not(s3: Client, version: str) -> None:
    client = s3(version)
    client.create_bucket(Bucket="bucket-1")
    client.put_object(Bucket="bucket-1", Key="a b", Body=b"text")
    link = client.generate_presigned_url("get_object", Params={"Bucket": "bucket-1", "Key": "a b"}, ExpiresIn=60)
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == b"text"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.replace("a%20b", "other"))


def test_unsigned_requests_are_refused(loopback: Any) -> None:
    for method, path in [("GET", "/"), ("PUT", "/bucket-1"), ("GET", "/bucket-1/key"), ("DELETE", "/bucket-1")]:
        connection = http.client.HTTPConnection("127.0.0.1", loopback.server.port)
        connection.request(method, path, body=b"x" if method == "PUT" else None)
        assert connection.getresponse().status == 403
        connection.close()


def test_a_changed_body_is_refused(loopback: Any, s3: Client) -> None:
    """Version 4 signs the body: what arrives must be what was signed."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest

    client = s3()
    client.create_bucket(Bucket="bucket-1")
    request = AWSRequest("PUT", f"{loopback.endpoint}/bucket-1/key", data=b"right")
    credentials = client._request_signer._credentials
    S3SigV4Auth(credentials, "s3", "local").add_auth(request)
    headers = dict(request.headers)
    connection = http.client.HTTPConnection("127.0.0.1", loopback.server.port)
    connection.request("PUT", "/bucket-1/key", body=b"wrong", headers=headers)
    answer = connection.getresponse()
    assert answer.status in (400, 403)
    connection.close()
    assert "Contents" not in client.list_objects_v2(Bucket="bucket-1")


def test_no_key_leaves_the_folder_and_every_key_comes_back(loopback: Any, s3: Client, tmp_path: Path) -> None:
    client = s3()
    client.create_bucket(Bucket="bucket-1")
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(loopback.root)}
    kept = []
    for key in ODD_KEYS:
        client.put_object(Bucket="bucket-1", Key=key, Body=key.encode())
        kept.append(key)
    for key in kept:
        assert client.get_object(Bucket="bucket-1", Key=key)["Body"].read() == key.encode(), key
    listed = [item["Key"] for item in client.list_objects_v2(Bucket="bucket-1")["Contents"]]
    assert listed == sorted(kept, key=str.encode)
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(loopback.root)} == before
    for key in kept:
        client.delete_object(Bucket="bucket-1", Key=key)
    assert "Contents" not in client.list_objects_v2(Bucket="bucket-1")


@pytest.mark.parametrize("call", ["list_objects", "list_objects_v2"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_pages_and_delimiters(s3: Client, call: str, size: int) -> None:
    client = s3()
    client.create_bucket(Bucket="bucket-1")
    keys = ["a", "a-b", "a/1", "a/2", "a/c/3", "a0", "b/", "b/x", "z"]
    for key in keys:
        client.put_object(Bucket="bucket-1", Key=key, Body=b"")

    def read(**more: Any) -> list[str]:
        found: list[str] = []
        for page in client.get_paginator(call).paginate(Bucket="bucket-1", PaginationConfig={"PageSize": size}, **more):
            found += [item["Key"] for item in page.get("Contents", ())]
            found += [item["Prefix"] for item in page.get("CommonPrefixes", ())]
        return sorted(found)

    assert read() == sorted(keys)
    assert read(Delimiter="/") == ["a", "a-b", "a/", "a0", "b/", "z"]
    assert read(Prefix="a/", Delimiter="/") == ["a/1", "a/2", "a/c/"]
    assert read(Prefix="a") == ["a", "a-b", "a/1", "a/2", "a/c/3", "a0"]
    assert read(Prefix="none") == []


def test_esdk_pages_with_markers(esdk: Client) -> None:
    client = esdk()
    client.createBucket("bucket-1")
    for number in range(7):
        client.putContent("bucket-1", f"k{number}", content="x")
    found, marker = [], None
    while True:
        page = client.listObjects("bucket-1", max_keys=2, marker=marker).body
        found += [item.key for item in page.contents]
        if not page.is_truncated:
            break
        marker = page.next_marker
    assert found == [f"k{number}" for number in range(7)]


def test_a_file_copied_into_the_folder_is_an_object(loopback: Any, s3: Client) -> None:
    client = s3()
    client.create_bucket(Bucket="bucket-1")
    (loopback.root / "bucket-1" / "sub").mkdir()
    (loopback.root / "bucket-1" / "sub" / "file").write_bytes(b"by hand")
    listed = client.list_objects_v2(Bucket="bucket-1")["Contents"]
    assert [(item["Key"], item["ETag"]) for item in listed] == [
        ("sub/file", f'"{hashlib.md5(b"by hand").hexdigest()}"')
    ]


def test_errors_have_the_names_that_clients_know(s3: Client) -> None:
    from botocore.exceptions import ClientError

    client = s3()
    with pytest.raises(ClientError, match="NoSuchBucket"):
        client.list_objects_v2(Bucket="missing")
    client.create_bucket(Bucket="bucket-1")
    with pytest.raises(ClientError, match="NoSuchKey"):
        client.get_object(Bucket="bucket-1", Key="missing")
    client.put_object(Bucket="bucket-1", Key="k", Body=b"12345")
    with pytest.raises(ClientError, match="InvalidRange"):
        client.get_object(Bucket="bucket-1", Key="k", Range="bytes=9-")
    with pytest.raises(ClientError, match="NoSuchUpload"):
        client.upload_part(Bucket="bucket-1", Key="k", PartNumber=1, UploadId="../..", Body=b"")
    with pytest.raises(ClientError, match="NotImplemented"):
        client.put_bucket_tagging(Bucket="bucket-1", Tagging={"TagSet": []})
    with pytest.raises(ClientError, match="304"):
        client.get_object(Bucket="bucket-1", Key="k", IfNoneMatch=hashlib.md5(b"12345").hexdigest())


def test_a_half_sent_body_leaves_nothing(loopback: Any, s3: Client) -> None:
    import socket

    client = s3()
    client.create_bucket(Bucket="bucket-1")
    link = client.generate_presigned_url("put_object", Params={"Bucket": "bucket-1", "Key": "half"}, ExpiresIn=60)
    path = link.split(str(loopback.server.port), 1)[1]
    with socket.create_connection(("127.0.0.1", loopback.server.port)) as sock:
        host = f"127.0.0.1:{loopback.server.port}"
        sock.sendall(f"PUT {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\nonly this".encode())
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(100).startswith(b"HTTP/1.1 400 ")
    assert "Contents" not in client.list_objects_v2(Bucket="bucket-1")
    assert not list((loopback.root / ".jumar" / "tmp").iterdir())
