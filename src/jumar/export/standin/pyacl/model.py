"""`acl.mdl`: loads an `.om` stand-in, from a file or from memory, and executes it on buffers."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, NoReturn

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.export.standin import om
from jumar.export.standin import program as programs
from jumar.export.standin.program import Program
from jumar.export.standin.pyacl.datasets import (
    add_dataset_buffer as add_dataset_buffer,
)
from jumar.export.standin.pyacl.datasets import (
    create_dataset as create_dataset,
)
from jumar.export.standin.pyacl.datasets import (
    destroy_dataset as destroy_dataset,
)
from jumar.export.standin.pyacl.datasets import (
    get_dataset_buffer as get_dataset_buffer,
)
from jumar.export.standin.pyacl.datasets import (
    get_dataset_num_buffers as get_dataset_num_buffers,
)
from jumar.export.standin.pyacl.datasets import (
    set_dynamic_batch_size as set_dynamic_batch_size,
)
from jumar.export.standin.pyacl.datasets import (
    set_dynamic_hw_size as set_dynamic_hw_size,
)
from jumar.export.standin.pyacl.datasets import (
    set_input_dynamic_dims as set_input_dynamic_dims,
)
from jumar.export.standin.pyacl.describe import (
    create_desc as create_desc,
)
from jumar.export.standin.pyacl.describe import (
    destroy_desc as destroy_desc,
)
from jumar.export.standin.pyacl.describe import (
    get_cur_output_dims as get_cur_output_dims,
)
from jumar.export.standin.pyacl.describe import (
    get_desc as get_desc,
)
from jumar.export.standin.pyacl.describe import (
    get_dynamic_batch as get_dynamic_batch,
)
from jumar.export.standin.pyacl.describe import (
    get_dynamic_hw as get_dynamic_hw,
)
from jumar.export.standin.pyacl.describe import (
    get_input_data_type as get_input_data_type,
)
from jumar.export.standin.pyacl.describe import (
    get_input_dims as get_input_dims,
)
from jumar.export.standin.pyacl.describe import (
    get_input_dynamic_gear_count as get_input_dynamic_gear_count,
)
from jumar.export.standin.pyacl.describe import (
    get_input_format as get_input_format,
)
from jumar.export.standin.pyacl.describe import (
    get_input_index_by_name as get_input_index_by_name,
)
from jumar.export.standin.pyacl.describe import (
    get_input_name_by_index as get_input_name_by_index,
)
from jumar.export.standin.pyacl.describe import (
    get_input_size_by_index as get_input_size_by_index,
)
from jumar.export.standin.pyacl.describe import (
    get_num_inputs as get_num_inputs,
)
from jumar.export.standin.pyacl.describe import (
    get_num_outputs as get_num_outputs,
)
from jumar.export.standin.pyacl.describe import (
    get_output_data_type as get_output_data_type,
)
from jumar.export.standin.pyacl.describe import (
    get_output_dims as get_output_dims,
)
from jumar.export.standin.pyacl.describe import (
    get_output_format as get_output_format,
)
from jumar.export.standin.pyacl.describe import (
    get_output_index_by_name as get_output_index_by_name,
)
from jumar.export.standin.pyacl.describe import (
    get_output_name_by_index as get_output_name_by_index,
)
from jumar.export.standin.pyacl.describe import (
    get_output_size_by_index as get_output_size_by_index,
)
from jumar.export.standin.pyacl.describe import size_of
from jumar.export.standin.pyacl.state import (
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

NAME = "model in memory"


def load_from_file(path: str) -> tuple[int, int]:
    if not STATE.ready:
        return 0, fail(UNINITIALIZED, "call acl.init first")
    try:
        return STATE.add(programs.load(Path(path))), OK
    except UserError as error:
        return 0, fail(MODEL_PATH_INVALID, error.message)


def load_from_mem(pointer: int, size: int) -> tuple[int, int]:
    if not STATE.ready:
        return 0, fail(UNINITIALIZED, "call acl.init first")
    if not pointer or size <= 0:
        return 0, fail(INVALID_PARAM, f"a model of {size} bytes at {pointer:#x}")
    try:
        return STATE.add(programs.of(om.parse(ctypes.string_at(pointer, size), NAME))), OK
    except UserError as error:
        return 0, fail(INVALID_PARAM, error.message)


def load_from_file_with_mem(path: str, work: int, work_size: int, weight: int, weight_size: int) -> tuple[int, int]:
    """The memory that a device would use stays unused."""
    return load_from_file(path)


def load_from_mem_with_mem(
    pointer: int, size: int, work: int, work_size: int, weight: int, weight_size: int
) -> tuple[int, int]:
    return load_from_mem(pointer, size)


def query_size(path: str) -> tuple[int, int, int]:
    """Bytes of work memory and of weights: nothing is needed for the one, the whole file counts as the other."""
    try:
        om.load(Path(path))
    except UserError as error:
        return 0, 0, fail(MODEL_PATH_INVALID, error.message)
    return 0, Path(path).stat().st_size, OK


def unload(model: int) -> int:
    return STATE.drop(model, Program)


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
    for port, number, shape in zip(program.inputs, dataset.buffers, shapes):
        buffer = handle(number, Buffer)
        size = size_of(shape, port.dtype)
        if buffer is None or buffer.size < size:
            raise UserError(f"input `{port.name}` has {size} bytes, its buffer {buffer.size if buffer else 0}")
        found.append(numpy.frombuffer(ctypes.string_at(buffer.pointer, size), dtype=port.dtype).reshape(shape))
    return found


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"acl.mdl.{name} is not in the stand-in of pyACL")
