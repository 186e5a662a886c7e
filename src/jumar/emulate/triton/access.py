"""Loads and stores of blocks: by pointers, by block pointers and by tensor descriptors."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from jumar.emulate.triton import atomics, lanes
from jumar.emulate.triton.numbers import from_bfloat16, numpy_type, to_bfloat16

_STEPS = {
    "ADD": np.add, "FADD": np.add, "MIN": np.minimum, "UMIN": np.minimum, "MAX": np.maximum, "UMAX": np.maximum,
    "AND": np.bitwise_and, "OR": np.bitwise_or, "XOR": np.bitwise_xor, "XCHG": lambda old, new: new,
}  # fmt: skip


class Window:
    """A block of a tensor: a block pointer, or the block of a tensor descriptor at some offsets."""

    def __init__(self, base: Any, shape: Any, strides: Any, offsets: Any, block: Any, padding: Any = None) -> None:
        self.base, self.shape, self.strides, self.offsets = base, shape, strides, offsets
        self.block = [int(getattr(size, "value", size)) for size in block]
        self.padding = padding

    def moved(self, offsets: Any, *, add: bool) -> Window:
        if add:
            offsets = [
                TensorHandle(now.data + more.data.astype(now.data.dtype), now.dtype)
                for now, more in zip(self.offsets, offsets)
            ]
        return Window(self.base, self.shape, self.strides, offsets, self.block, self.padding)

    def pointers(self, checked: Any, *, below_zero: bool) -> tuple[Any, Any]:
        """The addresses of the block, and which of them are inside of the tensor along the axes that are checked."""
        rank = len(self.block)
        element = self.base.get_element_ty()
        size = max(1, element.primitive_bitwidth // 8)
        addresses, inside = _column(self.base.data, rank), np.ones((1,) * (rank + 1), bool)
        for axis, length in enumerate(self.block):
            steps = np.arange(length).reshape(1, *(length if one == axis else 1 for one in range(rank)))
            places = _column(self.offsets[axis].data, rank).astype(np.int64) + steps
            strides = _column(self.strides[axis].data, rank).astype(np.int64)
            addresses = addresses + (size * places * strides).astype(np.uint64)
            if axis in checked:
                inside = inside & (places < _column(self.shape[axis].data, rank))
                inside = inside & (places >= 0) if below_zero else inside
        addresses = np.broadcast_to(addresses, (len(addresses), *self.block))
        return TensorHandle(addresses, self.base.dtype.scalar), TensorHandle(inside, tl.int1)


class Access(InterpreterBuilder):
    """What reads and writes memory."""

    def create_addptr(self, ptr: Any, offset: Any) -> Any:
        size = max(1, ptr.get_element_ty().primitive_bitwidth // 8)
        steps = offset.data.astype(np.int64)
        steps *= size
        return TensorHandle(ptr.data + steps.view(np.uint64), ptr.dtype)

    def create_load(self, ptr: Any, *_: Any) -> Any:
        return self._load(ptr, None, None)

    def create_masked_load(self, ptrs: Any, mask: Any, other: Any, *_: Any, **__: Any) -> Any:
        return self._load(ptrs, mask, other)

    def create_store(self, ptr: Any, val: Any, *_: Any) -> None:
        self._store(ptr, val, None)

    def create_masked_store(self, ptrs: Any, val: Any, mask: Any, *_: Any, **__: Any) -> None:
        self._store(ptrs, val, mask)

    def _load(self, ptr: Any, mask: Any, other: Any) -> Any:
        group, element = lanes.current(), ptr.get_element_ty()
        dtype = numpy_type(element)
        group.check_size(ptr.data)
        taken = group.mask(_data(mask), ptr.data.ndim - 1)
        data = group.ask(lambda: group.launch.memory.load(ptr.data, taken, _data(other), dtype))
        return TensorHandle(data, element)

    def _store(self, ptr: Any, val: Any, mask: Any) -> None:
        group, dtype = lanes.current(), numpy_type(ptr.get_element_ty())
        data = val.data if val.data.dtype == dtype else val.data.astype(dtype)
        taken = group.mask(_data(mask), ptr.data.ndim - 1)
        group.ask(lambda: group.launch.memory.store(ptr.data, data, taken, dtype))

    def create_atomic_load(self, ptr: Any, mask: Any, *_: Any) -> Any:
        return self._load(ptr, mask, None)

    def create_atomic_store(self, ptr: Any, val: Any, mask: Any, *_: Any) -> None:
        self._store(ptr, val, mask)

    def create_atomic_rmw(self, op: Any, ptr: Any, val: Any, mask: Any, *_: Any) -> Any:
        group, element = lanes.current(), val.dtype.scalar
        group.launch.atomics = True
        step: Any = _STEPS[str(op).rsplit(".", 1)[-1]]
        if element == tl.bfloat16 and step in (np.add, np.minimum, np.maximum):
            step = _in_float32(step)
        dtype = val.data.dtype
        taken = group.mask(mask.data, ptr.data.ndim - 1)
        each = group.spread(ptr.data)  # every program takes its turn, with the same pointer too
        data = group.ask(lambda: atomics.update(group.launch.memory, each, val.data, taken, dtype, step))
        return TensorHandle(data, element)

    def create_atomic_cas(self, ptr: Any, cmp: Any, val: Any, *_: Any) -> Any:
        """Locks are made of this: a program that waits for another one needs that one to run to its end before."""
        group = lanes.current()
        group.narrow(1)
        wanted = np.broadcast_to(cmp.data, ptr.data.shape)
        new = np.broadcast_to(val.data, ptr.data.shape)
        taken = group.mask(None, ptr.data.ndim - 1)
        old = group.launch.memory.load(ptr.data, taken, None, cmp.data.dtype)
        group.ask(lambda: group.launch.memory.store(ptr.data, np.where(old == wanted, new, old), taken, old.dtype))
        return TensorHandle(old, cmp.dtype.scalar)

    def create_make_block_ptr(self, base: Any, shape: Any, strides: Any, offsets: Any, block: Any, order: Any) -> Any:
        return Window(base, shape, strides, offsets, block)

    def create_advance(self, ptr: Any, offsets: Any) -> Any:
        return ptr.moved(offsets, add=True)

    def create_tensor_pointer_load(self, ptr: Any, boundary_check: Any, padding: Any, *_: Any) -> Any:
        ptrs, inside = ptr.pointers(boundary_check, below_zero=False)
        return self._load(ptrs, inside, self._padding(ptrs, padding))

    def create_tensor_pointer_store(self, ptr: Any, val: Any, boundary_check: Any, *_: Any) -> None:
        ptrs, inside = ptr.pointers(boundary_check, below_zero=False)
        self._store(ptrs, val, inside)

    def create_make_tensor_descriptor(
        self, base: Any, shape: Any, strides: Any, block: Any, is_signed: bool, padding: Any = None
    ) -> Any:
        return Window(base, shape, strides, None, block, padding)

    def create_tensor_descriptor_type(self, *_: Any) -> None:
        """Types are Triton's own."""

    def create_descriptor_load(self, desc: Any, indices: Any, *_: Any) -> Any:
        ptrs, inside = desc.moved(indices, add=False).pointers(range(len(desc.block)), below_zero=True)
        return self._load(ptrs, inside, self._padding(ptrs, desc.padding))

    def create_descriptor_store(self, desc: Any, val: Any, indices: Any) -> None:
        ptrs, inside = desc.moved(indices, add=False).pointers(range(len(desc.block)), below_zero=True)
        self._store(ptrs, val, inside)

    def create_descriptor_reduce(self, kind: Any, desc: Any, val: Any, indices: Any) -> None:
        ptrs, inside = desc.moved(indices, add=False).pointers(range(len(desc.block)), below_zero=True)
        self.create_atomic_rmw(str(kind).rsplit(".", 1)[-1].upper(), ptrs, val, inside)

    def create_descriptor_gather(self, desc: Any, rows: Any, column: Any, *_: Any) -> Any:
        ptrs, inside = self._rows(desc, rows, column)
        return self._load(ptrs, inside, None)

    def create_descriptor_scatter(self, desc: Any, val: Any, rows: Any, column: Any) -> None:
        ptrs, inside = self._rows(desc, rows, column)
        self._store(ptrs, val, inside)

    def _rows(self, desc: Any, rows: Any, column: Any) -> tuple[Any, Any]:
        """The pointers of chosen rows of a tensor of two axes."""
        size = max(1, desc.base.get_element_ty().primitive_bitwidth // 8)
        row = rows.data.astype(np.int64)[:, :, None]
        places = _column(column.data, 2).astype(np.int64) + np.arange(desc.block[-1])
        steps = row * _column(desc.strides[0].data, 2) + places * _column(desc.strides[1].data, 2)
        inside = (row >= 0) & (row < _column(desc.shape[0].data, 2))
        inside = inside & (places >= 0) & (places < _column(desc.shape[1].data, 2))
        addresses = _column(desc.base.data, 2) + (size * steps).astype(np.uint64)
        return TensorHandle(addresses, desc.base.dtype.scalar), TensorHandle(inside, tl.int1)

    def _padding(self, ptrs: Any, padding: Any) -> Any:
        if padding != ir.PADDING_OPTION.PAD_NAN:
            return None
        element = ptrs.get_element_ty()
        nan = np.array([np.nan], np.float32)
        data = to_bfloat16(nan) if element == tl.bfloat16 else nan.astype(numpy_type(element))
        return TensorHandle(data.reshape(1, *[1] * (ptrs.data.ndim - 1)), element)


def _column(data: Any, rank: int) -> Any:
    return data.reshape(-1, *[1] * rank)


def _data(handle: Any) -> Any:
    return None if handle is None else handle.data


def _in_float32(step: Any) -> Any:
    return lambda old, new: to_bfloat16(step(from_bfloat16(old), from_bfloat16(new)))
