"""What the store does with one object: put, get, copy, delete, and the steps of a multipart upload."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from urllib.parse import unquote
from xml.etree import ElementTree

from jumar.cloud import keys, uploads
from jumar.cloud.disk import Disk, Note, Stored, md5_of
from jumar.cloud.standin import dialect as dialects
from jumar.cloud.standin.dialect import Dialect, document, http_date, iso
from jumar.cloud.standin.http import Answer, Request
from jumar.cloud.standin.receive import receive
from jumar.cloud.standin.signature import Denied

LONGEST_PUT = 5 << 30
SMALLEST_PART = 100 << 10
MOST_PARTS = 10_000

_MALFORMED = "The XML you provided was not well-formed."


def get(disk: Disk, dialect: Dialect, bucket: str, key: str, request: Request) -> Answer:
    """The object, or the part of it that `Range` names; also for HEAD."""
    found = existing(disk, bucket, key)
    note = disk.note(bucket, found)
    headers = {
        **dialects.shown_headers(dialect, note.headers),
        **{name.removeprefix("response-"): value for name, value in request.query
           if name.startswith("response-") and value and value.isprintable()},
        "ETag": f'"{note.etag}"',
        "Last-Modified": http_date(found.mtime_ns / 1e9),
        "Accept-Ranges": "bytes",
    }  # fmt: skip
    if (status := _precondition(request.headers, note.etag, found)) is not None:
        return Answer(status, headers if status == 304 else {})
    start, size = 0, found.size
    status = 200
    if asked := request.headers.get("range"):
        place = _range(asked, found.size)
        if place is not None:
            start, size = place
            headers["Content-Range"] = f"bytes {start}-{start + size - 1}/{found.size}"
            status = 206
    return Answer(status, headers, file=found.path, start=start, size=size)


def put(disk: Disk, bucket: str, key: str, request: Request, payload: str) -> Answer:
    check_key(key)
    if request.body.length > LONGEST_PUT:
        raise Denied("EntityTooLarge", "Your proposed upload exceeds the maximum allowed object size.", 400)
    if request.headers.get("if-none-match") == "*" and disk.find(bucket, key) is not None:
        raise Denied("PreconditionFailed", "The object is there already", 412)
    got = receive(disk, request.body, request.headers, payload)
    disk.put(bucket, key, got.path, Note(got.etag, dialects.kept_headers(request.headers)))
    return Answer(200, {"ETag": f'"{got.etag}"'})


def copy(disk: Disk, dialect: Dialect, bucket: str, key: str, request: Request) -> Answer:
    check_key(key)
    source_bucket, found = _copy_source(disk, dialect, request)
    note = disk.note(source_bucket, found)
    replaced = request.headers.get(f"{dialect.prefix}metadata-directive", "").upper().startswith("REPLACE")
    if (source_bucket, found.key) == (bucket, key) and not replaced:
        raise Denied("InvalidRequest", "An object cannot be copied to itself without changing its metadata", 400)
    temporary = copy_file(disk, found, 0, found.size)
    kept = dialects.kept_headers(request.headers) if replaced else note.headers
    disk.put(bucket, key, temporary, Note(note.etag, kept))
    return _copied(disk, dialect, bucket, key, note.etag, "CopyObjectResult")


def delete(disk: Disk, bucket: str, key: str) -> Answer:
    disk.remove(bucket, key)
    return Answer(204)


def begin(disk: Disk, dialect: Dialect, bucket: str, key: str, request: Request) -> Answer:
    check_key(key)
    upload = uploads.begin(disk, bucket, key, dialects.kept_headers(request.headers))
    content = [("Bucket", bucket), ("Key", key), ("UploadId", upload)]
    return document(dialect, "InitiateMultipartUploadResult", content)


def part(disk: Disk, dialect: Dialect, bucket: str, key: str, request: Request, payload: str) -> Answer:
    upload = upload_of(disk, bucket, key, request)
    number = request.value("partNumber")
    if not number.isdecimal() or not 1 <= int(number) <= MOST_PARTS:
        raise Denied("InvalidArgument", f"Part number must be an integer between 1 and {MOST_PARTS}", 400)
    if f"{dialect.prefix}copy-source" in request.headers:
        _, found = _copy_source(disk, dialect, request)
        asked = request.headers.get(f"{dialect.prefix}copy-source-range")
        place = (_range(asked, found.size) if asked else None) or (0, found.size)
        temporary = copy_file(disk, found, *place)
        etag = md5_of(temporary)
        uploads.add(disk, bucket, upload.id, int(number), temporary, etag)
        content = [("LastModified", iso(found.mtime_ns / 1e9)), ("ETag", f'"{etag}"')]
        return document(dialect, "CopyPartResult", content)
    got = receive(disk, request.body, request.headers, payload)
    try:
        uploads.add(disk, bucket, upload.id, int(number), got.path, got.etag)
    except FileNotFoundError:
        os.unlink(got.path)
        raise _no_upload() from None
    return Answer(200, {"ETag": f'"{got.etag}"'})


def finish(disk: Disk, dialect: Dialect, bucket: str, key: str, request: Request, body: bytes) -> Answer:
    upload = upload_of(disk, bucket, key, request)
    wanted = _wanted_parts(body)
    there = {part.number: part for part in uploads.parts(disk, bucket, upload.id)}
    numbers = [number for number, _ in wanted]
    if numbers != sorted(set(numbers)) or not numbers:
        raise Denied("InvalidPartOrder", "The list of parts was not in ascending order.", 400)
    for number, etag in wanted:
        if number not in there or (etag and there[number].etag != etag):
            raise Denied("InvalidPart", f"Part {number} could not be found or has another ETag.", 400)
        if there[number].size < SMALLEST_PART and number != numbers[-1]:
            raise Denied("EntityTooSmall", f"Part {number} is smaller than the minimum allowed size.", 400)
    etag = uploads.finish(disk, bucket, upload, [there[number] for number in numbers])
    content = [("Location", f"/{bucket}/{key}"), ("Bucket", bucket), ("Key", key), ("ETag", f'"{etag}"')]
    return document(dialect, "CompleteMultipartUploadResult", content)


def upload_of(disk: Disk, bucket: str, key: str, request: Request) -> uploads.Upload:
    upload = uploads.find(disk, bucket, request.value("uploadId"))
    if upload is None or upload.key != key:
        raise _no_upload()
    return upload


def _no_upload() -> Denied:
    return Denied("NoSuchUpload", "The specified multipart upload does not exist.", 404)


def existing(disk: Disk, bucket: str, key: str) -> Stored:
    found = disk.find(bucket, key) if keys.is_key(key) else None
    if found is None:
        raise Denied("NoSuchKey", "The specified key does not exist.", 404)
    return found


def check_key(key: str) -> None:
    if not keys.is_key(key):
        raise Denied("InvalidArgument", "The key is empty, too long or not UTF-8", 400)


def _copy_source(disk: Disk, dialect: Dialect, request: Request) -> tuple[str, Stored]:
    source = unquote(request.headers[f"{dialect.prefix}copy-source"].split("?")[0]).lstrip("/")
    bucket, _, key = source.partition("/")
    if not disk.has_bucket(bucket):
        raise Denied("NoSuchBucket", "The specified bucket does not exist.", 404)
    return bucket, existing(disk, bucket, key)


def copy_file(disk: Disk, found: Stored, start: int, size: int) -> str:
    temporary = disk.temporary()
    with open(found.path, "rb", buffering=0) as source, open(temporary, "xb", buffering=0) as target:
        source.seek(start)
        uploads.copy_bytes(source.fileno(), target.fileno(), size)
    return temporary


def _copied(disk: Disk, dialect: Dialect, bucket: str, key: str, etag: str, root: str) -> Answer:
    made = disk.find(bucket, key)
    moment = made.mtime_ns / 1e9 if made else 0.0
    return document(dialect, root, [("LastModified", iso(moment)), ("ETag", f'"{etag}"')])


def _wanted_parts(body: bytes) -> list[tuple[int, str]]:
    rows = [
        {child.tag.rpartition("}")[2]: child.text or "" for child in item}
        for item in tree(body)
        if item.tag.rpartition("}")[2] == "Part"
    ]
    try:
        return [(int(row["PartNumber"]), row.get("ETag", "").strip('" ')) for row in rows]
    except (KeyError, ValueError):
        raise Denied("MalformedXML", _MALFORMED, 400) from None


def tree(body: bytes) -> ElementTree.Element:
    """The XML of a request; declarations, which can define entities without end, are refused in every encoding."""
    try:
        if b"<!" in body or b"\0" in body:
            raise ElementTree.ParseError
        return ElementTree.fromstring(body)
    except (ElementTree.ParseError, ValueError, LookupError):
        raise Denied("MalformedXML", _MALFORMED, 400) from None


def _range(text: str, size: int) -> tuple[int, int] | None:
    """Start and length of `bytes=a-b`; None for what is to be ignored."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", text.strip())
    if not match or match[0] == "bytes=-":
        return None
    first, last = match[1], match[2]
    start = int(first) if first else max(size - int(last), 0)
    end = min(int(last), size - 1) if first and last else size - 1
    if start >= size or (first and last and int(last) < start):
        raise Denied("InvalidRange", "The requested range is not satisfiable", 416)
    return start, end - start + 1


def _precondition(headers: Mapping[str, str], etag: str, found: Stored) -> int | None:
    """304 or 412 when a condition of the request says so."""
    if (match := headers.get("if-match")) is not None and match.strip('"') not in (etag, "*"):
        return 412
    if (match := headers.get("if-none-match")) is not None:
        return 304 if match.strip('"') in (etag, "*") else None
    changed = int(found.mtime_ns / 1e9)
    if (moment := _moment(headers.get("if-modified-since"))) is not None and changed <= moment:
        return 304
    if (moment := _moment(headers.get("if-unmodified-since"))) is not None and changed > moment:
        return 412
    return None


def _moment(text: str | None) -> float | None:
    parsed = parsedate_tz(text) if text else None
    return mktime_tz(parsed) if parsed else None
