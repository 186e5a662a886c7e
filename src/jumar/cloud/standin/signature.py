"""Checks the signatures that OBS and S3 clients put on their requests: OBS and AWS version 2, AWS version 4, in the
`Authorization` header or in the query of a signed address.

OBS: support.huaweicloud.com/api-obs, "Authentication in a Header"; AWS: "Signing and authenticating REST requests".
"""

from __future__ import annotations

import base64
import calendar
import hashlib
import hmac
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import NamedTuple
from urllib.parse import quote

from jumar.cloud.standin.http import Request

UNSIGNED = "UNSIGNED-PAYLOAD"
SKEW = 900.0
LONGEST_LINK = 7 * 86400
_SUBRESOURCES_WORDS = (
    "accelerate acl append backtosource cors customdomain delete deletebucket directcoldaccess encryption inventory"
    " length lifecycle location logging metadata modify name notification object-lock partnumber policy position quota"
    " rename replication requestpayment restore retention storageclass storageinfo storagepolicy tagging torrent"
    " truncate uploadid uploads versionid versioning versions website x-image-process x-image-save-bucket"
    " x-image-save-object x-obs-security-token x-oss-process response-cache-control response-content-disposition"
    " response-content-encoding response-content-language response-content-type response-expires"
)
_SUBRESOURCES = frozenset(_SUBRESOURCES_WORDS.split())


class Denied(Exception):
    """The request may not be done; `code` is the store's name for the reason."""

    def __init__(self, code: str, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class Signed(NamedTuple):
    access_key: str
    payload: str
    """SHA-256 that the body must have, or a word that says it was not signed."""


def check(request: Request, bucket: str, key_path: str, keys: Mapping[str, str], now: float | None = None) -> Signed:
    """Who signed the request; raises `Denied` unless the signature is right.

    `key_path` is the encoded path behind the bucket, with its first slash.
    """
    moment = time.time() if now is None else now
    header = request.headers.get("authorization", "")
    if header.startswith("AWS4-HMAC-SHA256 "):
        return _version4(request, header, keys, moment)
    if header.startswith(("OBS ", "AWS ")):
        prefix, _, rest = header.partition(" ")
        access, _, signature = rest.strip().partition(":")
        _fresh(_date(request.headers), moment)
        return _version2(request, bucket, key_path, keys, (prefix, access, signature, None))
    if request.asks("X-Amz-Signature"):
        return _version4_link(request, keys, moment)
    if request.asks("Signature"):
        prefix = "OBS" if request.asks("AccessKeyId") else "AWS"
        access = request.value("AccessKeyId") or request.value("AWSAccessKeyId")
        expires = request.value("Expires")
        if not expires.isdecimal() or int(expires) < moment:
            raise Denied("AccessDenied", "Request has expired")
        return _version2(request, bucket, key_path, keys, (prefix, access, request.value("Signature"), expires))
    raise Denied("AccessDenied", "Access Denied: the request is not signed")


def version4(secret: str, scope: str, moment: str, canonical: str) -> str:
    """The signature of a canonical request."""
    date, region, service, end = scope.split("/")
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def version2(secret: str, text: str) -> str:
    return base64.b64encode(hmac.digest(secret.encode(), text.encode(), "sha1")).decode()


def _version2(
    request: Request, bucket: str, key_path: str, keys: Mapping[str, str], said: tuple[str, str, str, str | None]
) -> Signed:
    prefix, access, signature, expires = said
    secret = _secret(keys, access)
    own = "x-obs-" if prefix == "OBS" else "x-amz-"
    headers = request.headers
    _all_signed(headers, {name for name in headers if name.startswith(own)})
    date = "" if f"{own}date" in headers else headers.get("date", "")
    lines = [request.method, headers.get("content-md5", ""), headers.get("content-type", ""), expires or date]
    lines += [f"{name}:{value}" for name, value in sorted(headers.items()) if name.startswith(own)]
    pairs = sorted((name, value) for name, value in request.query
                   if name.lower() in _SUBRESOURCES or (expires is None and name.lower().startswith(own)))  # fmt: skip
    query = "&".join(name if value is None or (value == "" and name.lower() in ("uploads", "delete")) else
                     f"{name}={value}" for name, value in pairs)  # fmt: skip
    # Clients differ in whether a bucket alone ends in a slash.
    places = {f"/{bucket}{key_path}", f"/{bucket}"} if key_path in ("", "/") else {f"/{bucket}{key_path}"}
    places = places | {f"/{bucket}/"} if bucket and key_path in ("", "/") else places if bucket else {"/"}
    for place in places:
        text = "\n".join([*lines, place + (f"?{query}" if query else "")])
        if hmac.compare_digest(version2(secret, text).encode(), signature.encode()):
            return Signed(access, UNSIGNED)
    raise _wrong()


def _version4(request: Request, header: str, keys: Mapping[str, str], now: float) -> Signed:
    fields = {}
    for item in header.removeprefix("AWS4-HMAC-SHA256 ").split(","):
        name, _, value = item.strip().partition("=")
        fields[name] = value
    credential, signed = fields.get("Credential", ""), fields.get("SignedHeaders", "")
    payload = request.headers.get("x-amz-content-sha256") or request.headers.get("x-obs-content-sha256") or UNSIGNED
    said = _date(request.headers)
    _fresh(said, now)
    # esdk sends an ordinary date and signs its compact form.
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(said))
    if "host" not in signed.split(";"):
        raise Denied("AccessDenied", "There were headers present in the request which were not signed: host")
    _compare4(request, request.query, (credential, signed, fields.get("Signature", ""), moment, payload), keys)
    return Signed(credential.split("/")[0], payload)


