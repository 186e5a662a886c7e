"""`mxpi_opencvcentercrop`: the middle of each picture, in the size that the model takes."""

from __future__ import annotations

from jumar.core.errors import UserError
from jumar.export.standin.stream.frame import Frame, Picture
from jumar.export.standin.stream.pipeline import Element

FACTORIES = ("mxpi_opencvcentercrop",)


def prepare(element: Element) -> None:
    if min(_wanted(element)) <= 0:
        raise UserError(f"`{element.name}` needs cropHeight and cropWidth")


def run(element: Element, frame: Frame) -> None:
    source = element.sources()[0] if element.sources() else ""
    found = [_middle(element, picture) for picture in frame.pictures_of(source)]
    frame.put_pictures(element.name, found, source)


def _middle(element: Element, picture: Picture) -> Picture:
    width, height = _wanted(element)
    columns, rows = picture.size
    if width > columns or height > rows:
        raise UserError(f"`{element.name}` cuts {width}x{height} out of a picture of {columns}x{rows}")
    left, top = (columns - width) // 2, (rows - height) // 2
    return Picture(picture.pixels[top : top + height, left : left + width], picture.form)


def _wanted(element: Element) -> tuple[int, int]:
    return int(element.number("cropWidth")), int(element.number("cropHeight"))
