"""The loopback OBS: which request means what. Speaks OBS and S3, by path and by virtual host, signed requests only."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from jumar.cloud import keys, uploads
from jumar.cloud.disk import Disk
from jumar.cloud.standin import changes, listing, objects, signature
from jumar.cloud.standin import dialect as dialects
from jumar.cloud.standin.dialect import OBS, Dialect, Tree, document
from jumar.cloud.standin.http import Answer, Request
from jumar.cloud.standin.receive import signed_body
from jumar.cloud.standin.signature import Denied
from jumar.core.errors import UserError

DOMAINS = ("obs.localhost", "s3.localhost", "localhost")
"""Hosts of the service; a name in front of one is a bucket."""
_QUESTIONS_WORDS = (
    "accelerate acl analytics append attributes backtosource cors customdomain delete deletebucket"
    " directcoldaccess encryption intelligent-tiering inventory legal-hold lifecycle location logging metadata"
    " metrics modify notification object-lock ownershipcontrols partnumber policy policystatus publicaccessblock"
    " quota rename replication requestpayment restore retention select storageclass storageinfo storagepolicy"
    " tagging torrent truncate uploadid uploads versionid versioning versions website x-image-process"
    " x-image-save-bucket x-image-save-object x-oss-process"
)
QUESTIONS = frozenset(_QUESTIONS_WORDS.split())
"""Names in a query that ask for something else than the bucket or object itself, in lower case."""
OF_BUCKETS = {
    "GET": {"acl", "location", "storageinfo", "uploads", "versioning", "versions"},
    "POST": {"delete"},
}
OF_OBJECTS = {
    "GET": {"acl", "uploadId"},
    "PUT": {"metadata", "partNumber", "uploadId"},
    "POST": {"append", "rename", "uploadId", "uploads"},
    "DELETE": {"uploadId"},
}


class Place(NamedTuple):
    bucket: str
    key_path: str
    """The encoded path behind the bucket."""

    @property
    def key(self) -> str:
        return unquote(self.key_path[1:], errors="surrogateescape")


class Store:
    """Answers requests for one folder; `keys` are access keys and their secrets."""

    def __init__(self, disk: Disk, keys: Mapping[str, str], domains: tuple[str, ...] = DOMAINS) -> None:
        self.disk = disk
        self.keys = keys
        self.domains = domains

    def __call__(self, request: Request) -> Answer:
        dialect = dialects.of(request)
        try:
            answer = self._do(request, dialect)
        except Denied as denied:
            answer = dialects.error(denied.code, denied.message, denied.status, request.path)
        except UserError as error:
            answer = dialects.error("InvalidBucketName", error.message, 400, request.path)
        except ValueError as error:
            # A number, date, sum or text in the request that is none.
            answer = dialects.error("InvalidArgument", f"The request is malformed: {error}", 400)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                answer = dialects.error("InsufficientStorage", "The disk of the stand-in is full", 507, request.path)
            elif error.errno == errno.ELOOP:
                answer = dialects.error("AccessDenied", "A link stands in the way of the key", 403, request.path)
            elif error.errno == errno.ENAMETOOLONG:
                answer = dialects.error("KeyTooLongError", "The key is too long for this file system", 400)
            else:
                raise
        names = {f"{dialect.prefix}request-id": "0" * 16, "Server": "jumar"}
        return answer._replace(headers={**answer.headers, **names})

    def _do(self, request: Request, dialect: Dialect) -> Answer:
        place = self._place(request)
        if request.method == "HEAD" and request.asks("apiversion"):
            return Answer(200, {"x-obs-api": "3.0"})
        signed = signature.check(request, place.bucket, place.key_path, self.keys)
        if not place.bucket:
            if request.method != "GET":
                raise _not_allowed()
            return listing.buckets(self.disk, dialect)
        is_bucket = place.key_path in ("", "/")
        answered = (OF_BUCKETS if is_bucket else OF_OBJECTS).get(request.method, set())
        for name, _ in request.query:
            if name.lower() in QUESTIONS and name not in answered:
                raise Denied("NotImplemented", f"`?{name}` is not part of the stand-in", 501)
        if is_bucket:
            return self._bucket(request, dialect, place.bucket, signed.payload)
        if not self.disk.has_bucket(place.bucket):
            raise _no_bucket()
        return self._object(request, dialect, place, signed.payload)

    def _place(self, request: Request) -> Place:
        host = re.sub(r":\d+$", "", request.headers.get("host", "")).lower()
        if not re.fullmatch(r"[\d.]+", host):
            for domain in self.domains:
                if host == domain:
                    break
                if host.endswith("." + domain):
                    return Place(host.removesuffix("." + domain), request.raw_path or "/")
        bucket, slash, rest = request.raw_path.lstrip("/").partition("/")
        return Place(unquote(bucket), slash + rest)

    def _bucket(self, request: Request, dialect: Dialect, bucket: str, payload: str) -> Answer:
        method = request.method
        if method == "PUT":
            signed_body(request, payload)
            if not self.disk.make_bucket(bucket) and dialect is not OBS:
                raise Denied("BucketAlreadyOwnedByYou", "The bucket is yours already.", 409)
            return Answer(200, {"Location": f"/{bucket}"})
        if not self.disk.has_bucket(bucket):
            raise _no_bucket()
        if method == "HEAD":
            return Answer(200, {f"{dialect.prefix}bucket-region": "local", f"{dialect.prefix}bucket-location": "local"})
        if method == "DELETE":
            if not self.disk.remove_bucket(bucket):
                raise Denied("BucketNotEmpty", "The bucket you tried to delete is not empty.", 409)
            return Answer(204)
        if method == "POST" and request.asks("delete"):
            return self._delete_many(signed_body(request, payload), dialect, bucket)
        if method != "GET":
            raise _not_allowed()
        if request.asks("location"):
            root = "Location" if dialect is OBS else "LocationConstraint"
            text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{dialect.namespace}">local</{root}>'
            return Answer(200, {"Content-Type": "application/xml"}, text.encode())
        if request.asks("versions"):
            return listing.versions(self.disk, dialect, bucket, request)
        if request.asks("storageinfo"):
            return listing.storage(self.disk, dialect, bucket)
        if request.asks("versioning"):
            return document(dialect, "VersioningConfiguration", [])
        if request.asks("acl"):
            return _owners(dialect)
        if request.asks("uploads"):
            return listing.running(self.disk, dialect, bucket, request)
        return listing.objects(self.disk, dialect, bucket, request)

    def _object(self, request: Request, dialect: Dialect, place: Place, payload: str) -> Answer:
        disk, bucket, key, method = self.disk, place.bucket, place.key, request.method
        if request.asks("uploadId"):
            return self._upload(request, dialect, bucket, key, payload)
        if method == "POST" and request.asks("uploads"):
            return objects.begin(disk, dialect, bucket, key, request)
        if method == "POST" and request.asks("append"):
            return changes.append(disk, bucket, key, request, payload)
        if method == "POST" and request.asks("rename"):
            return changes.rename(disk, bucket, key, request)
        if method == "PUT" and request.asks("metadata"):
            return changes.metadata(disk, dialect, bucket, key, request)
        if request.asks("acl"):
            objects.existing(disk, bucket, key)
            return _owners(dialect)
        if method in ("GET", "HEAD"):
            return objects.get(disk, dialect, bucket, key, request)
        if method == "PUT":
            if f"{dialect.prefix}copy-source" in request.headers:
                return objects.copy(disk, dialect, bucket, key, request)
            return objects.put(disk, bucket, key, request, payload)
        if method == "DELETE":
            return objects.delete(disk, bucket, key)
        raise _not_allowed()

    def _upload(self, request: Request, dialect: Dialect, bucket: str, key: str, payload: str) -> Answer:
        if request.method == "PUT":
            return objects.part(self.disk, dialect, bucket, key, request, payload)
        if request.method == "POST":
            return objects.finish(self.disk, dialect, bucket, key, request, signed_body(request, payload))
        upload = objects.upload_of(self.disk, bucket, key, request)
        if request.method == "DELETE":
            uploads.drop(self.disk, bucket, upload.id)
            return Answer(204)
        return listing.parts(self.disk, dialect, bucket, key, request)

    def _delete_many(self, body: bytes, dialect: Dialect, bucket: str) -> Answer:
        tree = objects.tree(body)
        quiet = any(item.tag.rpartition("}")[2] == "Quiet" and item.text == "true" for item in tree)
        rows: list[tuple[str, Tree]] = []
        for item in tree.iter():
            if item.tag.rpartition("}")[2] != "Key":
                continue
            key = item.text or ""
            if keys.is_key(key):
                self.disk.remove(bucket, key)
            if not quiet:
                rows.append(("Deleted", [("Key", key)]))
        return document(dialect, "DeleteResult", rows)


def _owners(dialect: Dialect) -> Answer:
    """Access lists are not kept: everything belongs to the one owner there is."""
    return document(dialect, "AccessControlPolicy", [("Owner", listing.OWNER), ("AccessControlList", [])])


def _no_bucket() -> Denied:
    return Denied("NoSuchBucket", "The specified bucket does not exist.", 404)


def _not_allowed() -> Denied:
    return Denied("MethodNotAllowed", "The specified method is not allowed against this resource.", 405)