def _version4_link(request: Request, keys: Mapping[str, str], now: float) -> Signed:
    moment, seconds = request.value("X-Amz-Date"), request.value("X-Amz-Expires")
    if not seconds.isdecimal() or int(seconds) > LONGEST_LINK or _compact(moment) + int(seconds) < now:
        raise Denied("AccessDenied", "Request has expired")
    query = tuple(pair for pair in request.query if pair[0] != "X-Amz-Signature")
    credential, signed = request.value("X-Amz-Credential"), request.value("X-Amz-SignedHeaders")
    _compare4(request, query, (credential, signed, request.value("X-Amz-Signature"), moment, UNSIGNED), keys)
    return Signed(credential.split("/")[0], UNSIGNED)


def _compare4(
    request: Request,
    query: tuple[tuple[str, str | None], ...],
    said: tuple[str, str, str, str, str],
    keys: Mapping[str, str],
) -> None:
    credential, signed, signature, moment, payload = said
    access, _, scope = credential.partition("/")
    if scope.count("/") != 3:
        raise Denied("AuthorizationHeaderMalformed", "The credential has no date, region and service", 400)
    secret = _secret(keys, access)
    _all_signed(request.headers, set(signed.split(";")))
    pairs = sorted((quote(name, safe="-_.~"), quote(value or "", safe="-_.~")) for name, value in query)
    headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in signed.split(";"))
    tail = ("&".join(f"{name}={value}" for name, value in pairs), headers, signed, payload)
    encoded = quote(request.path.encode(errors="surrogateescape"), safe="/-_.~")
    for path in {request.raw_path, encoded}:
        canonical = "\n".join((request.method, path or "/", *tail))
        if hmac.compare_digest(version4(secret, scope, moment, canonical).encode(), signature.encode()):
            return
    raise _wrong()


def _all_signed(headers: Mapping[str, str], signed: set[str]) -> None:
    """A link to put one object must not copy another: what changes a request's meaning must have been signed."""
    loose = sorted(name for name in headers if name.startswith(("x-amz-", "x-obs-")) and name not in signed)
    if loose:
        words = ", ".join(loose)
        raise Denied("AccessDenied", f"There were headers present in the request which were not signed: {words}")


def _secret(keys: Mapping[str, str], access: str) -> str:
    if access not in keys:
        raise Denied("InvalidAccessKeyId", "The access key ID you provided does not exist in our records.")
    return keys[access]


def _wrong() -> Denied:
    return Denied("SignatureDoesNotMatch", "The request signature we calculated does not match the one you provided.")


def _date(headers: Mapping[str, str]) -> float:
    text = headers.get("x-obs-date") or headers.get("x-amz-date") or headers.get("date") or ""
    return _compact(text)


def _compact(text: str) -> float:
    """The moment of a date in either of the two spellings; -1 if it is none."""
    try:
        return float(calendar.timegm(time.strptime(text, "%Y%m%dT%H%M%SZ")))
    except ValueError:
        parsed = parsedate_tz(text)
        return float(mktime_tz(parsed)) if parsed else -1.0


def _fresh(moment: float, now: float) -> None:
    if abs(now - moment) > SKEW:
        raise Denied("RequestTimeTooSkewed", "The difference between the request time and the server's is too large.")
