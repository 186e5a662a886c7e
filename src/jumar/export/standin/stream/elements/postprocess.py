"""The post-processors: a plug-in in Python makes classes or objects of tensors.

The pipeline names it as the vendor's does: `funcLanguage` python, `postProcessLibPath` (a folder), `pythonModule`,
`className`. The class takes (config path, label path) and has `process(tensors)`, which gets numpy arrays and returns
items with classId, className and confidence, for objects also x0, y0, x1, y1. Libraries in C++ cannot be loaded here;
the one for classification (`libresnet50postprocess.so`) is done in Python.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumar.core import read
from jumar.core.errors import UserError
from jumar.export.model import first_line
from jumar.export.standin.stream import messages
from jumar.export.standin.stream.frame import Frame
from jumar.export.standin.stream.pipeline import Element

FACTORIES = ("mxpi_classpostprocessor", "mxpi_objectpostprocessor")
CLASSIFIER = "libresnet50postprocess.so"


@dataclass
class PostProcess:
    plug_in: Any
    objects: bool

    def process(self, results: Iterable[list[Any]], source: str) -> Any:
        """The message for the results of each picture."""
        listing = messages.make("MxpiObjectList" if self.objects else "MxpiClassList")
        for number, tensors in enumerate(results):
            try:
                items = list(self.plug_in.process(tensors))
            except Exception as error:
                raise UserError(f"the post-processor failed: {type(error).__name__}: {first_line(error)}") from error
            for item in items:
                row = listing.objectVec.add() if self.objects else listing.classVec.add()
                row.headerVec.add(dataSource=source, memberId=number)
                _fill(row, item, self.objects)
        return listing


def prepare(element: Element) -> None:
    element.state = load(element)


def run(element: Element, frame: Frame) -> None:
    import numpy

    source = element.sources()[0]
    listing = frame.metadata.get(source)
    if listing is None or listing.DESCRIPTOR.name != "MxpiTensorPackageList":
        raise UserError(f"`{element.name}` takes tensors, `{source}` made none")
    from jumar.export.standin.pyacl.describe import TYPES

    names = {number: name for name, number in TYPES.items()}
    results = [
        [
            numpy.frombuffer(tensor.dataStr, dtype=names[tensor.tensorDataType]).reshape(tuple(tensor.tensorShape))
            for tensor in package.tensorVec
        ]
        for package in listing.tensorPackageVec
    ]
    frame.metadata[element.name] = element.state.process(results, source)


def load(element: Element) -> PostProcess:
    """The plug-in that the element names."""
    config, labels = element.prop("postProcessConfigPath"), element.prop("labelPath")
    objects = element.factory == "mxpi_objectpostprocessor"
    if element.prop("className"):
        made = _class(element)
        try:
            return PostProcess(made(config, labels), objects)
        except Exception as error:
            raise UserError(
                f"`{element.prop('className')}` failed: {type(error).__name__}: {first_line(error)}"
            ) from error
    library = Path(element.prop("postProcessLibPath")).name
    if library == CLASSIFIER:
        return PostProcess(Classifier(config or element.prop("postProcessConfigContent"), labels), False)
    raise UserError(
        f"a library in C++ cannot be loaded here: `{library}` (`{element.name}`)",
        "name a Python plug-in: funcLanguage, pythonModule, className; see docs/guides/export.md",
    )


class Classifier:
    """The best classes of a score for each, as the vendor's ResNet-50 post-processor gives them."""

    def __init__(self, config: str, labels: str) -> None:
        values = _config(config)
        self.softmax = values.get("SOFTMAX", "true").lower() == "true"
        self.top = int(values.get("TOP_K", "1"))
        self.labels = _labels(labels)

    def process(self, tensors: list[Any]) -> Iterable[dict[str, Any]]:
        import numpy

        for row in tensors[0].reshape(-1, tensors[0].shape[-1]).astype(numpy.float32):
            if self.softmax:
                row = numpy.exp(row - row.max())
                row = row / row.sum()
            for number in numpy.argsort(-row, kind="stable")[: self.top]:
                name = self.labels[number] if number < len(self.labels) else ""
                yield {"classId": int(number), "className": name, "confidence": float(row[number])}


def _class(element: Element) -> Any:
    folder, module, name = (element.prop(key) for key in ("postProcessLibPath", "pythonModule", "className"))
    path = Path(folder or ".") / (module.replace(".", "/") + ".py")
    if not path.is_file():
        raise UserError(f"no such plug-in: `{path}` (`{element.name}`)", "check postProcessLibPath and pythonModule")
    spec = importlib.util.spec_from_file_location(f"jumar_plugin_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    try:
        spec.loader.exec_module(loaded)
        return getattr(loaded, name)
    except Exception as error:
        raise UserError(f"`{path}`: {type(error).__name__}: {first_line(error)}") from error


def _fill(row: Any, item: Any, objects: bool) -> None:
    def value(name: str, default: Any) -> Any:
        return item.get(name, default) if isinstance(item, dict) else getattr(item, name, default)

    target = row.classVec.add() if objects else row
    target.classId = int(value("classId", 0))
    target.className = str(value("className", ""))
    target.confidence = float(value("confidence", 0.0))
    if objects:
        for name in ("x0", "y0", "x1", "y1"):
            setattr(row, name, float(value(name, 0.0)))


def _config(text: str) -> dict[str, str]:
    if not text:
        return {}
    path = Path(text) if len(text) < 4096 and "{" not in text else None
    try:
        content = read.content(path).decode("utf-8") if path is not None else text
    except UnicodeDecodeError as error:
        raise UserError(f"the configuration of a post-processor is not UTF-8: `{text}`") from error
    if content.lstrip().startswith("{"):
        try:
            return {str(key): str(value) for key, value in read.decoded(content).items()}
        except (ValueError, AttributeError) as error:
            raise UserError(f"the configuration of a post-processor is not JSON: {error}") from error
    lines = (line.partition("=") for line in content.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in lines}


def _labels(path: str) -> list[str]:
    if not path:
        return []
    try:
        lines = read.content(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"the labels are not UTF-8: `{path}`") from error
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
