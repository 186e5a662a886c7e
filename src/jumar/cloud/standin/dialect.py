"""The two dialects of the store: names of headers and of the XML documents, for OBS and for S3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from email.utils import formatdate
from time import gmtime, strftime
from typing import NamedTuple
from xml.sax.saxutils import escape

from jumar.cloud.standin.http import Answer, Request


class Dialect(NamedTuple):
    name: str
    prefix: str
    """What the vendor's own headers begin with."""
    namespace: str


OBS = Dialect("obs", "x-obs-", "http://obs.myhwclouds.com/doc/2015-06-30/")
S3 = Dialect("s3", "x-amz-", "http://s3.amazonaws.com/doc/2006-03-01/")
Tree = Iterable[tuple[str, "str | int | Tree"]]


def of(request: Request) -> Dialect:
    signed = request.headers.get("authorization", "").startswith("OBS ") or request.asks("AccessKeyId")
    return OBS if signed or request.asks("apiversion") else S3


def document(dialect: Dialect, root: str, content: Tree, status: int = 200) -> Answer:
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{dialect.namespace}">{_xml(content)}</{root}>'
    return Answer(status, {"Content-Type": "application/xml"}, text.encode(errors="replace"))


def error(code: str, message: str, status: int, resource: str = "") -> Answer:
    content = [("Code", code), ("Message", message), ("Resource", resource), ("RequestId", "0" * 16)]
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{_xml(content)}</Error>'
    return Answer(status, {"Content-Type": "application/xml"}, text.encode(errors="replace"))


def iso(moment: float) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(moment)) + f".{int(moment % 1 * 1000):03d}Z"


def http_date(moment: float) -> str:
    return formatdate(moment, usegmt=True)


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """What is stored with an object: its type and the like, and the user's own metadata without the vendor's prefix."""
    plain = ("content-type", "content-encoding", "content-disposition", "content-language", "cache-control", "expires")
    kept = {name: value for name in plain if (value := headers.get(name))}
    if "content-encoding" in kept:
        words = [word.strip() for word in kept["content-encoding"].split(",") if word.strip() != "aws-chunked"]
        kept["content-encoding"] = ", ".join(words)
    for name, value in headers.items():
        for start in ("x-obs-meta-", "x-amz-meta-"):
            if name.startswith(start):
                kept["meta-" + name.removeprefix(start)] = value
    return {name: value for name, value in kept.items() if value}


def shown_headers(dialect: Dialect, kept: Mapping[str, str]) -> dict[str, str]:
    shown = {"content-type": "binary/octet-stream"}
    for name, value in kept.items():
        shown[dialect.prefix + name if name.startswith(("meta-", "object-type")) else name] = value
    return shown


def _xml(content: Tree) -> str:
    parts = []
    for name, value in content:
        inner = escape(str(value)) if isinstance(value, (str, int)) else _xml(value)
        parts.append(f"<{name}>{inner}</{name}>")
    return "".join(parts)
