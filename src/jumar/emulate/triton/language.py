"""The runtime of rewritten kernels: what Triton's compiler does with a node of their text, done with numbers."""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import triton.language as tl
from triton.language import semantic
from triton.runtime.interpreter import TensorHandle
from triton.runtime.jit import JITFunction

from jumar.emulate.triton import elementwise, lanes, reduce, together
from jumar.emulate.triton.builder import Builder
from jumar.emulate.triton.errors import Refused
from jumar.emulate.triton.numbers import value, wide
from jumar.emulate.triton.rewrite import rewritten

_BINARY = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "LShift": "lshift", "RShift": "rshift", "BitAnd": "and", "BitOr": "or", "BitXor": "xor",
}  # fmt: skip
_COMPARE = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}
_UNARY = {"USub": "neg", "Invert": "invert", "Not": "not", "UAdd": "pos"}
_IDENTITY = ("multiple_of", "max_contiguous", "max_constancy")
_LOOPS = ("range", "parallel")


class Language:
    """One per process; the state of a run is in lanes.py."""

    def __init__(self) -> None:
        self.builder = Builder()
        self._classic = "_builder" in inspect.signature(tl.core.load).parameters
        """Up to Triton 3.3, semantics was a module of functions; then it became an object."""
        self.semantic = semantic if self._classic else semantic.TritonSemantic(self.builder)
        self.context = {"_builder": self.builder} if self._classic else {"_semantic": self.semantic}
        self._functions: dict[Any, Any] = {}
        self._special = self._replacements()

    # What nodes of the text become

    def call(self, function: Any, /, *words: Any, **named: Any) -> Any:
        """A call, of a function of Triton's language, of another kernel, or of Python."""
        function = _bare(function)
        if isinstance(function, JITFunction):
            return self.function(function)(*words, **named)
        try:
            special = self._special.get(function)
        except TypeError:
            special = None
        if special is not None:
            return special(*words, **named)
        if tl.core.is_builtin(function) or _is_value(getattr(function, "__self__", None)):
            return self._builtin(function, words, named)
        if _is_library(function) and (known := elementwise.known(function.__name__)):
            return self._elementwise(known, words)
        pass_on = _wrapped if str(getattr(function, "__module__", "")).startswith("triton.") else _bare
        return _bare(function(*map(pass_on, words), **{key: pass_on(one) for key, one in named.items()}))

    def call_method(self, target: Any, name: str, /, *words: Any, **named: Any) -> Any:
        if isinstance(target, (bool, int, float)) and not hasattr(target, name):
            target = self.tensor(target)
        function = getattr(target, name)
        if isinstance(function, JITFunction) and not isinstance(target, ModuleType):
            return self.call(function, target, *words, **named)
        if isinstance(target, tl.tensor) and name in ("reduce", "associative_scan"):
            return self.call(getattr(tl, name), target, *words, **named)
        return self.call(function, *words, **named)

    def function(self, kernel: Any) -> Any:
        """The rewritten form of a kernel or of a function that kernels call."""
        key = (kernel.fn, kernel.src)
        if key not in self._functions:
            self._functions[key] = rewritten(kernel, self)
        return self._functions[key]

    def binary(self, name: str, left: Any, right: Any) -> Any:
        return self._operator(_BINARY[name], left, right)

    def unary(self, name: str, operand: Any) -> Any:
        operand, word = _bare(operand), _UNARY[name]
        if _is_value(operand):
            return operand if word == "pos" else getattr(operand, f"__{word}__")(**self.context)
        return not self.truth(operand) if word == "not" else getattr(operator, word)(operand)

    def compare(self, names: tuple[str, ...], *operands: Any) -> Any:
        """Comparisons in a row are joined, and each operand has one value."""
        found = [self._compared(name, left, right) for name, left, right in zip(names, operands, operands[1:])]
        return self.logic("And", *((lambda one=one: one) for one in found)) if len(found) > 1 else found[0]

    def logic(self, name: str, *operands: Callable[[], Any]) -> Any:
        """Python's values end the row early; tensors are joined."""
        joined: Any = None
        for operand in operands:
            one = _bare(operand())
            if not _is_value(one):
                if bool(one) == (name == "Or"):
                    return one
                last = one
            else:
                word = "logical_and" if name == "And" else "logical_or"
                joined = one if joined is None else getattr(joined, word)(one, **self.context)
        return last if joined is None else joined

    def item(self, target: Any, index: Any) -> Any:
        if isinstance(target, tl.tensor):
            return target.__getitem__(index, **self.context)
        return _bare(target[self.index(index) if isinstance(index, tl.tensor) else _bare(index)])

    def attribute(self, target: Any, name: str) -> Any:
        if name == "T" and isinstance(target, tl.tensor):
            return self.call(tl.trans, target)
        if name == "value" and not hasattr(target, "value"):
            return target
        return getattr(target, name)

    def assigned(self, given: Any) -> Any:
        """Numbers become scalars of the language when they get a name."""
        given = _bare(given)
        if isinstance(given, builtins.tuple) and type(given) is builtins.tuple:
            return builtins.tuple(self.assigned(one) for one in given)
        return self.tensor(given) if isinstance(given, (bool, int, float)) else given

    def constant(self, given: Any) -> Any:
        given = _bare(given)
        return self.scalar(given) if isinstance(given, tl.tensor) else given

    def truth(self, given: Any) -> bool:
        """What a branch depends on: programs that disagree go on apart."""
        given = _bare(given)
        return bool(self.scalar(given)) if isinstance(given, tl.tensor) else bool(given)

    def asserted(self, condition: Any, message: Any) -> None:
        """Of tensors it is `tl.device_assert`, which looks at every element."""
        condition = _bare(condition)
        if isinstance(condition, tl.tensor):
            self.call(tl.device_assert, condition, message)
        else:
            assert condition, _bare(message)

    def iterate(self, given: Any) -> Any:
        return _bare(given)

    def iterate_together(self, given: Any) -> Any:
        """A loop without `break`: programs with fewer turns sit out the others."""
        given = _bare(given)
        return given.together() if isinstance(given, together.Loop) else together.plain(given)

    def sides(self, condition: Any, other: bool) -> Iterator[bool]:
        condition = _bare(condition)
        if not isinstance(condition, tl.tensor):
            return together.plain([bool(condition)])
        return together.sides(self.per_lane(condition) != 0, other)

    def turns(self, test: Callable[[], Any]) -> Iterator[None]:
        def asked() -> Any:
            found = _bare(test())
            return self.per_lane(found) != 0 if isinstance(found, tl.tensor) else bool(found)

        return together.turns(asked)

    def chosen(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        found: Any = together.MISSING
        for side in self.sides(condition, True):
            narrowed, new = self.narrowed(), _bare(yes() if side else no())
            found = self._merge(found, new) if narrowed else new
        return found

    def narrowed(self) -> bool:
        return lanes.current().narrowed

    kept = staticmethod(together.kept)

    def merged(self, old: dict[str, Any], now: dict[str, Any], names: Iterable[str]) -> list[Any]:
        return [self._merge(old.get(name, together.MISSING), now.get(name)) for name in names]

    def _merge(self, old: Any, new: Any) -> Any:
        """A number that was a constant until here becomes a scalar, if it meets one."""
        if isinstance(new, tl.tensor) and isinstance(old, (bool, int, float)):
            old = self.tensor(old)
        if isinstance(old, tl.tensor) and isinstance(new, (bool, int, float)):
            new = self.tensor(new)
        return together.merged(old, new)

    # What they are made of

    def tensor(self, given: Any) -> Any:
        if isinstance(given, tl.tensor):
            return given
        return semantic.to_tensor(given, self.builder) if self._classic else self.semantic.to_tensor(given)

    def scalar(self, given: Any) -> Any:
        return lanes.current().agreed(self.per_lane(given)).item()

    def per_lane(self, given: Any) -> Any:
        """The number that each program has."""
        data = wide(given.handle)
        if data[0].size != 1:
            raise ValueError("a block of several values has no single truth or number: reduce it first")
        return data.reshape(-1)

    def index(self, given: Any) -> int:
        given = _bare(given)
        return int(self.scalar(given)) if isinstance(given, tl.tensor) else operator.index(given)

    def _operator(self, word: str, left: Any, right: Any) -> Any:
        left, right = _bare(left), _bare(right)
        if _is_value(left):
            return getattr(left, f"__{word}__")(_wrapped(right), **self.context)
        if _is_value(right):
            return getattr(right, f"__r{word}__")(_wrapped(left), **self.context)
        return getattr(operator, f"__{word}__")(left, right)

    def _compared(self, name: str, left: Any, right: Any) -> Any:
        left, right = _bare(left), _bare(right)
        if name in _COMPARE:
            return self._operator(_COMPARE[name], left, right)
        if name in ("Is", "IsNot"):
            return (left is right) == (name == "Is")
        return (left in right) == (name == "In")

    def _builtin(self, function: Any, words: Iterable[Any], named: dict[str, Any]) -> Any:
        """Functions of the language expect constants as its compiler hands them over."""
        return _bare(
            function(*map(_wrapped, words), **{key: _wrapped(one) for key, one in named.items()}, **self.context)
        )

    def _elementwise(self, function: Callable[..., Any], words: Iterable[Any]) -> Any:
        """A function of libdevice: of numbers that are brought to one shape."""
        tensors = [self.tensor(_bare(word)) for word in words]
        for place, other in enumerate(tensors[1:], 1):
            tensors[0], tensors[place] = self._same_shape(tensors[0], other)
        for place in range(1, len(tensors) - 1):
            _, tensors[place] = self._same_shape(tensors[0], tensors[place])
        first = tensors[0]
        data = np.asarray(function(*(wide(one.handle) for one in tensors)))
        dtype = tl.int1 if data.dtype == np.bool_ else tl.int32 if data.dtype == np.int32 else first.dtype.scalar
        shape = [int(getattr(size, "value", size)) for size in first.shape]
        return tl.tensor(value(data, dtype), tl.block_type(dtype, shape) if shape else dtype)

    def _same_shape(self, one: Any, other: Any) -> tuple[Any, Any]:
        if self._classic:
            pair: tuple[Any, Any] = semantic.broadcast_impl_value(one, other, self.builder)
            return pair
        return builtins.tuple(self.semantic.broadcast_impl_value(one, other))

    def _replacements(self) -> dict[Any, Callable[..., Any]]:
        """Functions of the language that need more than a builder."""
        found: dict[Any, Callable[..., Any]] = {
            builtins.range: self._range, builtins.print: self._print, builtins.min: self._least,
            builtins.max: self._most, tl.static_range: self._static_range, tl.static_print: print,
            tl.static_assert: self._static_assert, tl.arange: self._arange, tl.reduce: self._reduce,
            tl.associative_scan: self._scan,
        }  # fmt: skip
        found.update({getattr(tl, name): self._range for name in _LOOPS if hasattr(tl, name)})
        found.update({getattr(tl, name): lambda given, *_, **__: given for name in _IDENTITY})
        if hasattr(tl.core, "_reduce_with_indices"):
            found[tl.core._reduce_with_indices] = self._reduce_with_indices
        if hasattr(tl, "map_elementwise"):
            found[tl.map_elementwise] = self._map_elementwise
        if hasattr(tl, "condition"):
            found[tl.condition] = lambda given, **_: given
        return found

    def _arange(self, start: Any, end: Any, **_: Any) -> Any:
        """Of any length: a card needs no power of two."""
        start, end = _bare(start), _bare(end)
        if not isinstance(start, int) or not isinstance(end, int):
            raise ValueError("arange's arguments must be of type tl.constexpr")
        if end <= start:
            raise ValueError("arange's end argument must be greater than the start argument")
        return tl.tensor(self.builder.create_make_range(start, end), tl.block_type(tl.int32, [end - start]))

    def _range(self, first: Any, stop: Any = None, step: Any = None, **_: Any) -> Any:
        """The turns of a loop: programs with as many turns stay together, wherever each of them begins."""
        start, stop = (0, first) if stop is None else (first, stop)
        ends = [self.tensor(_bare(one)) for one in (start, stop, 1 if step is None else step)]
        low, high, by = (wide(one.handle).reshape(-1) for one in ends)
        turns = -((low.astype(np.int64) - high) // by)
        dtype = max((one.dtype for one in ends), key=lambda dtype: dtype.primitive_bitwidth)
        return together.Loop(turns, lambda turn: tl.tensor(value(low + turn * by, dtype), dtype))

    def _static_range(self, first: Any, stop: Any = None, step: Any = None, **_: Any) -> range:
        start, stop = (0, first) if stop is None else (first, stop)
        return range(self.index(start), self.index(stop), 1 if step is None else self.index(step))

    def _reduce(self, given: Any, axis: Any, combine_fn: Any, keep_dims: Any = False, **_: Any) -> Any:
        return reduce.reduce(given, _bare(axis), _bare(combine_fn), self.call, keep_dims=bool(keep_dims))

    def _scan(self, given: Any, axis: Any, combine_fn: Any, reverse: Any = False, **_: Any) -> Any:
        return reduce.scan(given, self.index(axis), _bare(combine_fn), self.call, reverse=bool(reverse))

    def _reduce_with_indices(self, given: Any, axis: Any, combine_fn: Any, keep_dims: Any = False, **_: Any) -> Any:
        axis, size = self.index(axis), given.shape
        place = axis % len(size)
        steps = np.arange(int(getattr(size[place], "value", size[place])), dtype=np.int32)
        shape = [len(steps) if one == place else 1 for one in range(len(size))]
        full = [int(getattr(one, "value", one)) for one in size]
        data = np.broadcast_to(steps.reshape(1, *shape), (1, *full))
        index = tl.tensor(TensorHandle(data, tl.int32), tl.block_type(tl.int32, full))
        return self._reduce((given, index), axis, combine_fn, keep_dims)

    def _map_elementwise(self, function: Any, *tensors: Any, pack: Any = 1, **_: Any) -> Any:
        """Of whole blocks: a function that branches on an element is told that it cannot."""
        if _bare(pack) != 1:
            raise Refused("`tl.map_elementwise` takes elements one by one in the emulator", "leave `pack` at 1")
        return self.call(function, *tensors)

    def _print(self, *words: Any, **named: Any) -> None:
        self.call(tl.device_print, *words, **named)

    def _least(self, *words: Any) -> Any:
        return self._extreme(tl.minimum, builtins.min, words)

    def _most(self, *words: Any) -> Any:
        return self._extreme(tl.maximum, builtins.max, words)

    def _extreme(self, tensors: Any, python: Any, words: Any) -> Any:
        if not any(isinstance(word, tl.tensor) for word in words):
            return python(*map(_bare, words))
        return functools.reduce(lambda left, right: self.call(tensors, left, right), words)

    def _static_assert(self, condition: Any, message: Any = "") -> None:
        assert self.truth(condition), message


def _bare(given: Any) -> Any:
    """Constants are plain values of Python here."""
    return given.value if isinstance(given, tl.constexpr) else given


def _wrapped(given: Any) -> Any:
    if given is None or isinstance(given, (bool, int, float, str)):
        return tl.constexpr(given)
    if type(given) in (list, tuple):
        return type(given)(_wrapped(one) for one in given)
    return given


def _is_value(given: Any) -> bool:
    """Whether operators of it ask the semantics: tensors and descriptors do, tuples and constants do not."""
    if isinstance(given, tl.tensor):
        return True
    return hasattr(given, "_flatten_ir") and type(given).__name__ not in ("constexpr", "tuple", "type")


def _is_library(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).endswith("libdevice")
