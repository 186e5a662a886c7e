"""Booleans that a vectorised kernel writes: packed by the compiler, where torch's own function goes one by one.

torch stores a vector of truth values (`at::vec::VecMask::store`) through a vector of bool, which has no instructions:
sixteen values take a hundred nanoseconds. torch_npu's causal attention writes a mask of 2048 x 2048 at each call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor.codegen.cpp import CppKernelProxy, CppTile2DKernel, CppVecKernel

_PREFIX = "#include <torch/csrc/inductor/cpp_prefix.h>\n"
_STORE = """
template <typename Value> inline void jumar_store(Value value, bool* out, int count) { value.store(out, count); }
template <typename T, int N> inline void jumar_store(const at::vec::VecMask<T, N>& mask, bool* out, int count) {
  using Two = std::conditional_t<sizeof(T) == 2, int16_t, int8_t>;
  using Word = std::conditional_t<sizeof(T) == 8, int64_t, std::conditional_t<sizeof(T) == 4, int32_t, Two>>;
  constexpr int size = at::vec::VectorizedN<T, N>::size();
  alignas(64) T lanes[size];
  alignas(64) Word words[size];
  static_cast<at::vec::VectorizedN<T, N>>(mask).store(lanes);
  std::memcpy(words, lanes, sizeof(lanes));
  for (int i = 0; i < count; ++i) out[i] = words[i] != 0;
}
"""


class _CardKernel(CppVecKernel):  # type: ignore[misc]
    def _get_store_line(self, value: Any, var: str, index: Any, dtype: Any, accu_store: bool = False) -> Any:
        lines = super()._get_store_line(value, var, index, dtype, accu_store)
        if dtype != torch.bool or accu_store:
            return lines
        return lines.map(lambda line: line.replace(f"{value}.store(", f"jumar_store({value}, ", 1))


class _CardTiles(CppTile2DKernel, _CardKernel):  # type: ignore[misc]
    """Tiles of a turned tensor; a reduction over one expects it to be one of the vector kernels."""


class CardKernels(CppKernelProxy):  # type: ignore[misc]
    vec_kernel_cls = _CardKernel
    tile2d_kernel_cls = _CardTiles


def with_store(body: str) -> str:
    """The text of a kernel's definition with the function that it calls."""
    return body.replace(_PREFIX, _PREFIX + _STORE, 1) if "jumar_store(" in body else body
