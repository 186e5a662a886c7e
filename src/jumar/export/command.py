"""Builds the `atc` line for a model: every option checked against the model, the chip and each other."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.export import aipp, shapes
from jumar.export.graph import Input
from jumar.export.shapes import Range, Shape
from jumar.tables import atc, socs

FORMATS = ("NCHW", "NCDHW", "ND")
MODES = {"batch": "--dynamic_batch_size", "image_size": "--dynamic_image_size", "dims": "--dynamic_dims"}
DEFAULT_PRECISION = "force_fp16"


@dataclass(frozen=True)
class AtcRequest:
    """What the user asked for."""

    model: Path
    soc: str
    shapes: tuple[str, ...] = ()
    batch: str | None = None
    image_size: str | None = None
    dims: str | None = None
    precision: str | None = None
    form: str | None = None
    aipp: Path | None = None
    keep: Path | None = None
    output: Path | None = None
    output_type: str | None = None
    out_nodes: str | None = None
    half_inputs: str | None = None
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conversion:
    """A conversion that was checked: the options of ATC, and what the stand-in needs."""

    model: Path
    soc: str
    output: Path
    form: str
    shapes: dict[str, Shape]
    mode: str
    """static, batch, image_size, dims or range."""
    gears: tuple[tuple[int, ...], ...]
    precision: str
    steps: tuple[aipp.AippStep, ...] = ()
    request: AtcRequest | None = None

    def argv(self) -> list[str]:
        """The words of the command."""
        request = self.request
        assert request is not None
        words = [
            "atc", f"--model={self.model}", "--framework=5", f"--output={self.output}", f"--soc_version={self.soc}",
            f"--input_format={self.form}",
        ]  # fmt: skip
        if self.shapes:
            text = ";".join(f"{name}:{shape}" for name, shape in self.written_shapes().items())
            words.append(f"--input_shape={text}")
        if self.mode in MODES:
            separator = "," if self.mode == "batch" else ";"
            words.append(f"{MODES[self.mode]}={separator.join(shapes.written(gear) for gear in self.gears)}")
        words.append(f"--{atc.precisions()[self.precision][0]}={self.precision}")
        further = {
            "keep_dtype": request.keep,
            "insert_op_conf": request.aipp,
            "input_fp16_nodes": request.half_inputs,
            "output_type": request.output_type,
            "out_nodes": request.out_nodes,
        }
        for option, value in further.items():
            if value is not None:
                words.append(f"--{option}={value}")
        return [*words, *request.extra]

    def written_shapes(self) -> dict[str, str]:
        """The shapes as ATC writes them."""
        return {name: shapes.written(shape) for name, shape in self.shapes.items()}

    def line(self) -> str:
        return " ".join(quoted(word) for word in self.argv())

    def runner(self) -> str:
        """The line of the vendor's inference runner for the result, with the first gear."""
        words = ["python3", "-m", "ais_bench", "--model", f"{self.output}.om"]
        names = [
            name for name, shape in self.shapes.items() if any(not isinstance(dim, int) or dim < 0 for dim in shape)
        ]
        if self.mode == "batch":
            words += ["--dymBatch", str(self.gears[0][0])]
        elif self.mode == "image_size":
            words += ["--dymHW", shapes.written(self.gears[0])]
        elif self.mode in ("dims", "range"):
            chosen = ";".join(f"{name}:{shapes.written(self.first()[name])}" for name in self.shapes)
            words += ["--dymDims" if self.mode == "dims" else "--dymShape", chosen]
            if self.mode == "range" and names:
                words += ["--outputSize", "100000"]
        return " ".join(quoted(word) for word in [*words, "--loop", "100"])

    def first(self) -> dict[str, Shape]:
        """The shapes of the first gear, or the lowest of each range."""
        return {name: tuple(row) for name, row in self.at(self.gears[0] if self.gears else ()).items()}

    def at(self, gear: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """The shapes with a gear put in; without one, 1 for every open axis and the lowest of a range."""
        values = list(gear)
        found = {}
        for name, shape in self.shapes.items():
            # Axes of -1 take the numbers of a `dims` gear one after another; other gears are the same for each input.
            source = values if self.mode == "dims" else list(values)
            found[name] = tuple(
                dim.low if isinstance(dim, Range) else dim if dim >= 0 else source.pop(0) if source else 1
                for dim in shape
            )
        return found


def build(request: AtcRequest, inputs: Sequence[Input]) -> Conversion:
    """Check everything that was asked for, and settle the rest."""
    soc = socs.known(request.soc)
    family = socs.family(soc)
    mode, gears = _mode(request, family)
    precision = _precision(request, family)
    settled = shapes.settle(inputs, shapes.parse(request.shapes), batch=mode == "batch")
    mode = _check_shapes(settled, mode, gears, family)
    form = _format(request, settled, mode)
    _check_output(request, family)
    steps = _aipp(request, settled, mode, family)
    _check_half(request, inputs, steps)
    output = request.output or request.model.with_suffix("")
    if output.suffix == ".om":
        output = output.with_suffix("")
    return Conversion(request.model, soc, output, form, settled, mode, gears, precision, steps, request)


def quoted(word: str) -> str:
    """A word for the shell, in the vendor's style: `--option="value"`; bytes that are no text as `$'…'`."""
    if any("\udc80" <= letter <= "\udcff" for letter in word):
        escaped = re.sub(r"['\\]", r"\\\g<0>", word)
        return "$'" + re.sub("[\udc80-\udcff]", lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", escaped) + "'"
    name, equals, value = word.partition("=")
    if equals and name.startswith("--") and not re.fullmatch(r"[\w@%+=:,./~-]+", value):
        return name + '="' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'
    if equals and name.startswith("--"):
        return word
    return shlex.quote(word)


def _mode(request: AtcRequest, family: str) -> tuple[str, tuple[tuple[int, ...], ...]]:
    given = [(name, text) for name in MODES if (text := getattr(request, name)) is not None]
    if len(given) > 1:
        names = " and ".join(f"`--{name.replace('_', '-')}`" for name, _ in given)
        raise UserError(f"{names} exclude each other", "an offline model has one dynamic mode")
    if not given:
        return "static", ()
    name, text = given[0]
    option = f"--{name.replace('_', '-')}"
    parts = text.split(",") if name == "batch" else text.split(";")
    gears = tuple(_gear(part, option) for part in parts)
    if name == "image_size" and any(len(gear) != 2 for gear in gears):
        raise UserError(f"`{option} {text}`: a size is height and width", f'write it as `{option} "224,224;448,448"`')
    if not 2 <= len(gears) <= atc.gears(family):
        raise UserError(f"`{option}` takes 2 to {atc.gears(family)} gears on this chip, {len(gears)} were given")
    if len(set(gears)) != len(gears):
        raise UserError(f"`{option} {text}` names a gear twice")
    return name, gears


def _gear(text: str, option: str) -> tuple[int, ...]:
    numbers = text.split(",")
    if not all(re.fullmatch(r"\s*[1-9]\d{0,8}\s*", number) for number in numbers):
        raise UserError(
            f"`{option}`: `{text}` is not a gear", 'write gears as `--batch 1,2,4` or `--dims "1,64;1,128"`'
        )
    return tuple(int(number) for number in numbers)


def _precision(request: AtcRequest, family: str) -> str:
    name = request.precision or DEFAULT_PRECISION
    known = atc.precisions()
    if name not in known:
        raise UserError(f"unknown precision mode: `{name}`", did_you_mean(name, known, f"one of {', '.join(known)}"))
    for word, chips in (("bf", "bfloat16"), ("hif8", "hifloat8")):
        if word in name and family not in atc.options()["families"][chips]:
            raise UserError(f"`{name}` needs {chips}, which {socs.known(request.soc)} does not have")
    if request.keep is not None:
        if not request.keep.is_file():
            raise UserError(f"no such file: `{request.keep}`", "`jumar export run MODEL --find-keep FILE` writes one")
        if name in ("must_keep_origin_dtype", "origin"):
            raise UserError(f"`--keep-dtype` does nothing with `{name}`", "everything keeps its type already")
    return name


def _check_shapes(settled: dict[str, Shape], mode: str, gears: tuple[tuple[int, ...], ...], family: str) -> str:
    ranges = [name for name, shape in settled.items() if any(isinstance(dim, Range) for dim in shape)]
    free = {name: [number for number, dim in enumerate(shape) if dim == -1] for name, shape in settled.items()}
    count = sum(len(axes) for axes in free.values())
    if ranges and mode != "static":
        raise UserError(
            f"a range in the shape of `{ranges[0]}` excludes `--{mode.replace('_', '-')}`", "choose one dynamic mode"
        )
    if mode == "static":
        if not ranges and not count:
            return "static"
        if family in atc.options()["families"]["without_ranges"]:
            raise UserError("this chip takes no ranges of shapes", "use `--batch`, `--image-size` or `--dims`")
        return "range"
    if not count:
        raise UserError(f"`--{mode.replace('_', '-')}` needs an axis of -1 in a shape", f"{shapes.FORM} with -1 in it")
    for name, axes in free.items():
        if mode == "batch" and axes not in ([], [0]):
            raise UserError(f"`--batch` moves the first axis only; `{name}` has -1 elsewhere", "use `--dims`")
        if mode == "image_size" and axes not in ([], [2, 3]):
            raise UserError(f"`--image-size` moves axes 2 and 3 (NCHW); `{name}` has -1 at {axes}", "use `--dims`")
    if mode == "dims" and any(len(gear) != count for gear in gears):
        raise UserError(f"every gear of `--dims` needs {count} number(s), one for each -1 in the shapes")
    return mode


def _format(request: AtcRequest, settled: dict[str, Shape], mode: str) -> str:
    ranks = {len(shape) for shape in settled.values()}
    if request.form is not None:
        form = request.form.upper()
        if form not in FORMATS:
            raise UserError(f"unknown format: `{request.form}`", f"ONNX models take {', '.join(FORMATS)}")
    elif mode == "dims":
        form = "ND"
    else:
        form = "NCHW" if ranks <= {4} else "NCDHW" if ranks == {5} else "ND"
    if mode == "dims" and form != "ND":
        raise UserError(f"`--dims` needs `--format ND`, not {form}")
    if mode == "image_size" and form != "NCHW":
        raise UserError(f"`--image-size` needs `--format NCHW`, not {form}", "use `--dims`")
    if request.aipp is not None and form != "NCHW":
        raise UserError(f"an AIPP file needs `--format NCHW`, not {form}")
    return form


def half_names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(";") if name.strip()]


def _check_half(request: AtcRequest, inputs: Sequence[Input], steps: Sequence[aipp.AippStep]) -> None:
    """`--input_fp16_nodes`: inputs that the caller gives as float16."""
    names = [row.name for row in inputs]
    for name in half_names(request.half_inputs):
        if name not in names:
            raise UserError(f"no input `{name}`", did_you_mean(name, names, f"one of {', '.join(names)}"))
        row = inputs[names.index(name)]
        if row.type.element != "FLOAT":
            raise UserError(f"input `{name}` is {row.type.element}: only FLOAT can come as float16")
        if any(step.input_index == names.index(name) for step in steps):
            raise UserError(f"input `{name}` has AIPP, which takes bytes", "leave it out of `--input-fp16`")


def _check_output(request: AtcRequest, family: str) -> None:
    kinds: Any = atc.options()["output_types"]
    if request.output_type is None:
        return
    for part in request.output_type.split(";"):
        name = part.rpartition(":")[2]
        if name not in kinds["names"]:
            raise UserError(
                f"unknown output type: `{name}`", did_you_mean(name, kinds["names"], "such as FP32 or FP16")
            )
        if name in kinds["only_950"] and family != "950":
            raise UserError(f"output type {name} is for the 950")
        if ":" in part and request.out_nodes is None:
            raise UserError("an output type of one node needs `--out-nodes` too")


def _aipp(request: AtcRequest, settled: dict[str, Shape], mode: str, family: str) -> tuple[aipp.AippStep, ...]:
    if request.aipp is None:
        return ()
    if mode == "dims":
        raise UserError("`--aipp` and `--dims` exclude each other", "use `--batch` or `--image-size`")
    steps = aipp.read(request.aipp)
    rows = list(settled.values())
    sizes: dict[int, tuple[int, int] | None] = {}
    for number, shape in enumerate(rows):
        last = tuple(dim for dim in shape[-2:] if isinstance(dim, int) and dim > 0)
        sizes[number] = (last[0], last[1]) if len(last) == 2 else None
    if mode == "range" and any(step.is_static and sizes.get(step.input_index) is None for step in steps):
        raise UserError("a static aipp_op does not work on an input with a range of shapes")
    aipp.check_against(list(steps), len(rows), sizes, family, str(request.aipp))
    for step in steps:
        if len(rows[step.input_index]) != 4:
            raise UserError(
                f"`{request.aipp}`: input {step.input_index} has {len(rows[step.input_index])} axes, AIPP needs 4"
            )
    return tuple(steps)
