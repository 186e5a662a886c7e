"""`mxpi_dataserialize`: what elements wrote, as one JSON text: `{"MxpiClass": [{"classId": 3, ...}]}`."""

from __future__ import annotations

import base64
import json
from typing import Any

from jumar.core.errors import UserError
from jumar.export.standin.stream.frame import Frame
from jumar.export.standin.stream.pipeline import Element

FACTORIES = ("mxpi_dataserialize",)


def run(element: Element, frame: Frame) -> None:
    keys = [key.strip() for key in element.prop("outputDataKeys").split(",") if key.strip()]
    if not keys:
        raise UserError(f"`{element.name}` has no outputDataKeys", "name the elements whose results are wanted")
    erase = element.prop("eraseHeaderVecFlag", "1") == "1"
    found: dict[str, list[Any]] = {}
    for key in keys:
        listing = frame.metadata.get(key)
        if listing is None:
            continue
        name = listing.DESCRIPTOR.name.removesuffix("List")
        field = listing.DESCRIPTOR.fields[0].name
        found.setdefault(name, []).extend(_plain(item, erase, top=True) for item in getattr(listing, field))
    frame.buffer = json.dumps(found, ensure_ascii=False).encode()


def _plain(message: Any, erase: bool, *, top: bool = False) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.name == "headerVec" and erase:
            if not top:
                values[field.name] = []
            continue
        if field.message_type is not None:
            is_list = not hasattr(value, "DESCRIPTOR")
            if not is_list and not message.HasField(field.name):
                continue
            values[field.name] = [_plain(one, erase) for one in value] if is_list else _plain(value, erase)
        elif isinstance(value, bytes):
            values[field.name] = base64.b64encode(value).decode()
        else:
            values[field.name] = value if isinstance(value, (str, int, float, bool)) else list(value)
    return values
