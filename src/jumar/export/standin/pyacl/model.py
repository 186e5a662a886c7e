"""`acl.mdl`: loads an `.om` stand-in, describes it, and executes it on buffers."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from jumar.core.errors import UserError
from jumar.export.standin import program as programs
from jumar.export.standin.program import Program
from jumar.export.standin.pyacl.state import (
    DYNAMIC_BATCH_INVALID,
    DYNAMIC_INPUT_INVALID,
    EXECUTION_FAILED,
    INVALID_PARAM,
    MODEL_ID_INVALID,
    MODEL_PATH_INVALID,
    OK,
    STATE,
    UNINITIALIZED,
    Buffer,
    Dataset,
    fail,
    handle,
)

GEAR_INPUT = "ascend_mbatch_shape_data"
"""The input that a model with gears has more."""
GEAR_BYTES = 64
TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8,
         "int64": 9, "uint64": 10, "float64": 11, "bool": 12}  # fmt: skip
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2}


@dataclass
class Description:
    program: Program | None = None


def load_from_file(path: str) -> tuple[int, int]:
    if not STATE.ready:
        return 0, fail(UNINITIALIZED, "call acl.init first")
    try:
        return STATE.add(programs.load(Path(path))), OK
    except UserError as error:
        return 0, fail(MODEL_PATH_INVALID, error.message)


def unload(model: int) -> int:
    return STATE.drop(model, Program)


def create_desc() -> int:
    return STATE.add(Description())


def get_desc(desc: int, model: int) -> int:
    found = handle(desc, Description)
    program = handle(model, Program)
    if found is None or program is None:
        return INVALID_PARAM if found is None else MODEL_ID_INVALID
    found.program = program
    return OK


def destroy_desc(desc: int) -> int:
    return STATE.drop(desc, Description)


def get_num_inputs(desc: int) -> int:
    program = _program(desc)
    return len(program.inputs) + bool(program.gears) if program else 0


def get_num_outputs(desc: int) -> int:
    program = _program(desc)
    return len(program.outputs) if program else 0


def get_input_size_by_index(desc: int, index: int) -> int:
    program = _program(desc)
    if program is None:
        return 0
    if index == len(program.inputs) and program.gears:
        return GEAR_BYTES
    port = _port(program.inputs, index)
    if port is None:
        return 0
    return _size(program.at(program.largest())[index] if program.gears else port.shape, port.dtype)


def get_output_size_by_index(desc: int, index: int) -> int:
    """0 for an output whose size only a run tells, as with a model of shape ranges."""
    program = _program(desc)
    port = _port(program.outputs, index) if program else None
    return _size(port.shape, port.dtype) if port else 0


def get_input_name_by_index(desc: int, index: int) -> str:
    program = _program(desc)
    if program and program.gears and index == len(program.inputs):
        return GEAR_INPUT
    port = _port(program.inputs, index) if program else None
    return port.name if port else ""


def get_output_name_by_index(desc: int, index: int) -> str:
    program = _program(desc)
    port = _port(program.outputs, index) if program else None
    return port.name if port else ""


def get_input_index_by_name(desc: int, name: str) -> tuple[int, int]:
    program = _program(desc)
    names = [port.name for port in program.inputs] + ([GEAR_INPUT] if program.gears else []) if program else []
    return (names.index(name), OK) if name in names else (0, fail(INVALID_PARAM, f"no input `{name}`"))


def get_output_index_by_name(desc: int, name: str) -> tuple[int, int]:
    program = _program(desc)
    names = [port.name for port in program.outputs] if program else []
    return (names.index(name), OK) if name in names else (0, fail(INVALID_PARAM, f"no output `{name}`"))


def get_input_data_type(desc: int, index: int) -> int:
    program = _program(desc)
    port = _port(program.inputs, index) if program else None
    return TYPES[port.dtype] if port else -1


def get_output_data_type(desc: int, index: int) -> int:
    program = _program(desc)
    port = _port(program.outputs, index) if program else None
    return TYPES[port.dtype] if port else -1


def get_input_format(desc: int, index: int) -> int:
    program = _program(desc)
    if program is None:
        return -1
    if index in program.steps:
        return FORMATS["NHWC"]
    port = _port(program.inputs, index)
    return FORMATS["NCHW" if port is not None and len(port.shape) == 4 else "ND"]


def get_output_format(desc: int, index: int) -> int:
    program = _program(desc)
    port = _port(program.outputs, index) if program else None
    return FORMATS["NCHW" if port is not None and len(port.shape) == 4 else "ND"]


def get_input_dims(desc: int, index: int) -> tuple[dict[str, Any], int]:
    program = _program(desc)
    return _dims(program.inputs if program else [], index)


def get_output_dims(desc: int, index: int) -> tuple[dict[str, Any], int]:
    program = _program(desc)
    return _dims(program.outputs if program else [], index)


def get_cur_output_dims(desc: int, index: int) -> tuple[dict[str, Any], int]:
    """The dims of the last run, else those of the model."""
    found = handle(desc, Description)
    program = found.program if found else None
    if program is not None and index < len(program.last):
        shape = program.last[index]
        return {"name": program.outputs[index].name, "dimCount": len(shape), "dims": list(shape)}, OK
    return get_output_dims(desc, index)


def get_dynamic_batch(desc: int) -> tuple[dict[str, Any], int]:
    program = _program(desc)
    batch = [gear[0] for gear in program.gears] if program and program.mode == "batch" else []
    return {"batchCount": len(batch), "batch": batch}, OK


def get_dynamic_hw(desc: int, index: int) -> tuple[dict[str, Any], int]:
    program = _program(desc)
    sizes = [list(gear) for gear in program.gears] if program and program.mode == "image_size" else []
    return {"hwCount": len(sizes), "hw": sizes}, OK


def get_input_dynamic_gear_count(desc: int, index: int) -> tuple[int, int]:
    program = _program(desc)
    return (len(program.gears) if program and program.mode == "dims" else 0), OK


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


def execute(model: int, inputs: int, outputs: int) -> int:
    program, taken, given = handle(model, Program), handle(inputs, Dataset), handle(outputs, Dataset)
    if program is None:
        return MODEL_ID_INVALID
    if taken is None or given is None:
        return INVALID_PARAM
    try:
        values = program.execute(_arrays(program, taken))
    except UserError as error:
        return fail(EXECUTION_FAILED, error.message)
    if len(given.buffers) != len(values):
        return fail(INVALID_PARAM, f"{len(given.buffers)} output buffers for {len(values)} outputs")
    for number, value in zip(given.buffers, values, strict=True):
        buffer = handle(number, Buffer)
        data = value.tobytes()
        if buffer is None or buffer.size < len(data):
            return fail(INVALID_PARAM, f"an output has {len(data)} bytes, its buffer {buffer.size if buffer else 0}")
        ctypes.memmove(buffer.pointer, data, len(data))
    return OK


def execute_async(model: int, inputs: int, outputs: int, stream: int) -> int:
    return execute(model, inputs, outputs)


def _arrays(program: Program, dataset: Dataset) -> list[Any]:
    import numpy

    wanted = len(program.inputs) + bool(program.gears)
    if len(dataset.buffers) != wanted:
        raise UserError(f"{len(dataset.buffers)} input buffers for {wanted} inputs")
    shapes = program.at(dataset.gear or program.largest())
    found = []
    for port, number, shape in zip(program.inputs, dataset.buffers, shapes, strict=False):
        buffer = handle(number, Buffer)
        size = _size(shape, port.dtype)
        if buffer is None or buffer.size < size:
            raise UserError(f"input `{port.name}` has {size} bytes, its buffer {buffer.size if buffer else 0}")
        found.append(numpy.frombuffer(ctypes.string_at(buffer.pointer, size), dtype=port.dtype).reshape(shape))
    return found


def _set_gear(model: int, dataset: int, mode: str, gear: tuple[int, ...], code: int) -> int:
    program, found = handle(model, Program), handle(dataset, Dataset)
    if program is None:
        return MODEL_ID_INVALID
    if found is None:
        return INVALID_PARAM
    if program.mode != mode or gear not in program.gears:
        return fail(code, f"{gear} is no gear of the model: {program.mode} {list(program.gears)}")
    found.gear = gear
    return OK


def _program(desc: int) -> Program | None:
    found = handle(desc, Description)
    return found.program if found else None


def _port(ports: list[programs.Port], index: int) -> programs.Port | None:
    if 0 <= index < len(ports):
        return ports[index]
    fail(INVALID_PARAM, f"there is no input or output {index}")
    return None


def _dims(ports: list[programs.Port], index: int) -> tuple[dict[str, Any], int]:
    port = _port(ports, index)
    if port is None:
        return {}, INVALID_PARAM
    return {"name": port.name, "dimCount": len(port.shape), "dims": list(port.shape)}, OK


def _size(shape: tuple[int, ...], kind: str) -> int:
    import numpy

    size = int(numpy.dtype(kind).itemsize)
    for dim in shape:
        size *= max(dim, 0)
    return size


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"acl.mdl.{name} is not in the stand-in of pyACL")
