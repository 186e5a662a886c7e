"""`acl.mdl`, the part about data: datasets, and the gears that a run is asked for."""

from __future__ import annotations

from typing import Any

from jumar.core.compat import zip
from jumar.export.standin.program import Program
from jumar.export.standin.pyacl.state import (
    DYNAMIC_BATCH_INVALID,
    DYNAMIC_INPUT_INVALID,
    INVALID_PARAM,
    MODEL_ID_INVALID,
    OK,
    STATE,
    Buffer,
    Dataset,
    fail,
    handle,
)


def create_dataset() -> int:
    return STATE.add(Dataset())


def destroy_dataset(dataset: int) -> int:
    return STATE.drop(dataset, Dataset)


def add_dataset_buffer(dataset: int, buffer: int) -> tuple[int, int]:
    found = handle(dataset, Dataset)
    if found is None or handle(buffer, Buffer) is None:
        return dataset, INVALID_PARAM
    found.buffers.append(buffer)
    return dataset, OK


def get_dataset_num_buffers(dataset: int) -> int:
    found = handle(dataset, Dataset)
    return len(found.buffers) if found else 0


def get_dataset_buffer(dataset: int, index: int) -> int:
    found = handle(dataset, Dataset)
    return found.buffers[index] if found and 0 <= index < len(found.buffers) else 0


def set_dynamic_batch_size(model: int, dataset: int, index: int, batch: int) -> int:
    return _set_gear(model, dataset, "batch", (batch,), DYNAMIC_BATCH_INVALID)


def set_dynamic_hw_size(model: int, dataset: int, index: int, height: int, width: int) -> int:
    return _set_gear(model, dataset, "image_size", (height, width), DYNAMIC_INPUT_INVALID)


def set_input_dynamic_dims(model: int, dataset: int, index: int, dims: dict[str, Any]) -> int:
    """`dims` holds all axes of all inputs one after another; those that are -1 in the model make the gear."""
    program = handle(model, Program)
    if program is None:
        return MODEL_ID_INVALID
    given = list(dims.get("dims", []))
    axes = [dim for shape in program.shapes.values() for dim in shape]
    if len(given) != len(axes):
        return fail(DYNAMIC_INPUT_INVALID, f"{len(given)} dims for {len(axes)} axes")
    gear = tuple(value for value, axis in zip(given, axes, strict=True) if axis == -1)
    return _set_gear(model, dataset, "dims", gear, DYNAMIC_INPUT_INVALID)


def _set_gear(model: int, dataset: int, mode: str, gear: tuple[int, ...], code: int) -> int:
    program, found = handle(model, Program), handle(dataset, Dataset)
    if program is None:
        return MODEL_ID_INVALID
    if found is None:
        return INVALID_PARAM
    if program.mode != mode or gear not in program.gears:
        return fail(code, f"{gear} is not a gear of the model: {program.mode} {list(program.gears)}")
    found.gear = gear
    return OK
