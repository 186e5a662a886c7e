"""What goes in and out of a stream: the small classes of `StreamManagerApi.py`."""

from __future__ import annotations

from typing import Any

OK = 0
INVALID_PARAM = 1004
NOT_REALIZED = 1005
NOT_INITIALIZED = 1012
NO_EXIST = 1016
STREAM_EXIST = 6001
STREAM_NOT_EXIST = 6002
STREAM_CREATE_FAILED = 6004
INVALID_CONFIG = 6005
INVALID_LINK = 6006
STREAM_TIMEOUT = 6010
ELEMENT_INVALID = 6011
ELEMENT_NOT_EXIST = 6013


class Vector(list[Any]):
    """A list with the names that the vendor's wrapped C++ vectors have."""

    def push_back(self, value: Any) -> None:
        self.append(value)

    def size(self) -> int:
        return len(self)

    def empty(self) -> bool:
        return not self

    def back(self) -> Any:
        return self[-1]

    def front(self) -> Any:
        return self[0]


class RoiBox:
    def __init__(self) -> None:
        self.x0 = self.y0 = self.x1 = self.y1 = 0.0


class MxDataInput:
    def __init__(self) -> None:
        self.data: bytes | None = None
        self.fragmentId = 0
        self.customParam = b""
        self.roiBoxs = Vector()


class MxDataOutput:
    def __init__(self, code: int = OK, data: bytes = b"") -> None:
        self.errorCode = code
        self.data = data


class MxProtobufIn:
    def __init__(self) -> None:
        self.key: bytes | None = None
        self.type: bytes | None = None
        self.protobuf: bytes | None = None


class MxProtobufOut:
    def __init__(self, code: int = OK, name: bytes = b"", data: bytes = b"") -> None:
        self.errorCode = code
        self.messageName = name
        self.messageBuf = data
