"""`StreamManagerApi`: the calls that create streams, send data and get results, as the vendor's Python API has them.

Ascend/VisionSDK docs/zh/api/api_Python.md (7.3.0). A stream runs inside the call that sends to it; results wait at the
sink, so that the usual send-then-get programs behave as on a device.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

from jumar.core.errors import UserError, reason
from jumar.export.standin.stream import messages, pipeline, values
from jumar.export.standin.stream.frame import Frame
from jumar.export.standin.stream.pipeline import Stream
from jumar.export.standin.stream.values import MxDataInput, MxDataOutput, MxProtobufIn, MxProtobufOut, Vector

_LOG = logging.getLogger("jumar.stream")


class _Running:
    """A stream with what was sent and not yet taken."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.sources = [one.name for one in stream.of("appsrc")]
        self.sinks = [one.name for one in stream.of("appsink")]
        self.done: deque[tuple[int, Frame]] = deque()
        self.by_id: dict[int, tuple[int, Frame]] = {}
        self.pending: Frame | None = None
        self.sent: set[str] = set()
        self.count = 0


class StreamManagerApi:
    def __init__(self) -> None:
        self._ready = False
        self._streams: dict[str, _Running] = {}
        self._lock = threading.Condition()

    def InitManager(self, arguments: Any = None) -> int:
        self._ready = True
        return values.OK

    def CreateMultipleStreams(self, config: bytes | str) -> int:
        if not self._ready:
            return _failed(values.NOT_INITIALIZED, "call InitManager first")
        try:
            streams = pipeline.parse(_text(config))
        except UserError as error:
            text = f"{error.message} ({error.hint})" if error.hint else error.message
            return _failed(values.STREAM_CREATE_FAILED, text)
        for stream in streams:
            if stream.name in self._streams:
                return _failed(values.STREAM_EXIST, f"stream `{stream.name}` already exists")
        self._streams |= {stream.name: _Running(stream) for stream in streams}
        return values.OK

    def CreateMultipleStreamsFromFile(self, path: bytes | str) -> int:
        try:
            with open(_text(path), "rb") as file:
                return self.CreateMultipleStreams(file.read())
        except OSError as error:
            return _failed(values.NO_EXIST, f"cannot read `{_text(path)}`: {reason(error)}")

    def SendData(self, stream: bytes, place: int | bytes, data: MxDataInput, *rest: Any) -> int:
        if rest:
            return _failed(values.NOT_REALIZED, "the stand-in takes SendData with a buffer, not with metadata")
        return self._send(stream, place, data)[0]

    def SendDataWithUniqueId(self, stream: bytes, place: int | bytes, data: MxDataInput) -> int:
        """The number under which the result waits, or -1."""
        code, number = self._send(stream, place, data, unique=True)
        return number if code == values.OK else -1

    def SendProtobuf(self, stream: bytes, place: int | bytes, items: list[MxProtobufIn]) -> int:
        found: dict[str, Any] = {}
        for item in items:
            kind = _text(item.type or b"").rpartition(".")[2]
            if kind not in messages.classes() or not isinstance(messages.classes()[kind], type):
                return _failed(values.INVALID_PARAM, f"unknown type of protobuf: `{_text(item.type or b'')}`")
            message = messages.make(kind)
            try:
                message.ParseFromString(item.protobuf or b"")
            except Exception:
                return _failed(values.INVALID_PARAM, f"the protobuf is not a {kind}")
            found[_text(item.key or b"")] = message
        return self._send(stream, place, None, metadata=found)[0]

    def GetResult(self, stream: bytes, place: int | bytes, *rest: Any) -> MxDataOutput:
        if rest and not isinstance(rest[0], int):
            return MxDataOutput(_failed(values.NOT_REALIZED, "the stand-in gives the buffer only: use GetProtobuf"))
        code, frame = self._take(stream, place, (rest[0] if rest else 3000) / 1000)
        return MxDataOutput(code, frame.buffer if frame else b"")

    def GetResultWithUniqueId(self, stream: bytes, number: int, milliseconds: int = 3000) -> MxDataOutput:
        running = self._streams.get(_text(stream))
        if running is None:
            return MxDataOutput(_failed(values.STREAM_NOT_EXIST, f"no stream `{_text(stream)}`"))
        with self._lock:
            self._lock.wait_for(lambda: number in running.by_id, milliseconds / 1000)
            found = running.by_id.pop(number, None)
        if found is None:
            return MxDataOutput(_failed(values.STREAM_TIMEOUT, f"no result for {number}"))
        return MxDataOutput(found[0], found[1].buffer)

    def GetProtobuf(self, stream: bytes, place: int | bytes, keys: Any, milliseconds: int = 3000) -> Vector:
        code, frame = self._take(stream, place, milliseconds / 1000)
        if frame is None or code != values.OK:
            return Vector([MxProtobufOut(code)])
        found = Vector()
        for key in keys:
            message = frame.metadata.get(_text(key))
            if message is None:
                found.append(MxProtobufOut(_failed(values.NO_EXIST, f"no element wrote `{_text(key)}`"), key))
            else:
                found.append(MxProtobufOut(values.OK, key, message.SerializeToString()))
        return found

    def StopStream(self, stream: bytes) -> int:
        if self._streams.pop(_text(stream), None) is None:
            return _failed(values.STREAM_NOT_EXIST, f"no stream `{_text(stream)}`")
        return values.OK

    def DestroyAllStreams(self) -> int:
        self._streams.clear()
        self._ready = False
        return values.OK

    def _send(
        self, stream: bytes, place: int | bytes, data: MxDataInput | None, *, unique: bool = False,
        metadata: dict[str, Any] | None = None,
    ) -> tuple[int, int]:  # fmt: skip
        running = self._streams.get(_text(stream))
        if running is None:
            return _failed(values.STREAM_NOT_EXIST, f"no stream `{_text(stream)}`"), -1
        source = _place(running.sources, place)
        if source is None:
            return _failed(values.ELEMENT_NOT_EXIST, f"stream `{_text(stream)}` has no appsrc {place!r}"), -1
        with self._lock:
            frame = running.pending or Frame(running.count)
            running.pending = frame
            if data is not None:
                frame.buffer = bytes(data.data or b"")
                frame.boxes = [(box.x0, box.y0, box.x1, box.y1) for box in data.roiBoxs]
            frame.metadata |= metadata or {}
            running.sent.add(source)
            if set(running.sources) - running.sent:
                return values.OK, frame.number
            running.pending, running.sent = None, set()
            running.count += 1
            self._finish(running, frame, unique=unique)
        return values.OK, frame.number

    def _finish(self, running: _Running, frame: Frame, *, unique: bool) -> None:
        code = values.OK
        try:
            running.stream.run(frame)
        except UserError as error:
            hint = f" ({error.hint})" if error.hint else ""
            code = _failed(values.ELEMENT_INVALID, f"stream `{running.stream.name}`: {error.message}{hint}")
            frame.buffer = b""
        if unique:
            running.by_id[frame.number] = (code, frame)
        elif running.sinks:
            running.done.append((code, frame))
        self._lock.notify_all()

    def _take(self, stream: bytes, place: int | bytes, seconds: float) -> tuple[int, Frame | None]:
        running = self._streams.get(_text(stream))
        if running is None:
            return _failed(values.STREAM_NOT_EXIST, f"no stream `{_text(stream)}`"), None
        if _place(running.sinks, place) is None:
            return _failed(values.ELEMENT_NOT_EXIST, f"stream `{_text(stream)}` has no appsink {place!r}"), None
        with self._lock:
            if not self._lock.wait_for(lambda: running.done, seconds):
                return _failed(values.STREAM_TIMEOUT, f"stream `{_text(stream)}`: nothing to get"), None
            return running.done.popleft()


def _place(names: list[str], place: int | bytes | str) -> str | None:
    if isinstance(place, int):
        return names[place] if 0 <= place < len(names) else None
    return _text(place) if _text(place) in names else None


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _failed(code: int, message: str) -> int:
    _LOG.warning("stream manager: error %d: %s", code, message)
    return code
