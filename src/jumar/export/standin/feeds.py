"""What programs hand to a session: arrays, tensors, raw bytes of the right size, or a dictionary by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from jumar.export.standin.program import Port

Shapes = Sequence[tuple[int, ...]]


def ordered(feeds: Any, ports: Sequence[Port]) -> list[Any]:
    """The feeds in the order of the model; a dictionary names its inputs."""
    if not isinstance(feeds, Mapping):
        return list(feeds)
    names = [port.name for port in ports]
    for name in feeds:
        if name not in names:
            raise RuntimeError(f"no input `{name}`: {', '.join(names)}")
    for name in names:
        if name not in feeds:
            raise RuntimeError(f"input `{name}` is missing")
    return [feeds[name] for name in names]


def array(feed: Any, port: Port) -> Any:
    import numpy

    if isinstance(feed, numpy.generic) or hasattr(feed, "to_device"):
        return numpy.array(feed)
    if hasattr(feed, "detach"):
        feed = feed.detach().cpu().numpy()
    if isinstance(feed, (bytes, bytearray, memoryview)):
        feed = numpy.frombuffer(feed, "uint8")
    if not isinstance(feed, numpy.ndarray):
        raise RuntimeError(f"input `{port.name}` must be an array or a tensor, not {type(feed).__name__}")
    return feed


def size(port: Port, shape: Sequence[int]) -> int:
    """Bytes of an input or output; 0 where an axis is open."""
    import numpy

    return int(numpy.dtype(port.dtype).itemsize) * prod(max(dim, 0) for dim in shape)


def fitted(value: Any, port: Port, shape: tuple[int, ...]) -> Any:
    """A device copies bytes: what has the right number of them is taken as the type and shape of the model."""
    import numpy

    given = tuple(value.shape)
    if str(value.dtype) == port.dtype and (given == shape or -1 in shape):
        return value
    target = given if -1 in shape and len(given) == len(shape) else shape
    if -1 in target or value.nbytes != size(port, target):
        return value
    if len(given) > 1:
        warnings.warn(
            f"input `{port.name}` is {port.dtype} {list(target)}: the bytes of {value.dtype} {list(given)} are taken"
            " as they are, without a conversion, as on a device",
            RuntimeWarning,
            stacklevel=4,
        )
    return numpy.ascontiguousarray(value).reshape(-1).view(port.dtype).reshape(target)
