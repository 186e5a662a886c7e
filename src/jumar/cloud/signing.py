"""SDK-HMAC-SHA256, the signature of Huawei Cloud's REST interfaces; the same lines sign and check.

support.huaweicloud.com/devg-apisign ("AK/SK signing"); compared in tests with huaweicloudsdkcore's own signer.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

from jumar.cloud.credentials import Credentials

ALGORITHM = "SDK-HMAC-SHA256"
SKEW = 900.0


def signature(
    secret: str,
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    headers: Sequence[tuple[str, str]],
    date: str,
    payload: str,
) -> str:
    """Of a request whose signed headers are given in order, with names in lower case."""
    place = "/".join(quote(part, safe="~") for part in unquote(path).split("/"))
    canonical = "\n".join(
        (
            method,
            place if place.endswith("/") else f"{place}/",
            "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in sorted(query)),
            "".join(f"{name}:{value.strip()}\n" for name, value in headers),
            ";".join(name for name, _ in headers),
            payload,
        )
    )
    text = f"{ALGORITHM}\n{date}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def sign(
    pair: Credentials, method: str, host: str, path: str, query: Sequence[tuple[str, str]], body: bytes, project: str
) -> dict[str, str]:
    """The headers to send with a request."""
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = {"content-type": "application/json", "host": host, "x-sdk-date": date}
    if project:
        headers["x-project-id"] = project
    if pair.token:
        headers["x-security-token"] = pair.token
    ordered = sorted(headers.items())
    payload = hashlib.sha256(body).hexdigest()
    found = signature(pair.secret_key, method, path, query, ordered, date, payload)
    names = ";".join(name for name, _ in ordered)
    said = f"{ALGORITHM} Access={pair.access_key}, SignedHeaders={names}, Signature={found}"
    return {**headers, "Authorization": said}


def verify(
    keys: Mapping[str, str],
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    headers: Mapping[str, str],
    body: bytes,
) -> bool:
    """Whether a request was signed by one of the key pairs, and not long ago."""
    said = headers.get("authorization", "")
    if not said.startswith(ALGORITHM + " "):
        return False
    fields = dict(item.strip().partition("=")[::2] for item in said[len(ALGORITHM) + 1 :].split(","))
    secret = keys.get(fields.get("Access", ""))
    date = headers.get("x-sdk-date", "")
    names = fields.get("SignedHeaders", "").split(";")
    if secret is None or not _fresh(date) or "host" not in names or "x-sdk-date" not in names:
        return False
    payload = headers.get("x-sdk-content-sha256") or hashlib.sha256(body).hexdigest()
    if payload not in ("UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest()):
        return False
    if not body:
        payload = hashlib.sha256(b"").hexdigest()
    signed = [(name, headers.get(name, "")) for name in names]
    found = signature(secret, method, path, query, signed, date, payload)
    return hmac.compare_digest(found.encode(), fields.get("Signature", "").encode())


def _fresh(date: str) -> bool:
    import calendar

    try:
        moment = calendar.timegm(time.strptime(date, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        return False
    return abs(time.time() - moment) < SKEW
