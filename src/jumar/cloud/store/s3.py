"""Any other S3 store, and OBS where esdk is not installed, through boto3: its plain calls, not its slower transfers."""

from __future__ import annotations

import base64
import importlib
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from jumar.cloud.credentials import Credentials
from jumar.cloud.store import ObjectEntry, Part, Piece, Transient, failure, write_at
from jumar.cloud.store.obs import Endpoint
from jumar.core.errors import UserError

PAGE = 1000


class S3Store:
    def __init__(self, endpoint: Endpoint, credentials: Credentials) -> None:
        try:
            boto3: Any = importlib.import_module("boto3")
            config_module: Any = importlib.import_module("botocore.config")
            self.errors: Any = importlib.import_module("botocore.exceptions")
        except ImportError:
            raise UserError("`boto3` is not installed", "pip install 'jumar[cloud]'") from None
        credentials.check(endpoint.url)
        host = urlsplit(endpoint.url).hostname or ""
        self.name = endpoint.url
        self.local = host in ("127.0.0.1", "localhost", "::1")
        plain = host.replace(".", "").isdecimal() or host == "localhost"
        config = config_module.Config(
            s3={"addressing_style": "path" if plain else "virtual", "payload_signing_enabled": False},
            # Checksums behind the body are not understood by OBS and by many other stores.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            retries={"max_attempts": 0},
            max_pool_connections=64,
        )
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=endpoint.url,
            region_name=endpoint.region,
            aws_access_key_id=credentials.access_key,
            aws_secret_access_key=credentials.secret_key,
            aws_session_token=credentials.token,
            config=config,
        )

    def close(self) -> None:
        self.client.close()

    def buckets(self) -> list[str]:
        return [one["Name"] for one in self._call("the list of buckets", "list_buckets")["Buckets"]]

    def make_bucket(self, bucket: str) -> None:
        self._call(f"`{bucket}`", "create_bucket", Bucket=bucket)

    def entries(self, bucket: str, prefix: str = "", *, one_level: bool = False) -> Iterator[ObjectEntry]:
        more: dict[str, str] = {"Delimiter": "/"} if one_level else {}
        while True:
            page = self._call(f"`{bucket}`", "list_objects", Bucket=bucket, Prefix=prefix, MaxKeys=PAGE, **more)
            found = [
                ObjectEntry(one["Key"], one["Size"], one["ETag"].strip('"'), 0) for one in page.get("Contents", ())
            ]
            found += [ObjectEntry(one["Prefix"], 0, "", 0) for one in page.get("CommonPrefixes", ())]
            yield from sorted(found)
            if not page["IsTruncated"]:
                return
            more["Marker"] = page.get("NextMarker") or max(entry.key for entry in found)

    def head(self, bucket: str, key: str) -> ObjectEntry | None:
        try:
            found = self._call(f"`{bucket}/{key}`", "head_object", Bucket=bucket, Key=key)
        except _Missing:
            self._call(f"`{bucket}`", "list_objects", Bucket=bucket, MaxKeys=1)
            return None
        return ObjectEntry(key, found["ContentLength"], found["ETag"].strip('"'), 0)

    def put(self, bucket: str, key: str, data: bytes, md5: str) -> str:
        done = self._call(f"`{bucket}/{key}`", "put_object", Bucket=bucket, Key=key, Body=data,
                          ContentMD5=_base64(md5))  # fmt: skip
        return str(done["ETag"]).strip('"')

    def get(self, bucket: str, key: str, start: int, size: int) -> bytes:
        more = {"Range": f"bytes={start}-{start + size - 1}"} if size else {}
        done = self._call(f"`{bucket}/{key}`", "get_object", Bucket=bucket, Key=key, **more)
        try:
            data: bytes = done["Body"].read()
        except Exception as error:
            raise Transient(f"`{bucket}/{key}`: {type(error).__name__}") from error
        if len(data) != size:
            raise Transient(f"`{bucket}/{key}`: {len(data)} of {size} bytes arrived")
        return data

    def copy(self, bucket: str, key: str, to_bucket: str, to_key: str) -> None:
        source = {"Bucket": bucket, "Key": key}
        self._call(f"`{bucket}/{key}`", "copy_object", Bucket=to_bucket, Key=to_key, CopySource=source)

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        for at in range(0, len(keys), PAGE):
            objects = [{"Key": key} for key in keys[at : at + PAGE]]
            what = {"Objects": objects, "Quiet": True}
            done = self._call(f"`{bucket}`", "delete_objects", Bucket=bucket, Delete=what)
            for wrong in done.get("Errors", ()):
                raise failure(403, wrong.get("Code", ""), wrong.get("Message", ""), f"`{bucket}/{wrong.get('Key')}`")

    def begin(self, bucket: str, key: str) -> str:
        return str(self._call(f"`{bucket}/{key}`", "create_multipart_upload", Bucket=bucket, Key=key)["UploadId"])

    def part(self, bucket: str, key: str, upload: str, number: int, piece: Piece) -> str:
        done = self._call(f"`{bucket}/{key}`", "upload_part", Bucket=bucket, Key=key, UploadId=upload,
                          PartNumber=number, Body=piece.read())  # fmt: skip
        return str(done["ETag"]).strip('"')

    def fetch(self, bucket: str, key: str, start: int, size: int, handle: int) -> None:
        write_at(handle, self.get(bucket, key, start, size), start)

    def parts(self, bucket: str, key: str, upload: str) -> list[Part] | None:
        found: list[Part] = []
        marker = 0
        while True:
            try:
                page = self._call(f"`{bucket}/{key}`", "list_parts", Bucket=bucket, Key=key, UploadId=upload,
                                  PartNumberMarker=marker)  # fmt: skip
            except _Missing:
                return None
            found += [Part(one["PartNumber"], one["ETag"].strip('"'), one["Size"]) for one in page.get("Parts", ())]
            if not page["IsTruncated"]:
                return found
            marker = page["NextPartNumberMarker"]

    def finish(self, bucket: str, key: str, upload: str, parts: Sequence[Part]) -> str:
        chosen = {"Parts": [{"PartNumber": part.number, "ETag": part.etag} for part in parts]}
        done = self._call(f"`{bucket}/{key}`", "complete_multipart_upload", Bucket=bucket, Key=key, UploadId=upload,
                          MultipartUpload=chosen)  # fmt: skip
        return str(done["ETag"]).strip('"')

    def abort(self, bucket: str, key: str, upload: str) -> None:
        self._call(f"`{bucket}/{key}`", "abort_multipart_upload", Bucket=bucket, Key=key, UploadId=upload)

    def _call(self, what: str, name: str, **arguments: Any) -> Any:
        try:
            return getattr(self.client, name)(**arguments)
        except self.errors.ClientError as error:
            said = error.response.get("Error", {})
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            code = str(said.get("Code", ""))
            if status == 404 and code != "NoSuchBucket":
                raise _Missing(f"{what}: no such object", "`jumar cloud ls` shows what is there") from None
            code = "" if code.isdecimal() else code
            raise failure(status, code, str(said.get("Message", "")), what) from None
        except self.errors.BotoCoreError as error:
            raise Transient(f"{what}: {error}") from error


class _Missing(UserError):
    """404: the object, the upload, or for a HEAD the bucket."""


def _base64(md5: str) -> str:
    return base64.b64encode(bytes.fromhex(md5)).decode()
