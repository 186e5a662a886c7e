"""What Triton's own semantics builds instead of code: numbers, for all programs of a group at once.

Type rules, broadcasting and checks stay Triton's: its semantics calls a builder, and its interpreter brings one for
numpy arrays and one program. This one has the programs as first axis, and numbers as a card has them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime.interpreter import InterpreterOptions, TensorHandle

from jumar.emulate.triton import elementwise, lanes
from jumar.emulate.triton.access import Access
from jumar.emulate.triton.blocks import Blocks
from jumar.emulate.triton.errors import Refused
from jumar.emulate.triton.numbers import from_bfloat16, numpy_type, to_bfloat16, value, wide

PRECISIONS = ("ieee", "tf32", "tf32x3", "hf32", "bf16x3", "bf16x6")
_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
_BIT_ARITHMETIC = {np.add, np.subtract, np.multiply}


class Builder(Access, Blocks):
    """Computes as it builds."""

    def __init__(self) -> None:
        super().__init__()
        known = {name.lower() for name in dir(ir.INPUT_PRECISION)}
        wanted = (*InterpreterOptions().allowed_dot_input_precisions, *PRECISIONS)
        allowed = tuple(dict.fromkeys(one for one in wanted if one in known))
        self.options = dataclasses.replace(
            InterpreterOptions(),
            debug=True,
            sanitize_overflow=False,
            default_dot_input_precision="ieee",
            allowed_dot_input_precisions=allowed,
        )
        self.codegen_fns["min_dot_size"] = lambda lhs, rhs: (1, 1, 1)

    def binary_op(self, lhs: Any, rhs: Any, op: Any) -> Any:
        left, right = wide(lhs), wide(rhs)
        if op in _COMPARISONS:
            return TensorHandle(op(left, right), tl.int1)
        if left.dtype == np.bool_ and op in _BIT_ARITHMETIC:
            return TensorHandle((op(left.astype(np.int8), right.astype(np.int8)) & 1).astype(np.bool_), tl.int1)
        return value(op(left, right), lhs.dtype)

    def unary_op(self, arg: Any, op: Any) -> Any:
        return value(op(wide(arg)), arg.dtype)

    def ternary_op(self, lhs: Any, rhs: Any, other: Any, op: Any) -> Any:
        if op is np.where:
            return TensorHandle(op(lhs.data, rhs.data, other.data), other.dtype.scalar)
        return value(op(wide(lhs), wide(rhs), wide(other)), other.dtype)

    create_minnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin)  # noqa: E731 like the base class
    create_maxnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax)  # noqa: E731
    create_mod = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmod)  # noqa: E731
    create_tanh = lambda self, arg: self.unary_op(arg, np.tanh)  # noqa: E731

    def create_idiv(self, lhs: Any, rhs: Any) -> Any:
        """Towards zero, as processors divide; a division by zero is undefined and gives zero."""
        left, right = lhs.data, rhs.data
        if left.dtype.kind == "u":
            return value(left // right, lhs.dtype)
        return value((left - np.fmod(left, right)) // right, lhs.dtype)

    def create_ashr(self, lhs: Any, rhs: Any) -> Any:
        signed = np.dtype(f"i{lhs.data.dtype.itemsize}")
        return value(lhs.data.view(signed) >> rhs.data.astype(signed), lhs.dtype)

    def create_clampf(self, arg: Any, low: Any, high: Any, propagate_nans: Any) -> Any:
        data = wide(arg)
        if propagate_nans == ir.PROPAGATE_NAN.NONE:
            return value(np.fmin(np.fmax(data, wide(low)), wide(high)), arg.dtype)
        return value(np.clip(data, wide(low), wide(high)), arg.dtype)

    def create_fma(self, x: Any, y: Any, z: Any) -> Any:
        """Rounded once: the product of two float32 is exact in float64."""
        exact = np.multiply(wide(x), wide(y), dtype=np.float64)
        return value(exact + wide(z), z.dtype)

    def create_rsqrt(self, arg: Any) -> Any:
        return value(1 / np.sqrt(wide(arg)), arg.dtype)

    def create_erf(self, arg: Any) -> Any:
        return value(elementwise.FUNCTIONS["erf"](wide(arg)), arg.dtype)

    def cast_impl(self, src: Any, dst_type: Any) -> Any:
        return value(wide(src), dst_type)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        types = {src.dtype.scalar, dst_type.scalar}
        if rounding_mode == ir.ROUNDING_MODE.RTZ and types == {tl.float32, tl.bfloat16}:
            return TensorHandle((src.data.view(np.uint32) >> 16).astype(np.uint16), tl.bfloat16)
        if any(one.is_fp8() for one in types):
            return self._fp8(src, dst_type.scalar, rounding_mode)
        if rounding_mode == ir.ROUNDING_MODE.RTZ:
            return super().create_fp_to_fp(src, dst_type, rounding_mode)
        return self.cast_impl(src, dst_type)

    def _fp8(self, src: Any, dtype: Any, rounding_mode: Any) -> Any:
        """The base class converts bits and knows neither bfloat16 nor non-contiguous arrays."""
        if src.dtype.scalar == tl.bfloat16:
            src = TensorHandle(from_bfloat16(src.data), tl.float32)
        if dtype != tl.bfloat16:
            return super().create_fp_to_fp(src, dtype, rounding_mode)
        found = super().create_fp_to_fp(src, tl.float32, rounding_mode)
        return TensorHandle(to_bfloat16(found.data), tl.bfloat16)

    def create_bitcast(self, src: Any, dst_type: Any) -> Any:
        if dst_type.scalar.is_ptr() and not src.dtype.scalar.is_ptr():
            lanes.current().launch.memory.checked = False
        wanted = numpy_type(dst_type)
        same_size = src.data.dtype.itemsize == wanted.itemsize
        return TensorHandle(src.data.view(wanted) if same_size else src.data.astype(wanted), dst_type.scalar)

    create_int_to_ptr = create_bitcast
    create_ptr_to_int = create_bitcast

    def create_dot(self, a: Any, b: Any, d: Any, input_precision: Any, max_num_imprecise_acc: Any) -> Any:
        lanes.current().launch.uses_dot = True
        left, right = self._factor(a), self._factor(b)
        if left.dtype.kind in "iu":
            product = np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(d.data.dtype)
        else:
            product = np.matmul(left, right, dtype=np.float64 if left.dtype == np.float64 else np.float32)
        return value(product + wide(d), d.dtype)

    def _factor(self, handle: Any) -> Any:
        if handle.dtype.scalar.is_fp8():
            return super().create_fp_to_fp(handle, tl.float16, None).data
        return wide(handle)

    def create_sort(self, arg: Any, axis: int, descending: Any) -> Any:
        axis = axis + 1 if axis >= 0 else axis
        ordered = np.sort(wide(arg), axis=axis)
        return value(np.flip(ordered, axis) if getattr(descending, "value", descending) else ordered, arg.dtype)

    def create_extern_elementwise(self, lib: str, path: str, symbol: str, args: Any, ret_type: Any, pure: bool) -> Any:
        return elementwise.by_symbol(symbol, args, ret_type)

    def create_inline_asm(self, asm: str, *_: Any) -> Any:
        raise Refused(
            f"the emulator does not run inline assembly: `{asm.strip().splitlines()[0]}`",
            "write it with operators of tl",
        )

    def create_print(self, prefix: str, hex: bool, values: Any, isSigned: Any) -> None:
        group = lanes.current()
        style: Any = {"formatter": {"int": lambda number: f"{number:#x}"}} if hex else {}
        for lane in range(group.width):
            if group.active is not None and not group.active[lane]:
                continue
            where = ", ".join(str(group.program(axis)[lane]) for axis in range(3))
            for one in values:
                row = wide(one)[lane if len(one.data) > 1 else 0]
                print(f"({where}){prefix} {np.array2string(np.asarray(row), **style)}")

    def create_assert(self, condition: Any, message: str) -> None:
        group = lanes.current()
        if group.taking(condition.data).all():
            return
        launch = group.launch
        if launch.debug:
            raise AssertionError(message)
        launch.broken.setdefault(str(message), None)

    def create_assume(self, condition: Any) -> None:
        pass

    def get_bf16(self, number: float) -> Any:
        return TensorHandle(to_bfloat16(np.array([number], np.float32)), tl.bfloat16)

    def get_int1_ty(self) -> Any:
        return tl.int1

    def get_all_ones_value(self, type: Any) -> Any:
        wanted = numpy_type(type)
        ones = np.ones(1, np.bool_) if wanted == np.bool_ else np.array([-1]).astype(wanted)
        return TensorHandle(ones, type.scalar)

    get_unit_attr = get_int32_attr = get_bool_attr = get_str_attr = get_i64_array_attr = lambda *_: None

    def create_annotation(self, *_: Any) -> None:
        pass

    def create_custom_op_for_inter_core_sync(self, name: str, *_: Any) -> None:
        """The cores of a card wait for each other; here a program runs on one."""


def _watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Every value is looked at once: groups get smaller where values get large, and limits count what is alive."""

    @functools.wraps(method)
    def build(self: Builder, *words: Any, **more: Any) -> Any:
        answer = method(self, *words, **more)
        if lanes.running():
            group = lanes.current()
            if isinstance(answer, TensorHandle):
                group.check_size(answer.data)
            if group.launch.watch is not None:
                group.launch.watch.built(name, words, answer)
        return answer

    return build


for _name in dir(Builder):
    if _name.startswith("create_"):
        setattr(Builder, _name, _watched(_name, getattr(Builder, _name)))
