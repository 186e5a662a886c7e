"""What the loopback store must not do, whoever asks: answer another question, copy by a link, leave its folder."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Client = Callable[..., Any]
QUESTIONS = ("acl", "attributes", "legal-hold", "location", "partNumber=1", "policy", "restore", "tagging", "torrent",
             "uploads", "versionId=7", "versioning", "versions", "website", "x-image-process=image")  # fmt: skip


@pytest.fixture
def client(s3: Client) -> Any:
    made = s3()
    made.create_bucket(Bucket="bucket-1")
    made.put_object(Bucket="bucket-1", Key="secret", Body=b"the bytes of the object")
    return made


def _signed(loopback: Any, client: Any, method: str, path: str, **headers: str) -> tuple[int, bytes]:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method, f"{loopback.endpoint}{path}", headers=headers)
    S3SigV4Auth(client._request_signer._credentials, "s3", "local").add_auth(request)
    connection = http.client.HTTPConnection("127.0.0.1", loopback.server.port)
    connection.request(method, path, headers=dict(request.headers))
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_sub_resource_is_never_answered_with_the_object(loopback: Any, client: Any, question: str) -> None:
    status, body = _signed(loopback, client, "GET", f"/bucket-1/secret?{question}")
    assert b"the bytes" not in body
    assert status == (200 if question == "acl" else 501)
    assert (b"AccessControlPolicy" if question == "acl" else b"NotImplemented") in body


def test_the_official_clients_ask_for_access_lists(client: Any, esdk: Client) -> None:
    assert client.get_object_acl(Bucket="bucket-1", Key="secret")["Grants"] == []
    assert esdk().getObjectAcl("bucket-1", "secret").status == 200
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError, match="NoSuchKey"):
        client.get_object_acl(Bucket="bucket-1", Key="none")


@pytest.mark.parametrize("version", ["s3", "s3v4"])
@pytest.mark.parametrize("dialect", ["amz", "obs"])
def test_a_link_to_put_an_object_cannot_copy_another(s3: Client, client: Any, version: str, dialect: str) -> None:
    link = s3(version).generate_presigned_url("put_object", Params={"Bucket": "bucket-1", "Key": "k"}, ExpiresIn=60)
    if dialect == "obs":
        link += "&apiversion"
    request = urllib.request.Request(link, method="PUT", headers={f"x-{dialect}-copy-source": "/bucket-1/secret"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)
    assert [row["Key"] for row in client.list_objects_v2(Bucket="bucket-1")["Contents"]] == ["secret"]


def test_the_date_that_counts_is_the_signed_one(loopback: Any, s3: Client, client: Any) -> None:
    """An old request is not made new by a date header of the other dialect."""
    from email.utils import formatdate

    from jumar.cloud.standin.signature import version2

    credentials = client._request_signer._credentials
    old = formatdate(1_600_000_000, usegmt=True)
    signature = version2(credentials.secret_key, f"GET\n\n\n{old}\n/bucket-1/secret")
    headers = {"Date": old, "Authorization": f"AWS {credentials.access_key}:{signature}",
               "x-obs-date": formatdate(usegmt=True)}  # fmt: skip
    request = urllib.request.Request(f"{loopback.endpoint}/bucket-1/secret", headers=headers)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"PUT /b/k HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"PUT /b/k HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET /" + b"x" * (70 << 10),
    ],
    ids=["line", "header", "length", "encoding", "long"],
)
def test_what_is_no_http_is_told_so(loopback: Any, raw: bytes) -> None:
    with socket.create_connection(("127.0.0.1", loopback.server.port)) as sock:
        sock.sendall(raw)
        assert sock.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("PUT", "/bucket-1/k", {"Content-MD5": "no sum"}),
        ("GET", "/bucket-1?max-keys=many", {}),
        ("GET", "/bucket-1?list-type=2&continuation-token=%FF", {}),
        ("PUT", "/bucket-1/k?partNumber=0&uploadId=x", {}),
        ("POST", "/bucket-1?delete", {}),
    ],
)
def test_a_malformed_request_is_the_clients_mistake(
    loopback: Any, client: Any, method: str, path: str, headers: dict[str, str]
) -> None:
    status, body = _signed(loopback, client, method, path, **headers)
    assert 400 <= status < 500, body


def test_a_body_in_pieces_is_taken(loopback: Any, client: Any, s3: Client) -> None:
    link = s3().generate_presigned_url("put_object", Params={"Bucket": "bucket-1", "Key": "k"}, ExpiresIn=60)
    connection = http.client.HTTPConnection("127.0.0.1", loopback.server.port)
    connection.request("PUT", link.split(str(loopback.server.port), 1)[1], body=iter([b"a" * 70_000, b"b"]),
                       encode_chunked=True, headers={"Transfer-Encoding": "chunked"})  # fmt: skip
    assert connection.getresponse().read() == b""
    connection.request("GET", "/")
    assert connection.getresponse().status == 403, "the connection goes on with the next request"
    connection.close()
    assert client.get_object(Bucket="bucket-1", Key="k")["Body"].read() == b"a" * 70_000 + b"b"


def test_the_official_client_sends_what_has_no_length(esdk: Client, client: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100_000)
    with open(tmp_path / "f", "rb") as file:
        answer = esdk().putContent("bucket-1", "stream", content=file)
    assert answer.status == 200, answer.errorMessage
    assert client.get_object(Bucket="bucket-1", Key="stream")["Body"].read() == b"x" * 100_000
