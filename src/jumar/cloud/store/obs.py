"""OBS through Huawei's own client, esdk-obs-python: certificates checked, kept-alive connections, every status read.

Its calls return a status instead of raising, and its `ssl_verify` is off unless told otherwise.
"""

from __future__ import annotations

import base64
import functools
import http.client
import importlib
import io
import logging
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from jumar.cloud.credentials import Credentials
from jumar.cloud.store import ObjectEntry, Part, Piece, Transient, failure, write_at
from jumar.core.errors import UserError, cannot, reason

PAGE = 1000
CHUNK = 256 << 10
"""Bytes that go through Python at a time."""


class Endpoint(NamedTuple):
    url: str
    region: str


class ObsStore:
    def __init__(self, endpoint: Endpoint, credentials: Credentials) -> None:
        try:
            obs: Any = importlib.import_module("obs")
        except ImportError:
            raise UserError("`esdk-obs-python` is not installed", "pip install 'jumar[cloud]'") from None
        credentials.check(endpoint.url)
        logging.getLogger("obs").setLevel(logging.CRITICAL)
        _remember_crc_table()
        self.obs = obs
        self.name = endpoint.url
        host = urlsplit(endpoint.url).hostname or ""
        self.local = host in ("127.0.0.1", "localhost", "::1")
        self.client = obs.ObsClient(
            access_key_id=credentials.access_key,
            secret_access_key=credentials.secret_key,
            security_token=credentials.token,
            server=endpoint.url,
            region=endpoint.region,
            signature="obs",
            is_signature_negotiation=False,
            ssl_verify=True,
            long_conn_mode=True,
            max_retry_count=0,
            max_redirect_count=1,  # the first is answered with an error: it would carry the keys to another host
            timeout=60,
            chunk_size=CHUNK,
        )

    def close(self) -> None:
        self.client.close()

    def buckets(self) -> list[str]:
        found = self._call("the list of buckets", self.client.listBuckets, False)
        return [bucket.name for bucket in found.body.buckets]

    def make_bucket(self, bucket: str) -> None:
        self._call(f"`{bucket}`", self.client.createBucket, bucket, location=self.client.region)

    def entries(self, bucket: str, prefix: str = "", *, one_level: bool = False) -> Iterator[ObjectEntry]:
        # Version 1 with markers: parallel file systems know no other, and mark pages wrongly with encoded keys.
        marker = None
        while True:
            page = self._call(f"`{bucket}`", self.client.listObjects, bucket, prefix=prefix or None, marker=marker,
                              max_keys=PAGE, delimiter="/" if one_level else None).body  # fmt: skip
            found = [ObjectEntry(item.key, int(item.size), item.etag.strip('"'), 0) for item in page.contents]
            found += [ObjectEntry(item.prefix, 0, "", 0) for item in page.commonPrefixs or ()]
            yield from sorted(found)
            if not page.is_truncated:
                return
            marker = page.next_marker or max(entry.key for entry in found)

    def head(self, bucket: str, key: str) -> ObjectEntry | None:
        found = self._answer(f"`{bucket}/{key}`", self.client.getObjectMetadata, bucket, key)
        if found.status == 404:
            # A HEAD has no body to say which of the two is missing.
            self._call(f"`{bucket}`", self.client.listObjects, bucket, max_keys=1)
            return None
        self._check(found, f"`{bucket}/{key}`")
        return ObjectEntry(key, int(found.body.contentLength), found.body.etag.strip('"'), 0)

    def put(self, bucket: str, key: str, data: bytes, md5: str) -> str:
        headers = self.obs.PutObjectHeader(md5=_base64(md5), contentLength=len(data))
        done = self._call(
            f"`{bucket}/{key}`", self.client.putContent, bucket, key, content=io.BytesIO(data), headers=headers
        )
        return str(done.body.etag).strip('"')

    def get(self, bucket: str, key: str, start: int, size: int) -> bytes:
        headers = self.obs.GetObjectHeader(range=f"{start}-{start + size - 1}") if size else None
        done = self._call(f"`{bucket}/{key}`", self.client.getObject, bucket, key, headers=headers)
        stream = done.body.response
        try:
            data: bytes = stream.read()
        except Exception as error:
            # esdk raises a bare Exception when a body ends too early.
            raise Transient(f"`{bucket}/{key}`: {error}") from error
        finally:
            stream.close()
        if len(data) != size:
            raise Transient(f"`{bucket}/{key}`: {len(data)} of {size} bytes arrived")
        return data

    def copy(self, bucket: str, key: str, to_bucket: str, to_key: str) -> None:
        self._call(f"`{bucket}/{key}`", self.client.copyObject, bucket, key, to_bucket, to_key)

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        for at in range(0, len(keys), PAGE):
            objects = [self.obs.Object(key) for key in keys[at : at + PAGE]]
            request = self.obs.DeleteObjectsRequest(quiet=True, objects=objects)
            done = self._call(f"`{bucket}`", self.client.deleteObjects, bucket, request)
            for wrong in done.body.error or ():
                raise failure(403, wrong.code, wrong.message, f"`{bucket}/{wrong.key}`")

    def begin(self, bucket: str, key: str) -> str:
        done = self._call(f"`{bucket}/{key}`", self.client.initiateMultipartUpload, bucket, key)
        return str(done.body.uploadId)

    def part(self, bucket: str, key: str, upload: str, number: int, piece: Piece) -> str:
        done = self._call(f"`{bucket}/{key}`", self.client.uploadPart, bucket, key, number, upload,
                          content=functools.partial(_send_piece, piece),
                          extensionHeaders={"Content-Length": str(piece.size)})  # fmt: skip
        return str(done.body.etag).strip('"')

    def fetch(self, bucket: str, key: str, start: int, size: int, handle: int) -> None:
        headers = self.obs.GetObjectHeader(range=f"{start}-{start + size - 1}")
        done = self._call(f"`{bucket}/{key}`", self.client.getObject, bucket, key, headers=headers)
        stream, at, end = done.body.response, start, start + size
        view = memoryview(bytearray(CHUNK))
        try:
            while at < end and (count := stream.readinto(view[: end - at])):
                at = write_at(handle, view[:count], at)
        except (OSError, http.client.HTTPException) as error:
            raise Transient(f"`{bucket}/{key}`: {reason(error)}") from error
        finally:
            stream.close()
        if at != end:
            raise Transient(f"`{bucket}/{key}`: {at - start} of {size} bytes arrived")

    def parts(self, bucket: str, key: str, upload: str) -> list[Part] | None:
        found: list[Part] = []
        marker = None
        while True:
            page = self._answer(f"`{bucket}/{key}`", self.client.listParts, bucket, key, upload, 1000, marker)
            if page.status == 404:
                return None
            self._check(page, f"`{bucket}/{key}`")
            found += [Part(int(one.partNumber), one.etag.strip('"'), int(one.size)) for one in page.body.parts]
            if not page.body.isTruncated:
                return found
            marker = page.body.nextPartNumberMarker

    def finish(self, bucket: str, key: str, upload: str, parts: Sequence[Part]) -> str:
        chosen = [self.obs.CompletePart(partNum=part.number, etag=part.etag) for part in parts]
        request = self.obs.CompleteMultipartUploadRequest(parts=chosen)
        done = self._call(f"`{bucket}/{key}`", self.client.completeMultipartUpload, bucket, key, upload, request)
        return str(done.body.etag).strip('"')

    def abort(self, bucket: str, key: str, upload: str) -> None:
        self._answer(f"`{bucket}/{key}`", self.client.abortMultipartUpload, bucket, key, upload)

    def _call(self, what: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        answer = self._answer(what, function, *args, **kwargs)
        self._check(answer, what)
        return answer

    def _answer(self, what: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (OSError, http.client.HTTPException) as error:
            raise Transient(f"{what}: {reason(error)}") from error

    def _check(self, answer: Any, what: str) -> None:
        if answer.status is None or answer.status >= 300:
            status, code = answer.status or 0, answer.errorCode or ""
            raise failure(status, code, answer.errorMessage or answer.reason or "", what)


def _send_piece(piece: Piece, connection: Any) -> None:
    """The body of a request: the kernel sends from the file, unless the connection is encrypted."""
    try:
        file = open(piece.path, "rb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise cannot(f"read `{piece.path}`", error) from error
    with file:
        if connection.conn.sock.sendfile(file, piece.start, piece.size) != piece.size:
            raise piece.shorter()


def _remember_crc_table() -> None:
    """esdk computes the same table anew for every download, which costs more than a small download does."""
    crcmod: Any = importlib.import_module("crcmod.crcmod")
    if not hasattr(crcmod._mkTable_r, "cache_info"):
        crcmod._mkTable_r = functools.lru_cache(crcmod._mkTable_r)


def _base64(md5: str) -> str:
    return base64.b64encode(bytes.fromhex(md5)).decode()
