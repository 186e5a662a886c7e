"""The protobuf messages of the pipelines, made from their table: `MxpiDataType_pb2` without generated code."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

from jumar.core.errors import UserError
from jumar.tables.load import table

_FIELD = re.compile(r"(\w+)(\*?):(\w+)=(\d+)")
_SCALARS = {"int32": 5, "uint32": 13, "uint64": 4, "float": 2, "bool": 8, "string": 9, "bytes": 12}
_ENUM, _MESSAGE = 14, 11


@cache
def classes() -> dict[str, Any]:
    """Message classes and numbers of enums by name, as the vendor's module has them."""
    try:
        pool = importlib.import_module("google.protobuf.descriptor_pool").Default()
        factory = importlib.import_module("google.protobuf.message_factory")
        schema = importlib.import_module("google.protobuf.descriptor_pb2")
    except ImportError as error:
        raise UserError("`protobuf` is not installed in this environment", "pip install 'jumar[export]'") from error
    rows = table("mxpi_messages.toml")
    file = schema.FileDescriptorProto(name="jumar/MxpiDataType.proto", package=rows["package"], syntax="proto3")
    found: dict[str, Any] = {}
    for name, values in rows["enums"].items():
        enum = file.enum_type.add(name=name)
        for value in values:
            key, _, number = value.partition("=")
            enum.value.add(name=key, number=int(number))
            found[key] = int(number)
    for name, fields in rows["messages"].items():
        message = file.message_type.add(name=name)
        for text in fields:
            match = _FIELD.fullmatch(text)
            assert match is not None, text
            _add(message, match, rows)
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
    for name in rows["messages"]:
        descriptor = pool.FindMessageTypeByName(f"{rows['package']}.{name}")
        found[name] = factory.GetMessageClass(descriptor)
    return found


def make(name: str) -> Any:
    return classes()[name]()


def _add(message: Any, match: re.Match[str], rows: dict[str, Any]) -> None:
    name, star, kind, number = match.groups()
    field = message.field.add(name=name, number=int(number), label=3 if star else 1)
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _ENUM if kind in rows["enums"] else _MESSAGE
        field.type_name = f".{rows['package']}.{kind}"
