"""The work of convolutions: profiles have the shapes that go in, and what comes out must be found elsewhere.

In this order: from strides and padding where the trace has them (`Concrete Inputs` of torch 2.1 and newer); from the
backward pass, which reads the gradient of the result; from the operator that reads the result next.
"""

from __future__ import annotations

import ast
import re

from jumar.perf.profile import HostOp
from jumar.perf.roofline import Shape, Tensor, operations

_FORWARD = re.compile(r"(?:aten|npu)::_?convolution(?:_overrideable)?")
_BACKWARD = re.compile(r"(?:aten|npu)::convolution_backward(?:_overrideable)?")
_NEXT = 12
"""Operators after a convolution among which one that reads its result is looked for."""
_STRIDE, _PADDING, _DILATION, _TRANSPOSED = 3, 4, 5, 6
"""Places in the arguments of `aten::convolution`."""


class Convolutions:
    """Those of one profile; `shapes` are those of the inputs of each host operator."""

    def __init__(self, host: list[HostOp], parents: list[int], shapes: list[list[Shape]]) -> None:
        self._host, self._parents, self._shapes = host, parents, shapes
        self._results: dict[tuple[Shape, Shape], set[Shape]] = {}
        for index, op in enumerate(host):
            if _BACKWARD.fullmatch(op.name) and len(shapes[index]) >= 3:
                result, given, weight = shapes[index][:3]
                self._results.setdefault((given, weight), set()).add(result)

    def work(self, index: int) -> float:
        """Operations of a host operator; 0 if it is no convolution, or its result is not known."""
        name = self._host[index].name
        tensors = [Tensor(shape, "float16") for shape in self._shapes[index] if len(shape) > 2]
        if _BACKWARD.fullmatch(name):
            return 2 * self._forward(tensors[1], tensors[2], tensors[0].shape, index) if len(tensors) >= 3 else 0.0
        if not _FORWARD.fullmatch(name) or len(tensors) < 2:
            return 0.0
        result = self._result(index, tensors[0].shape, tensors[1].shape)
        return self._forward(tensors[0], tensors[1], result, index) if result else 0.0

    def _forward(self, given: Tensor, weight: Tensor, result: Shape, index: int) -> float:
        if self._is_transposed(index):  # every value that goes in meets the whole kernel
            return operations("convolution", [given, weight], [given])
        return operations("convolution", [given, weight], [Tensor(result, "float16")])

    def _is_transposed(self, index: int) -> bool:
        told = _arguments(self._host[index].concrete)
        if len(told) > _TRANSPOSED:
            return told[_TRANSPOSED] == "True"
        around = self._parents[index]
        return around >= 0 and "conv_transpose" in self._host[around].name

    def _result(self, index: int, given: Shape, weight: Shape) -> Shape | None:
        if self._is_transposed(index):
            return given
        told = _computed(_arguments(self._host[index].concrete), given, weight)
        if told is not None:
            return told
        seen = self._results.get((given, weight), set())
        return next(iter(seen)) if len(seen) == 1 else self._read_next(index, given, weight)

    def _read_next(self, index: int, given: Shape, weight: Shape) -> Shape | None:
        """The shape of the next operator's input that has this batch and these channels."""
        end, left = self._host[index].end, _NEXT
        for later in range(index + 1, len(self._host)):
            op = self._host[later]
            if op.start < end or op.thread != self._host[index].thread:
                continue
            for shape in self._shapes[later]:
                if len(shape) == len(given) and (shape[0], shape[1]) == (given[0], weight[0]):
                    return shape
            left -= 1
            if not left:
                break
        return None


def _arguments(text: str) -> list[str]:
    try:
        found = ast.literal_eval(text) if text else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [str(item) for item in found] if isinstance(found, list) else []


def _computed(told: list[str], given: Shape, weight: Shape) -> Shape | None:
    """By the formula of torch.nn.Conv2d, for any number of axes."""
    if len(told) <= _DILATION or len(given) != len(weight):
        return None
    sizes, kernel = given[2:], weight[2:]
    lists = [[int(word) for word in re.findall(r"\d+", told[place])] for place in (_STRIDE, _PADDING, _DILATION)]
    if not all(lists):
        return None
    stride, padding, dilation = (one * len(sizes) if len(one) == 1 else one for one in lists)
    if any(len(one) != len(sizes) for one in (stride, padding, dilation)) or 0 in stride:
        return None
    spatial = tuple(
        (sizes[axis] + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1) // stride[axis] + 1
        for axis in range(len(sizes))
    )
    return (given[0], weight[0], *spatial)
