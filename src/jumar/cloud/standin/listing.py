"""Lists buckets, objects (version 1 with markers, version 2 with tokens), uploads and parts."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from jumar.cloud import uploads
from jumar.cloud.disk import Disk, Stored
from jumar.cloud.standin.dialect import OBS, Dialect, Tree, document, iso
from jumar.cloud.standin.http import Answer, Request
from jumar.cloud.standin.signature import Denied

MOST = 1000
LAST = "\U0010ffff"
OWNER = [("ID", "jumar"), ("DisplayName", "jumar")]


class Page(NamedTuple):
    objects: list[Stored]
    prefixes: list[str]
    last: str
    """Where the next page begins; empty when there is none."""


def buckets(disk: Disk, dialect: Dialect) -> Answer:
    rows: list[tuple[str, Tree]] = []
    for name, made in disk.buckets():
        row: list[tuple[str, str]] = [("Name", name), ("CreationDate", iso(made))]
        if dialect is OBS:
            row += [("Location", "local"), ("BucketType", "OBJECT")]
        rows.append(("Bucket", row))
    return document(dialect, "ListAllMyBucketsResult", [("Owner", OWNER), ("Buckets", rows)])


def objects(disk: Disk, dialect: Dialect, bucket: str, request: Request) -> Answer:
    second = request.value("list-type") == "2"
    prefix, delimiter = request.value("prefix"), request.value("delimiter")
    most = _number(request.value("max-keys", str(MOST)), "max-keys")
    token = request.value("continuation-token")
    after = _untoken(token) if token else request.value("start-after" if second else "marker")
    page = read(disk, bucket, prefix, delimiter, after, min(most, MOST))
    show = _encoder(request)
    content: list[tuple[str, str | int | Tree]] = [("Name", bucket), ("Prefix", show(prefix)), ("MaxKeys", most)]
    if delimiter:
        content.append(("Delimiter", show(delimiter)))
    if request.value("encoding-type") == "url":
        content.append(("EncodingType", "url"))
    content.append(("IsTruncated", "true" if page.last else "false"))
    if second:
        content.append(("KeyCount", len(page.objects) + len(page.prefixes)))
        if token:
            content.append(("ContinuationToken", token))
        if page.last:
            content.append(("NextContinuationToken", _token(page.last)))
    else:
        content.append(("Marker", show(after)))
        if page.last:
            content.append(("NextMarker", show(page.last)))
    for found in page.objects:
        row: list[tuple[str, str | int | Tree]] = [
               ("Key", show(found.key)), ("LastModified", iso(found.mtime_ns / 1e9)),
               ("ETag", f'"{disk.note(bucket, found).etag}"'), ("Size", found.size),
               ("StorageClass", "STANDARD"),
        ]  # fmt: skip
        content.append(("Contents", row if second else [*row, ("Owner", OWNER)]))
    content += [("CommonPrefixes", [("Prefix", show(name))]) for name in page.prefixes]
    return document(dialect, "ListBucketResult", content)


def versions(disk: Disk, dialect: Dialect, bucket: str, request: Request) -> Answer:
    """Buckets here keep no old versions: every object is the latest one, of version `null`."""
    prefix, delimiter, after = (request.value(name) for name in ("prefix", "delimiter", "key-marker"))
    most = min(_number(request.value("max-keys", str(MOST)), "max-keys"), MOST)
    page = read(disk, bucket, prefix, delimiter, after, most)
    show = _encoder(request)
    content: list[tuple[str, str | int | Tree]] = [
        ("Name", bucket), ("Prefix", show(prefix)), ("KeyMarker", show(after)), ("MaxKeys", most),
        ("IsTruncated", "true" if page.last else "false"),
    ]  # fmt: skip
    if page.last:
        content += [("NextKeyMarker", show(page.last)), ("NextVersionIdMarker", "null")]
    for found in page.objects:
        row: list[tuple[str, str | int | Tree]] = [
            ("Key", show(found.key)), ("VersionId", "null"), ("IsLatest", "true"),
            ("LastModified", iso(found.mtime_ns / 1e9)), ("ETag", f'"{disk.note(bucket, found).etag}"'),
            ("Size", found.size), ("Owner", OWNER), ("StorageClass", "STANDARD"),
        ]  # fmt: skip
        content.append(("Version", row))
    content += [("CommonPrefixes", [("Prefix", show(name))]) for name in page.prefixes]
    return document(dialect, "ListVersionsResult", content)


def storage(disk: Disk, dialect: Dialect, bucket: str) -> Answer:
    sizes = [found.size for found in disk.walk(bucket)]
    return document(dialect, "GetBucketStorageInfoResult", [("Size", sum(sizes)), ("ObjectNumber", len(sizes))])


def read(disk: Disk, bucket: str, prefix: str, delimiter: str, after: str, most: int) -> Page:
    """One page of keys and of the prefixes that stand for the keys behind a delimiter."""
    objects: list[Stored] = []
    prefixes: list[str] = []
    last = ""
    if not most:
        return Page([], [], "")
    if delimiter and after.startswith(prefix) and (end := after.find(delimiter, len(prefix))) >= 0:
        after = after[: end + len(delimiter)] + LAST
    found = disk.walk(bucket, prefix, after)
    while (item := next(found, None)) is not None:
        if len(objects) + len(prefixes) == most:
            return Page(objects, prefixes, last)
        end = item.key.find(delimiter, len(prefix)) if delimiter else -1
        if end < 0:
            objects.append(item)
            last = item.key
            continue
        last = item.key[: end + len(delimiter)]
        prefixes.append(last)
        found = disk.walk(bucket, prefix, last + LAST)
    return Page(objects, prefixes, "")


def parts(disk: Disk, dialect: Dialect, bucket: str, key: str, request: Request) -> Answer:
    upload = request.value("uploadId")
    after = _number(request.value("part-number-marker", "0") or "0", "part-number-marker")
    most = min(_number(request.value("max-parts", str(MOST)), "max-parts"), MOST)
    all_parts = [part for part in uploads.parts(disk, bucket, upload) if part.number > after]
    shown = all_parts[:most]
    content: list[tuple[str, str | int | Tree]] = [
        ("Bucket", bucket), ("Key", _encoder(request)(key)), ("UploadId", upload), ("PartNumberMarker", after),
        ("NextPartNumberMarker", shown[-1].number if shown else 0), ("MaxParts", most),
        ("IsTruncated", "true" if len(all_parts) > most else "false"),
    ]  # fmt: skip
    for part in shown:
        content.append(("Part", [("PartNumber", part.number), ("LastModified", iso(part.mtime)),
                                 ("ETag", f'"{part.etag}"'), ("Size", part.size)]))  # fmt: skip
    return document(dialect, "ListPartsResult", content)


def running(disk: Disk, dialect: Dialect, bucket: str, request: Request) -> Answer:
    prefix = request.value("prefix")
    content: list[tuple[str, str | int | Tree]] = [("Bucket", bucket), ("Prefix", prefix), ("IsTruncated", "false")]
    for upload in uploads.running(disk, bucket):
        if upload.key.startswith(prefix):
            row = [("Key", _encoder(request)(upload.key)), ("UploadId", upload.id), ("Initiated", iso(upload.started))]
            content.append(("Upload", row))
    return document(dialect, "ListMultipartUploadsResult", content)


def _encoder(request: Request) -> Callable[[str], str]:
    if request.value("encoding-type") == "url":
        return lambda text: quote(text, safe="/-_.~*", errors="replace")
    return lambda text: text


def _number(text: str, name: str) -> int:
    if not text.isdecimal():
        raise Denied("InvalidArgument", f"{name} is not a number", 400)
    return int(text)


def _token(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode(errors="surrogateescape")).decode()


def _untoken(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError:
        raise Denied("InvalidArgument", "The continuation token provided is incorrect", 400) from None
