"""The `.om` stand-in: what ATC was asked for and the ONNX model, in an archive that no device accepts."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jumar import __version__
from jumar.core import read, write
from jumar.core.errors import UserError
from jumar.export.command import Conversion, half_names
from jumar.export.model import LIMIT, whole
from jumar.export.shapes import Range, Shape

META, MODEL = "jumar-om.json", "model.onnx"
VERSION = 1


@dataclass(frozen=True)
class Offline:
    """A stand-in as it was read."""

    soc: str
    precision: str
    mode: str
    form: str
    shapes: dict[str, Shape]
    gears: tuple[tuple[int, ...], ...]
    steps: tuple[dict[str, Any], ...]
    kept: tuple[str, ...]
    output_type: str | None
    onnx: bytes
    name: str
    half_inputs: tuple[str, ...] = ()


def save(conversion: Conversion) -> Path:
    """Write the stand-in of a conversion where ATC would write its result."""
    wish = conversion.request
    assert wish is not None
    if wish.out_nodes is not None or (wish.output_type is not None and ":" in wish.output_type):
        raise UserError("the stand-in gives the outputs of the model only", "leave `--out-nodes` out")
    fields = {
        "version": VERSION,
        "tool": f"jumar {__version__}",
        "note": "a stand-in for CI: no device can load it",
        "soc": conversion.soc,
        "precision": conversion.precision,
        "mode": conversion.mode,
        "form": conversion.form,
        "shapes": {name: [str(dim) if isinstance(dim, Range) else dim for dim in shape]
                   for name, shape in conversion.shapes.items()},
        "gears": conversion.gears,
        "steps": [asdict(step)["values"] for step in conversion.steps],
        "kept": kept_names(wish.keep) if wish.keep else [],
        "output_type": wish.output_type,
        "half_inputs": half_names(wish.half_inputs),
    }  # fmt: skip
    data = whole(conversion.model).SerializeToString()
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(META, json.dumps(fields, indent=1, ensure_ascii=False))
        archive.writestr(MODEL, data)
    path = conversion.output.with_name(conversion.output.name + ".om")
    write.replace(path, held.getvalue())
    return path


def load(path: Path) -> Offline:
    """Read a stand-in; a real `.om` or a damaged file is refused."""
    if not path.is_file():
        raise UserError(f"no such file: `{path}`")
    with path.open("rb") as file:
        if file.read(4) == b"IMOD":
            raise UserError(
                f"`{path}` comes from a real ATC: only a device runs it", "`jumar export om` writes a stand-in"
            )
    return _read(path, str(path))


def parse(data: bytes, name: str) -> Offline:
    """The same from memory."""
    if data[:4] == b"IMOD":
        raise UserError(f"the {name} comes from a real ATC: only a device runs it")
    return _read(io.BytesIO(data), name)


def _read(source: Path | io.BytesIO, path: str) -> Offline:
    try:
        with zipfile.ZipFile(source) as archive:
            fields = read.decoded(read.unpacked(archive, META, LIMIT // 64))
            data = read.unpacked(archive, MODEL, LIMIT)
        if fields["version"] != VERSION:
            raise UserError(
                f"`{path}` was written by another version of Jumar", "write it again with `jumar export om`"
            )
        return Offline(
            soc=str(fields["soc"]), precision=str(fields["precision"]), mode=str(fields["mode"]),
            form=str(fields["form"]), shapes={str(name): _shape(row) for name, row in fields["shapes"].items()},
            gears=tuple(tuple(int(number) for number in gear) for gear in fields["gears"]),
            steps=tuple(fields["steps"]), kept=tuple(fields["kept"]), output_type=fields["output_type"], onnx=data,
            name=path, half_inputs=tuple(map(str, fields.get("half_inputs", ()))),
        )  # fmt: skip
    except (zipfile.BadZipFile, OSError, KeyError, ValueError, TypeError, AttributeError, EOFError) as error:
        raise UserError(
            f"`{path}` is not an `.om` stand-in, or it is damaged", "write it again with `jumar export om`"
        ) from error


def kept_names(path: Path) -> list[str]:
    """The names of a keep-dtype list."""
    try:
        lines = read.content(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"cannot read `{path}`", "a name of a node, or OpType::Type, in each line") from error
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _shape(row: list[Any]) -> Shape:
    dims: list[int | Range] = []
    for dim in row:
        if isinstance(dim, str):
            low, _, high = dim.partition("~")
            dims.append(Range(int(low), int(high)))
        else:
            dims.append(int(dim))
    return tuple(dims)
