"""Addresses as people write them: `obs://bucket/key`, `s3://bucket/key`, or a path of this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from typing import NamedTuple

from jumar.cloud import keys
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean

SCHEMES = ("obs", "s3")


class Remote(NamedTuple):
    scheme: str
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"

    def child(self, name: str) -> Remote:
        """Something below this folder."""
        return self._replace(key=f"{self.folder_key}{name}")

    @property
    def folder_key(self) -> str:
        """The key as a prefix of everything in this folder."""
        return self.key if not self.key or self.key.endswith("/") else f"{self.key}/"


def parse(text: str | os.PathLike[str]) -> Remote | Path:
    """Where an address leads; a path stays a path, also a Windows one."""
    if isinstance(text, PurePath):
        return Path(text)
    said = os.fspath(text)
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", said, re.S)
    if match is None:
        if not said:
            raise UserError("an address is empty", "write `obs://bucket/folder/` or a path")
        return Path(said)
    scheme = match[1].lower()
    if scheme == "file":
        return Path(match[2])
    if scheme not in SCHEMES:
        known = [f"{name}://" for name in SCHEMES]
        hint = did_you_mean(f"{scheme}://", known, "`obs://bucket/key` and `s3://bucket/key` are known")
        raise UserError(f"cannot reach `{said}`: unknown kind of address", hint)
    bucket, _, key = match[2].partition("/")
    if not bucket:
        raise UserError(f"`{said}` names no bucket", f"write `{scheme}://bucket/key`")
    return Remote(scheme, keys.check_bucket(bucket), key)


def remote(text: str | os.PathLike[str]) -> Remote:
    """An address that must be in a bucket."""
    found = parse(text)
    if isinstance(found, Path):
        raise UserError(f"`{text}` is a path of this machine", f"write `obs://bucket/{PurePath(text).name}`")
    return found


def platform_form(place: Remote) -> str:
    """As ModelArts wants it in a job: `/bucket/key` without a scheme."""
    return f"/{place.bucket}/{place.key}"
