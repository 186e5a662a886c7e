"""Elements that pass data on unchanged: sources, sinks, queues."""

from __future__ import annotations

from jumar.export.standin.stream.frame import Frame
from jumar.export.standin.stream.pipeline import Element

FACTORIES = ("appsrc", "appsink", "fakesink", "queue", "tee", "mxpi_datatransfer", "mxpi_synchronize")


def run(element: Element, frame: Frame) -> None:
    """A picture or message of the element before stays reachable under this name too."""
    for source in element.sources():
        if source in frame.pictures:
            frame.pictures.setdefault(element.name, frame.pictures[source])
        if source in frame.metadata:
            frame.metadata.setdefault(element.name, frame.metadata[source])
