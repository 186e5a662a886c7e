"""Changes to an existing object in OBS: append, rename, replace metadata.

Error codes of appending: support.huaweicloud.com/api-obs/obs_04_0088.html, read 2026-11-16. Requests as esdk-obs-python
3.26.6 sends them; on the cloud only parallel file systems rename.
"""

from __future__ import annotations

import contextlib
import os
import threading

from jumar.cloud import uploads
from jumar.cloud.disk import Disk, Note, Stored, md5_of
from jumar.cloud.standin import dialect as dialects
from jumar.cloud.standin import objects
from jumar.cloud.standin.dialect import Dialect
from jumar.cloud.standin.http import Answer, Request
from jumar.cloud.standin.receive import receive
from jumar.cloud.standin.signature import Denied

APPENDABLE = {"object-type": "Appendable"}
_one_at_a_time = threading.Lock()


def append(disk: Disk, bucket: str, key: str, request: Request, payload: str) -> Answer:
    """More bytes behind an object that was made this way; the first ones make it."""
    objects.check_key(key)
    place = request.value("position")
    if not place.isdecimal():
        raise Denied("InvalidArgument", "position is not a number", 400)
    got = receive(disk, request.body, request.headers, payload)
    try:
        with _one_at_a_time:
            size = _append(disk, bucket, key, got.path, int(place), dialects.kept_headers(request.headers))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(got.path)
    return Answer(200, {"ETag": f'"{got.etag}"', "x-obs-next-append-position": str(size)})


def _append(disk: Disk, bucket: str, key: str, more: str, place: int, headers: dict[str, str]) -> int:
    found = disk.find(bucket, key)
    before = disk.note(bucket, found).headers if found else {**headers, **APPENDABLE}
    if "object-type" not in before:
        raise Denied("ObjectNotAppendable", "The object is not appendable.", 409)
    size = found.size if found else 0
    if place != size:
        raise Denied("PositionNotEqualToLength", "Position is not equal to the length of the object.", 409)
    temporary = objects.copy_file(disk, found, 0, size) if found else disk.temporary()
    with open(temporary, "ab", buffering=0) as out, open(more, "rb", buffering=0) as source:
        while block := source.read(1 << 20):
            out.write(block)
        size = out.tell()
    disk.put(bucket, key, temporary, Note(md5_of(temporary), before))
    return size


def rename(disk: Disk, bucket: str, key: str, request: Request) -> Answer:
    """Another key for a file, as parallel file systems have it."""
    new = request.value("name").lstrip("/")
    objects.check_key(new)
    found = objects.existing(disk, bucket, key)
    if disk.find(bucket, new) is not None:
        raise Denied("NotImplemented", "`?rename` to a name that is taken is not part of the stand-in", 501)
    note = disk.note(bucket, found)
    disk.put(bucket, new, _linked(disk, found), None)
    disk.remove(bucket, key)
    disk.write_note(bucket, objects.existing(disk, bucket, new), note)
    return Answer(204)


def metadata(disk: Disk, dialect: Dialect, bucket: str, key: str, request: Request) -> Answer:
    """Other metadata: instead of the old ones, or with REPLACE_NEW besides them."""
    found = objects.existing(disk, bucket, key)
    note = disk.note(bucket, found)
    new = dialects.kept_headers(request.headers)
    if request.headers.get(f"{dialect.prefix}metadata-directive", "").upper() == "REPLACE_NEW":
        new = {**note.headers, **new}
    disk.write_note(bucket, found, Note(note.etag, new))
    return Answer(200)


def _linked(disk: Disk, found: Stored) -> str:
    """A second name for the same bytes; a copy where the file system has no links."""
    temporary = disk.temporary()
    try:
        os.link(found.path, temporary)
    except OSError:
        with open(found.path, "rb", buffering=0) as source, open(temporary, "xb", buffering=0) as target:
            uploads.copy_bytes(source.fileno(), target.fileno(), found.size)
    return temporary
