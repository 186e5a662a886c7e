"""`acl.mdl`, the part that describes a loaded model: names, sizes, types, dims and gears of inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumar.export.standin import program as programs
from jumar.export.standin.program import Program
from jumar.export.standin.pyacl.state import INVALID_PARAM, MODEL_ID_INVALID, OK, STATE, fail, handle

GEAR_INPUT = "ascend_mbatch_shape_data"
"""The input that a model with gears has more."""
GEAR_BYTES = 64
TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8,
         "int64": 9, "uint64": 10, "float64": 11, "bool": 12}  # fmt: skip
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2}


@dataclass
class Description:
    program: Program | None = None


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
    return size_of(program.at(program.largest())[index] if program.gears else port.shape, port.dtype)


def get_output_size_by_index(desc: int, index: int) -> int:
    """0 for an output whose size only a run tells, as with a model of shape ranges."""
    program = _program(desc)
    port = _port(program.outputs, index) if program else None
    return size_of(port.shape, port.dtype) if port else 0


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


def size_of(shape: tuple[int, ...], kind: str) -> int:
    import numpy

    size = int(numpy.dtype(kind).itemsize)
    for dim in shape:
        size *= max(dim, 0)
    return size
