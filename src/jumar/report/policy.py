"""What a page may do, in its own head: its one script and its styles, and nothing from anywhere else.

Content Security Policy Level 3 (https://www.w3.org/TR/CSP3/). Pages show names, messages and code of projects; should
one of them ever become markup, a browser still runs no script but ours, loads nothing and sends nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from markupsafe import Markup

_RULES = "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
_OURS = re.compile(r'<meta (?:charset="utf-8"|name="(?:viewport|generator)" content="[^"<>]*")>')
_META = re.compile(r"<meta", re.I)


@cache
def script() -> Markup:
    """The script of every page, exactly as it stands between its tags."""
    return Markup(files("jumar.report").joinpath("templates", "page.js").read_text(encoding="utf-8"))


@cache
def meta() -> Markup:
    """The element that says it; what comes before it is not bound, so it stands first."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return Markup('<meta http-equiv="Content-Security-Policy" content="{}">').format(Markup(_RULES.format(digest)))


def bind(page: str) -> str:
    """A page that was found, bound as ours are: it says that Jumar wrote it, and anybody can write that.

    Only the policy stops scripts of others; no policy stops a `meta` element that leads to another page. The page of
    another Jumar has another script, and works without.
    """
    body = re.sub(r"(?i)^\s*<!doctype[^<>]*>\s*", "", page.replace(meta(), ""), count=1)
    kept, at = [], 0
    for found in _META.finditer(body):
        kept.append(body[at : found.start()])
        kept.append(found[0] if _OURS.match(body, found.start()) else f"&lt;{found[0][1:]}")
        at = found.end()
    return f"<!DOCTYPE html>\n{meta()}\n{''.join([*kept, body[at:]])}"
