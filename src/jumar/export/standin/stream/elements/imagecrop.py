"""`mxpi_imagecrop`: a picture for each box, from detected objects, from fixed points, or sent with the data."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.export.standin.stream.elements.imagedecoder import resized
from jumar.export.standin.stream.frame import Frame, Picture
from jumar.export.standin.stream.pipeline import Element

FACTORIES = ("mxpi_imagecrop",)
Box = tuple[float, float, float, float]


def run(element: Element, frame: Frame) -> None:
    source = _picture_source(element, frame)
    picture = frame.pictures_of(source)[0]
    width, height = int(element.number("resizeWidth")), int(element.number("resizeHeight"))
    found = []
    for box in _boxes(element, frame):
        left, top, right, bottom = _grown(element, box, picture.size)
        pixels = picture.pixels[top:bottom, left:right]
        if not pixels.size:
            continue
        found.append(Picture(resized(pixels, width, height) if width and height else pixels, picture.form))
    frame.put_pictures(element.name, found, source)


def _picture_source(element: Element, frame: Frame) -> str:
    named = element.prop("dataSourceImage")
    if named:
        return named
    for name in (*element.sources(), *reversed(list(frame.pictures))):
        if name in frame.pictures:
            return name
    raise UserError(f"`{element.name}` has no picture to cut from", "set dataSourceImage")


def _boxes(element: Element, frame: Frame) -> Iterator[Box]:
    if element.prop("autoDetectFrame", "1") == "0":
        columns = [element.prop(f"cropPoint{axis}").split(",") for axis in ("x0", "y0", "x1", "y1")]
        try:
            for x0, y0, x1, y1 in zip(*columns, strict=True):
                yield float(x0), float(y0), float(x1), float(y1)
        except ValueError as error:
            raise UserError(f"the crop points of `{element.name}` are not numbers of equal count") from error
        return
    for name in element.sources():
        listing = frame.metadata.get(name)
        if listing is not None and listing.DESCRIPTOR.name == "MxpiObjectList":
            yield from ((one.x0, one.y0, one.x1, one.y1) for one in listing.objectVec)
            return
    yield from frame.boxes


def _grown(element: Element, box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    x0, y0, x1, y1 = box
    width, height = x1 - x0, y1 - y0
    left = x0 - width * element.number("leftExpandRatio")
    right = x1 + width * element.number("rightExpandRatio")
    top = y0 - height * element.number("upExpandRatio")
    bottom = y1 + height * element.number("downExpandRatio")
    return max(0, int(left)), max(0, int(top)), min(size[0], int(right)), min(size[1], int(bottom))
