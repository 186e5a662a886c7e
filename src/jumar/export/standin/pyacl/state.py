"""What the stand-in of pyACL remembers: handles, memory, the last message; and the vendor's error numbers."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, TypeVar

OK = 0
INVALID_PARAM = 100000
UNINITIALIZED = 100001
REPEAT_INITIALIZE = 100002
REPEAT_FINALIZE = 100037
MODEL_PATH_INVALID = 145002
MODEL_ID_INVALID = 145003
DYNAMIC_INPUT_INVALID = 145012
DYNAMIC_BATCH_INVALID = 145013
EXECUTION_FAILED = 500002
STREAM_SUBSCRIBE = 107011
NO_CALLBACK = 107015
NOT_SUPPORTED = 200006
REPORT_TIMEOUT = 507012
MEMORY_ALLOCATION = 207001
DEVICE_INVALID = 107001

Kind = TypeVar("Kind")
LOG = logging.getLogger("jumar.acl")


@dataclass
class Buffer:
    pointer: int
    size: int


@dataclass
class Dataset:
    buffers: list[int] = field(default_factory=list)
    gear: tuple[int, ...] = ()


@dataclass
class State:
    ready: bool = False
    device: int = 0
    message: str = ""
    next: int = 1
    handles: dict[int, Any] = field(default_factory=dict)
    memory: dict[int, Any] = field(default_factory=dict)

    def add(self, value: Any) -> int:
        number = self.next
        self.next += 1
        self.handles[number] = value
        return number

    def drop(self, number: int, kind: type[Any]) -> int:
        if not isinstance(self.handles.get(number), kind):
            return fail(INVALID_PARAM, f"{number} is no {kind.__name__.lower()}")
        del self.handles[number]
        return OK


STATE = State()


def fail(code: int, message: str) -> int:
    """Remember and log why a call fails; returns its error number."""
    STATE.message = message
    LOG.warning("acl: error %d: %s", code, message)
    return code


def handle(number: int, kind: type[Kind]) -> Kind | None:
    """What a handle stands for, if it is of this kind."""
    found = STATE.handles.get(number)
    if isinstance(found, kind):
        return found
    fail(INVALID_PARAM, f"{number} is no {kind.__name__.lower()}")
    return None
