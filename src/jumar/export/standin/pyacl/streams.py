"""`acl.rt`, the part about streams, events and callbacks."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jumar.export.standin.pyacl.state import (
    INVALID_PARAM,
    NO_CALLBACK,
    OK,
    REPORT_TIMEOUT,
    STATE,
    STREAM_SUBSCRIBE,
    fail,
    handle,
)


@dataclass
class Stream:
    """Everything sent to it is done at once, but callbacks: those wait for the thread that asked for them."""

    thread: int = 0
    reports: queue.Queue[tuple[Callable[[Any], Any], Any]] = field(default_factory=queue.Queue)


class Event:
    def __init__(self) -> None:
        self.time = 0.0


def create_stream() -> tuple[int, int]:
    return STATE.add(Stream()), OK


def destroy_stream(stream: int) -> int:
    return STATE.drop(stream, Stream)


def synchronize_stream(stream: int) -> int:
    """Waits for the callbacks too, as long as a thread takes them."""
    found = STATE.handles.get(stream)
    if isinstance(found, Stream) and found.thread:
        found.reports.join()
    return OK


def synchronize_stream_with_timeout(stream: int, timeout: int) -> int:
    return synchronize_stream(stream)


def subscribe_report(thread: int, stream: int) -> int:
    """From now on this thread takes the callbacks of the stream, with `process_report`."""
    found = handle(stream, Stream)
    if found is None:
        return INVALID_PARAM
    if found.thread:
        return fail(STREAM_SUBSCRIBE, f"thread {found.thread} already takes the callbacks of this stream")
    found.thread = thread
    return OK


def unsubscribe_report(thread: int, stream: int) -> int:
    found = handle(stream, Stream)
    if found is None or found.thread != thread:
        return fail(INVALID_PARAM, f"thread {thread} does not take the callbacks of this stream")
    found.thread = 0
    return OK


def launch_callback(function: Callable[[Any], Any], data: Any, blocking: int, stream: int) -> int:
    found = handle(stream, Stream)
    if found is None:
        return INVALID_PARAM
    if not found.thread:
        return fail(NO_CALLBACK, "no thread takes the callbacks of this stream: call acl.rt.subscribe_report first")
    found.reports.put((function, data))
    return OK


def process_report(timeout: int) -> int:
    """Runs one callback for the calling thread; an error number where none comes within the milliseconds."""
    number = threading.get_ident()
    until = time.monotonic() + max(0, timeout) / 1000
    while True:
        for stream in [one for one in list(STATE.handles.values()) if isinstance(one, Stream) and one.thread == number]:
            try:
                function, data = stream.reports.get_nowait()
            except queue.Empty:
                continue
            try:
                function(data)
            finally:
                stream.reports.task_done()
            return OK
        if time.monotonic() >= until:
            return REPORT_TIMEOUT
        time.sleep(0.001)


def create_event() -> tuple[int, int]:
    return STATE.add(Event()), OK


def destroy_event(event: int) -> int:
    return STATE.drop(event, Event)


def record_event(event: int, stream: int) -> int:
    found = handle(event, Event)
    if found is None:
        return INVALID_PARAM
    found.time = time.perf_counter()
    return OK


def synchronize_event(event: int) -> int:
    return OK if handle(event, Event) is not None else INVALID_PARAM


def stream_wait_event(stream: int, event: int) -> int:
    return synchronize_event(event)


def event_elapsed_time(start: int, end: int) -> tuple[float, int]:
    """Milliseconds on this machine, which say nothing about a device."""
    first, last = handle(start, Event), handle(end, Event)
    if first is None or last is None:
        return 0.0, INVALID_PARAM
    return (last.time - first.time) * 1000, OK
