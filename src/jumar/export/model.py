"""Reads an ONNX file that may be broken, huge, foreign or hostile: a model, or one clear message.

Format: https://github.com/onnx/onnx/blob/main/docs/IR.md; external data: docs/ExternalData.md there.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core import read as contents
from jumar.core.errors import UserError, cannot
from jumar.core.nearest import did_you_mean

LIMIT = 2**31 - 1
"""Protobuf's own limit of a message."""
SMALL = 4096
"""Bytes up to which the data of a tensor is kept for the inference of shapes."""
INSTALL = "pip install 'jumar[export]'"
_FOREIGN = (
    (b"IMOD", "an offline model of a real ATC: only a device runs it"),
    (b"PK\x03\x04", "an archive (a torch file or an `.om` stand-in), not ONNX"),
    (b"\x80\x02", "a pickle of Python, not ONNX"),
    (b"\x89HDF", "an HDF5 file, not ONNX"),
    (b"version https://git-lfs", "a Git LFS pointer: fetch the file itself with `git lfs pull`"),
    (b"<", "a text (a web page?), not ONNX"),
    (b"{", "a text, not ONNX"),
)


class External(NamedTuple):
    """A tensor whose data lies in another file, and what is wrong with it."""

    tensor: str
    location: str
    problem: str


@cache
def onnx() -> Any:
    """The onnx package, or the message that says how to get it."""
    try:
        package = importlib.import_module("onnx")
        for part in ("checker", "inliner", "shape_inference", "version_converter"):
            importlib.import_module(f"onnx.{part}")
    except ImportError as error:
        raise UserError("`onnx` is not installed in this environment", INSTALL) from error
    return package


def read(path: Path) -> Any:
    """The model as it stands in the file; data in other files is not loaded."""
    return parse(_bytes(path), str(path))


def parse(data: bytes, name: str) -> Any:
    """A model from bytes; whatever is not one is refused."""
    package = onnx()
    for start, what in _FOREIGN:
        if data.startswith(start):
            raise UserError(f"`{name}` is not an ONNX model: {what}")
    model = package.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:
        raise UserError(
            f"`{name}` is not an ONNX model, or it is truncated or damaged",
            f"export or copy it again ({len(data):,} bytes were read)",
        ) from error
    _check_texts(model, name)
    if not model.graph.node and not model.graph.output:
        raise UserError(f"`{name}` holds no graph", "is it an ONNX model? it may be truncated or damaged")
    return model


def whole(path: Path) -> Any:
    """The model with all its data, from other files too."""
    model = read(path)
    bad = [row for row in external(model, path.parent) if row.problem]
    if bad:
        raise UserError(f"data of tensor `{bad[0].tensor}` cannot be read: {bad[0].problem}: `{bad[0].location}`")
    if (size := _external_bytes(model, path.parent)) > LIMIT:
        raise UserError(
            f"the data beside `{path}` has {size / 2**30:.1f} GiB", "at most 2 GiB are taken into one model"
        )
    try:
        onnx().load_external_data_for_model(model, str(path.parent))
    except Exception as error:
        raise UserError(f"external data of `{path}` cannot be read: {first_line(error)}") from error
    return model


def external(model: Any, folder: Path) -> list[External]:
    """The tensors with data in other files, each with what is wrong about it or an empty text."""
    package = onnx()
    found = []
    for tensor in tensors(model):
        if tensor.data_location == package.TensorProto.EXTERNAL:
            entry = {pair.key: pair.value for pair in tensor.external_data}
            location = entry.get("location", "")
            found.append(External(tensor.name, location, _problem(entry, location, folder)))
    return found


def tensors(model: Any) -> Iterator[Any]:
    """Every tensor of the model: initializers and attributes, those of inner graphs and functions too."""
    for graph in graphs(model.graph):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield sparse.values
            yield sparse.indices
        for node in graph.node:
            yield from _of_attributes(node)
    for function in model.functions:
        for node in function.node:
            yield from _of_attributes(node)


def graphs(graph: Any) -> Iterator[Any]:
    """The graph and all graphs inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.output:
                    yield from graphs(inner)


def lighten(model: Any) -> None:
    """Drop the data of large tensors: shapes and types do not need it."""
    for tensor in tensors(model):
        for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            value = getattr(tensor, field)
            if (len(value) if field == "raw_data" else 8 * len(value)) > SMALL:
                tensor.ClearField(field)


def array(tensor: Any) -> Any:
    """The values of a tensor, or the message that its data does not fill its shape."""
    try:
        return onnx().numpy_helper.to_array(tensor)
    except Exception as error:
        raise UserError(
            f"tensor `{tensor.name}` is damaged: {first_line(error)}", "export or copy the model again"
        ) from error


def opset(model: Any) -> int:
    """The opset of ONNX's own domain; 0 where none is declared."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)


def first_line(error: BaseException) -> str:
    """What an exception of a library says, short enough for one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


def _check_texts(model: Any, name: str) -> None:
    """Names that are no text would fail later, wherever they are first used."""
    try:
        for graph in graphs(model.graph):
            for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
                _ = value.name
            for node in graph.node:
                _ = (*node.input, *node.output, node.name, node.op_type, node.domain)
                _ = [attribute.name for attribute in node.attribute]
        for function in model.functions:
            _ = (*function.input, *function.output, function.name, function.domain)
    except UnicodeDecodeError as error:
        raise UserError(f"`{name}` is damaged: a name in it is not text", "export or copy it again") from error


def _bytes(path: Path) -> bytes:
    if not path.exists():
        known = os.listdir(path.parent) if path.parent.is_dir() else []
        near = {str(path.parent / name) if path.parent != Path() else name for name in known}
        raise UserError(f"no such file: `{path}`", did_you_mean(str(path), near, "check the path"))
    if not path.is_file():
        raise UserError(f"`{path}` is not a file", "name the ONNX file itself")
    try:
        size = path.stat().st_size
        if size > LIMIT:
            raise UserError(
                f"`{path}` has {size / 2**30:.1f} GiB; the limit of a model file is 2 GiB",
                "export it again with its weights as external data",
            )
        if size == 0:
            raise UserError(f"`{path}` is empty", "export or copy it again")
    except OSError as error:
        raise cannot(f"read `{path}`", error) from error
    return contents.content(path, most=LIMIT)


def _external_bytes(model: Any, folder: Path) -> int:
    """As many bytes as loading takes: a tensor without a length takes the rest of its file."""
    total = 0
    for tensor in tensors(model):
        entry = {pair.key: pair.value for pair in tensor.external_data}
        if tensor.data_location == onnx().TensorProto.EXTERNAL and entry.get("location"):
            rest = os.path.getsize(folder / entry["location"]) - int(entry.get("offset") or 0)
            total += int(entry.get("length") or 0) or rest
    return total


def _of_attributes(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors


def _problem(entry: dict[str, str], location: str, folder: Path) -> str:
    """Why the data cannot be used; it must lie in the folder of the model and be long enough."""
    if not location or "\0" in location:
        return "no file is named"
    target = Path(os.path.realpath(folder / location))
    if os.path.isabs(location) or not target.is_relative_to(os.path.realpath(folder)):
        return "the file is outside the folder of the model"
    if not target.is_file():
        return "the file is missing"
    offset, length = entry.get("offset", "0"), entry.get("length", "0")
    if not (offset.isdecimal() and length.isdecimal()):
        return "offset or length is not a number"
    if int(offset) + int(length) > target.stat().st_size:
        return "the file is too short"
    return ""
