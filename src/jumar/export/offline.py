"""What `jumar export run` runs: a model or a stand-in with its inputs and its precision, checked and resolved."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from jumar.core import write
from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.export import execute, graph, half, model, shapes
from jumar.export.graph import View
from jumar.export.precision import Result
from jumar.export.standin import om
from jumar.export.standin.program import named, saturates
from jumar.runtime import arrays
from jumar.tables import atc, socs

OLDEST = 9
"""The statistics need operators of this opset."""


@dataclass(frozen=True)
class Subject:
    proto: Any
    view: View
    feeds: dict[str, Any]
    policy: half.Policy
    mode: str
    random: bool
    unnamed: frozenset[str]
    """Names that nodes got here, since the file gives them none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineRequest:
    """A model to run, and with what."""

    model: Path
    """An `.onnx`, or an `.om` stand-in."""
    shapes: tuple[str, ...] = ()
    """Shapes of inputs, as `NAME:DIMS`."""
    files: tuple[str, ...] = ()
    """Inputs from `.npy` files, as `NAME=FILE`; the others are random."""
    seed: int = 0
    precision: str | None = None
    """ATC's precision mode; `force_fp16` if none is named."""
    soc: str | None = None
    keep: Path | None = None
    """A keep-dtype list to apply."""


def subject(request: OfflineRequest) -> Subject:
    """Read the model, make or load its inputs, and settle the precision."""
    path, mode, soc, kept = request.model, request.precision, request.soc, []
    given = shapes.parse(request.shapes)
    if path.suffix == ".om":
        offline = om.load(path)
        if offline.steps:
            raise UserError(
                "a stand-in with AIPP takes image bytes", "run the `.onnx` here; `jumar run` runs the `.om`"
            )
        proto = model.parse(offline.onnx, str(path))
        mode, soc, kept = mode or offline.precision, soc or offline.soc, list(offline.kept)
        first = offline.gears[0] if offline.gears else ()
        given = given or {name: _first(shape, list(first)) for name, shape in offline.shapes.items()}
    else:
        proto = model.whole(path)
    if proto.functions:
        proto = model.onnx().inliner.inline_local_functions(proto, True)
    proto = _new_enough(proto)
    unnamed = _name_nodes(proto)
    rows = graph.inputs(proto)
    settled = _settled(rows, given)
    feeds = execute.random_feeds([row for row in rows if row.name not in _names(request.files, rows)], settled,
                                 request.seed)  # fmt: skip
    loaded = _loaded(request.files, rows)
    light = model.onnx().ModelProto()
    light.CopyFrom(proto)
    model.lighten(light)
    if request.keep is not None:
        kept += om.kept_names(request.keep)
    return Subject(proto, graph.view(light), {**feeds, **loaded}, _policy(mode, soc, kept, proto),
                   mode or "force_fp16", bool(feeds), unnamed)  # fmt: skip


def save(folder: Path, result: Result) -> None:
    """Write both sets of outputs."""
    import numpy

    with write.inside(folder):
        for number, row in enumerate(result.outputs):
            for kind, array in (("float32", result.reference[number]), ("rounded", result.rounded[number])):
                data = io.BytesIO()
                numpy.save(data, array)
                write.replace(folder / f"{number}_{kind}.npy", data.getvalue())
            write.replace(folder / f"{number}_name.txt", f"{row.name}\n".encode())


def _policy(mode: str | None, soc: str | None, kept: list[str], proto: Any) -> half.Policy:
    known = atc.precisions()
    name = mode or "force_fp16"
    if name not in known:
        raise UserError(f"unknown precision mode: `{name}`", did_you_mean(name, known, f"one of {', '.join(known)}"))
    effect = known[name][1]
    if effect == "unknown":
        raise UserError(f"the stand-in does not compute in `{name}`", "it knows float16, bfloat16 and float32")
    return half.Policy(effect, named(kept, proto), saturates(socs.known(soc)) if soc else False)


def _settled(rows: tuple[graph.Input, ...], given: dict[str, shapes.Shape]) -> dict[str, shapes.Shape]:
    return shapes.settle(rows, given, batch=True)


def _first(shape: shapes.Shape, gear: list[int]) -> shapes.Shape:
    return tuple(
        dim.low if isinstance(dim, shapes.Range) else dim if dim >= 0 else gear.pop(0) if gear else 1 for dim in shape
    )


def _names(files: tuple[str, ...], rows: tuple[graph.Input, ...]) -> set[str]:
    return {one.partition("=")[0] for one in files if "=" in one} & {row.name for row in rows}


def _loaded(files: tuple[str, ...], rows: tuple[graph.Input, ...]) -> dict[str, Any]:
    known = {row.name: row for row in rows}
    found = {}
    for one in files:
        name, equals, file = one.partition("=")
        if not equals and len(rows) == 1:
            name, file = rows[0].name, one
        if name not in known:
            raise UserError(f"the model has no input `{name}`", did_you_mean(name, known, f"it has {', '.join(known)}"))
        try:
            value = arrays.load_npy(file)
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read `{file}`: {model.first_line(error)}", "save it with `numpy.save`") from error
        wanted = execute.dtype(known[name].type.element)
        if str(value.dtype) != wanted:
            raise UserError(f"input `{name}` is {wanted}, `{file}` holds {value.dtype}")
        found[name] = value
    return found


def _new_enough(proto: Any) -> Any:
    if model.opset(proto) >= OLDEST:
        return proto
    try:
        return model.onnx().version_converter.convert_version(proto, 13)
    except Exception as error:
        raise UserError(f"opset {model.opset(proto)} is too old to run here: {model.first_line(error)}") from error


def _name_nodes(proto: Any) -> frozenset[str]:
    """Give nodes without a name one, as `check --fix` does; returns those names."""
    seen: set[str] = set()
    given = set()
    for number, node in enumerate(proto.graph.node):
        if not node.name or node.name in seen:
            node.name = f"{node.op_type}_{number}"
            given.add(node.name)
        seen.add(node.name)
    return frozenset(given)
