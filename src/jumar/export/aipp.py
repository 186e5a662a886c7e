"""The AIPP file of ATC (`--insert_op_conf`): read, checked, and carried out by the stand-in.

Keys, ranges and the order of the steps: hicann/ge docs/zh/user_guides/atc_tools/AIPP (2026-11).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from jumar.core import read as contents
from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.tables import atc

Value = Union[bool, int, float, str]
_TOKEN = re.compile(r'\s*(?:#[^\n]*|([A-Za-z_]\w*)|(\{|\})|(:)|("[^"\n]*"|[-+.\w]+)|(\S))')
_TRUE = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True)
class AippStep:
    """One `aipp_op`."""

    values: dict[str, Value] = field(default_factory=dict)

    @property
    def input_index(self) -> int:
        return int(self.number("related_input_rank"))

    @property
    def is_static(self) -> bool:
        return self.values["aipp_mode"] == "static"

    def number(self, key: str, default: float = 0) -> float:
        return float(self.values.get(key, default))

    def on(self, key: str) -> bool:
        return bool(self.values.get(key, False))


def read(path: Path) -> list[AippStep]:
    try:
        text = contents.content(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"cannot read the AIPP file `{path}`: it is not UTF-8 text") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> list[AippStep]:
    """The steps of a file; a wrong key, value or bracket is refused with its line."""
    steps: list[AippStep] = []
    tokens = list(_tokens(text, name))
    at = 0
    while at < len(tokens):
        word, line = tokens[at]
        if word != "aipp_op" or at + 1 >= len(tokens) or tokens[at + 1][0] != "{":
            raise UserError(
                f"{name}:{line}: `{word}` found where `aipp_op {{` is expected", "see the vendor's AIPP template"
            )
        at, values = _block(tokens, at + 2, name)
        step = AippStep(values)
        _check(step, name, line)
        steps.append(step)
    if not steps:
        raise UserError(f"`{name}` has no `aipp_op`", "write `aipp_op { aipp_mode: static input_format: RGB888_U8 }`")
    return steps


def check_against(
    steps: list[AippStep], inputs: int, sizes: dict[int, tuple[int, int] | None], family: str, name: str
) -> None:
    """Check the steps against the inputs of a model: `sizes` are height and width, None where they change."""
    seen = set()
    for step in steps:
        index = step.input_index
        if index >= inputs:
            raise UserError(f"`{name}`: related_input_rank {index}, but the model has {inputs} input(s)")
        if index in seen:
            raise UserError(f"`{name}` has two aipp_op for input {index}")
        seen.add(index)
        if not step.is_static:
            continue
        size = sizes.get(index)
        if size is None:
            if (
                step.on("crop")
                or step.on("padding")
                or step.number("src_image_size_w")
                or step.number("src_image_size_h")
            ):
                raise UserError(
                    f"`{name}`: with changing image sizes neither crop, padding nor src_image_size can be set"
                )
            continue
        _check_size(step, size, family, name)


def _check_size(step: AippStep, size: tuple[int, int], family: str, name: str) -> None:
    for axis, wanted in zip("hw", size, strict=True):
        source = int(step.number(f"src_image_size_{axis}"))
        if not step.on("crop") and not step.on("padding"):
            if source and source != wanted:
                raise UserError(
                    f"`{name}`: src_image_size_{axis} is {source}, the model takes {wanted}", "set crop or padding"
                )
            continue
        pads = ("top", "bottom") if axis == "h" else ("left", "right")
        padding = sum(int(step.number(f"{side}_padding_size")) for side in pads) if step.on("padding") else 0
        got = (int(step.number(f"crop_size_{axis}")) or wanted - padding) if step.on("crop") else source
        if got + padding != wanted:
            raise UserError(f"`{name}`: the {axis} axis becomes {got + padding}, but the model takes {wanted}")
        rows = atc.options()["families"]["padded_width"]
        if axis == "w" and step.on("padding") and got + padding > rows.get(family, rows["other"]):
            raise UserError(f"`{name}`: this chip pads to a width of {rows.get(family, rows['other'])} at most")


def _tokens(text: str, name: str) -> list[tuple[str, int]]:
    found = []
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            break
        line += text.count("\n", at, match.start(match.lastindex or 0) if match.lastindex else match.end())
        if match.lastindex == 5:
            raise UserError(f"{name}:{line}: `{match[5]}` is not part of an AIPP file")
        if match.lastindex:
            found.append((match[match.lastindex], line))
            line += text.count("\n", match.start(match.lastindex), match.end())
        at = match.end()
    return found


def _block(tokens: list[tuple[str, int]], at: int, name: str) -> tuple[int, dict[str, Value]]:
    values: dict[str, Value] = {}
    keys = atc.options()["aipp"]["keys"]
    while at < len(tokens) and tokens[at][0] != "}":
        key, line = tokens[at]
        if key not in keys:
            raise UserError(
                f"{name}:{line}: no such key: `{key}`", did_you_mean(key, keys, "see the vendor's AIPP template")
            )
        if at + 2 >= len(tokens) or tokens[at + 1][0] != ":" or tokens[at + 2][0] in "{}:":
            raise UserError(f"{name}:{line}: `{key}` has no value", f"write `{key}: VALUE`")
        if key in values:
            raise UserError(f"{name}:{line}: `{key}` stands twice")
        values[key] = _value(key, tokens[at + 2][0], keys[key], f"{name}:{line}")
        at += 3
    if at >= len(tokens):
        raise UserError(f"`{name}` ends before its `}}`")
    return at + 1, values


def _value(key: str, text: str, row: list[Any], place: str) -> Value:
    kind = row[0]
    if kind == "word":
        return text.strip('"')
    if kind == "bool":
        if text.lower() not in _TRUE:
            raise UserError(f"{place}: `{key}` is true or false, not `{text}`")
        return _TRUE[text.lower()]
    try:
        number: int | float = int(text) if kind == "int" else float(text)
    except ValueError as error:
        raise UserError(f"{place}: `{key}` is a number, not `{text}`") from error
    if not row[1] <= number <= row[2]:
        raise UserError(f"{place}: `{key}` is {row[1]} to {row[2]}, not {text}")
    return number


def _check(step: AippStep, name: str, line: int) -> None:
    place, aipp = f"{name}:{line}", atc.options()["aipp"]
    mode = step.values.get("aipp_mode")
    if mode not in aipp["modes"]["names"]:
        raise UserError(f"{place}: aipp_mode must be `static` or `dynamic`, not `{mode}`")
    if not step.is_static:
        if not step.number("max_src_image_size"):
            raise UserError(f"{place}: a dynamic aipp_op needs max_src_image_size")
        return
    form = str(step.values.get("input_format"))
    if form not in aipp["formats"]:
        hint = did_you_mean(form, aipp["formats"], f"one of {', '.join(aipp['formats'])}")
        raise UserError(f"{place}: a static aipp_op needs an input_format, not `{form}`", hint)
    for key in ("resize", "support_rotation", "single_line_mode"):
        if step.on(key):
            raise UserError(f"{place}: `{key}` is reserved: ATC does not support it yet")
    for axis in "wh":
        source, start = step.number(f"src_image_size_{axis}"), step.number(f"load_start_pos_{axis}")
        if form == "YUV420SP_U8" and (source % 2 or start % 2):
            raise UserError(f"{place}: YUV420SP_U8 needs even src_image_size and load_start_pos")
        if step.on("crop") and source < start + step.number(f"crop_size_{axis}"):
            raise UserError(
                f"{place}: the crop exceeds the image: start and size in {axis} are larger than src_image_size_{axis}"
            )
        if (step.on("crop") or step.on("padding")) and not source:
            raise UserError(f"{place}: crop and padding need src_image_size_{axis}")
