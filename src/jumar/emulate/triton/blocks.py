"""The shape of blocks: every value has the lanes as its first axis, of size one where all programs agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from jumar.emulate.triton import lanes


class Blocks(InterpreterBuilder):
    """What builds, joins and turns blocks."""

    def create_get_program_id(self, axis: int) -> Any:
        return TensorHandle(lanes.current().program(axis), tl.int32)

    def create_get_num_programs(self, axis: int) -> Any:
        return TensorHandle(np.array([lanes.current().launch.grid[axis]], np.int32), tl.int32)

    def create_make_range(self, *words: Any) -> Any:
        start, stop = _sizes(words[-2:])
        return TensorHandle(np.arange(start, stop, dtype=np.int32)[None], tl.int32)

    def create_splat(self, one: Any, other: Any) -> Any:
        """Up to Triton 3.3 the value comes first and the shape second, later the type comes first."""
        handle, shape = (one, other) if isinstance(one, TensorHandle) else (other, one.shape)
        data = handle.data.reshape(-1, *[1] * len(shape))
        return TensorHandle(np.broadcast_to(data, (len(data), *_sizes(shape))), handle.dtype.scalar)

    def create_unsplat(self, arg: Any) -> Any:
        return TensorHandle(arg.data.reshape(len(arg.data), -1)[:, 0], arg.dtype.scalar)

    def create_broadcast(self, arg: Any, shape: Any) -> Any:
        return TensorHandle(np.broadcast_to(arg.data, (len(arg.data), *_sizes(shape))), arg.dtype.scalar)

    def create_expand_dims(self, arg: Any, axis: int) -> Any:
        return TensorHandle(np.expand_dims(arg.data, axis + 1), arg.dtype.scalar)

    def create_reshape(self, arg: Any, shape: Any, allow_reorder: bool = False) -> Any:
        return TensorHandle(arg.data.reshape(len(arg.data), *_sizes(shape)), arg.dtype.scalar)

    def create_trans(self, arg: Any, perm: Any) -> Any:
        return TensorHandle(np.transpose(arg.data, (0, *(axis + 1 for axis in perm))), arg.dtype.scalar)

    def create_cat(self, lhs: Any, rhs: Any) -> Any:
        return TensorHandle(np.concatenate(same_lanes(lhs.data, rhs.data), axis=1), lhs.dtype.scalar)

    def create_join(self, lhs: Any, rhs: Any) -> Any:
        return TensorHandle(np.stack(same_lanes(lhs.data, rhs.data), axis=-1), lhs.dtype.scalar)

    def create_gather(self, src: Any, indices: Any, axis: int) -> Any:
        data, places = same_lanes(src.data, indices.data)
        return TensorHandle(np.take_along_axis(data, places, axis=axis + 1), src.dtype.scalar)

    def create_histogram(self, data: Any, bins: int, mask: Any = None) -> Any:
        """Masked numbers and those outside of the bins are counted in one more bin, which is cut off."""
        numbers = data.data.reshape(len(data.data), -1).astype(np.int64)
        counted = (numbers >= 0) & (numbers < bins)
        if mask is not None:
            counted = counted & mask.data.reshape(len(mask.data), -1)
        numbers = np.where(counted, numbers, bins)
        rows = np.arange(len(numbers))[:, None] * (bins + 1)
        counts = np.bincount((numbers + rows).reshape(-1), minlength=len(numbers) * (bins + 1))
        return TensorHandle(counts.reshape(-1, bins + 1)[:, :bins].astype(np.int32), tl.int32)

    def create_extract_slice(self, full: Any, offsets: Any, sizes: Any, strides: Any) -> Any:
        data, places = self._slice(full, offsets, sizes, strides)
        return TensorHandle(data[places], full.dtype.scalar)

    def create_insert_slice(self, full: Any, sub: Any, offsets: Any, sizes: Any, strides: Any) -> Any:
        data, places = self._slice(full, offsets, sizes, strides, len(sub.data))
        data = np.array(data)
        data[places] = sub.data
        return TensorHandle(data, full.dtype.scalar)

    def create_extract_scalar(self, src: Any, indices: Any) -> Any:
        count = max(len(src.data), *(len(index.data) for index in indices))
        rows = np.arange(count) if len(src.data) > 1 else np.zeros(count, np.int64)
        return TensorHandle(src.data[(rows, *(np.broadcast_to(i.data, count) for i in indices))], src.dtype.scalar)

    def create_flip(self, arg: Any, axis: int) -> Any:
        axis = axis + 1 if axis >= 0 else axis
        return TensorHandle(np.flip(arg.data, axis=axis), arg.dtype.scalar)

    def _slice(self, full: Any, offsets: Any, sizes: Any, strides: Any, least: int = 1) -> tuple[Any, Any]:
        count = max(len(full.data), least, *(len(offset.data) for offset in offsets))
        data = np.broadcast_to(full.data, (count, *full.data.shape[1:]))
        rank = len(offsets)
        places = [np.arange(count).reshape(-1, *[1] * rank)]
        for axis, (offset, size, stride) in enumerate(zip(offsets, _sizes(sizes), _sizes(strides))):
            steps = (np.arange(size) * stride).reshape(1, *(size if one == axis else 1 for one in range(rank)))
            places.append(offset.data.reshape(-1, *[1] * rank) + steps)
        return data, tuple(places)


def same_lanes(*arrays: Any) -> list[Any]:
    """The arrays with as many lanes each: what joins values needs all of them."""
    count = max(len(array) for array in arrays)
    return [np.broadcast_to(array, (count, *array.shape[1:])) for array in arrays]


def _sizes(shape: Any) -> list[int]:
    return [int(getattr(size, "value", size)) for size in shape]
