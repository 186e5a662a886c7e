"""CUDA and C++ sources: kernels, launches and bindings by pattern, with comments blanked out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_COMMENT = re.compile(rb"//[^\r\n]*|/\*.*?\*/|\"(?:[^\"\\\r\n]|\\.)*\"", re.S)
_KERNEL = re.compile(
    rb"__global__\s+(?:[\w:<>,\s*&]|__\w+__\s*(?:\((?:[^()]|\([^()]*\))*\))?)*?\b(?!__\w+__\s*\()(\w+)\s*\("
)
_LAUNCH = re.compile(rb"\b(\w+)\s*(?:<[^<>;{}]*>)?\s*<<<")
_BINDING = re.compile(rb"\b(?:PYBIND11_MODULE|TORCH_LIBRARY(?:_IMPL|_FRAGMENT)?)\s*\(\s*([\w:]+)")
_DEFINED = re.compile(rb"\bm\s*\.\s*(?:def|impl)\s*\(\s*\"([\w:]+)")
_CALL = re.compile(
    rb"\b(?:cuda[A-Z]\w*|cu(?:blas|dnn|fft|rand|solver|sparse)\w*|nccl[A-Z]\w*|at::cuda::\w+|c10::cuda::\w+|cub::\w+|thrust::\w+|nvcuda::\w+)"
)


class Item(NamedTuple):
    kind: str
    """`kernel`, `launch`, `binding`, `defined` or `call`."""
    name: str
    start: int
    end: int


def items(data: bytes) -> Iterator[Item]:
    """What ties a source to CUDA, by place."""
    code = _COMMENT.sub(_blank, data)
    found = [
        Item(kind, match.group(group).decode(), *match.span(group))
        for kind, pattern, group in (
            ("kernel", _KERNEL, 1),
            ("launch", _LAUNCH, 1),
            ("binding", _BINDING, 1),
            ("call", _CALL, 0),
        )
        for match in pattern.finditer(code)
    ]
    found += [Item("defined", match.group(1).decode(), *match.span(1)) for match in _DEFINED.finditer(data)]
    return iter(sorted(found, key=lambda item: item.start))


def _blank(match: re.Match[bytes]) -> bytes:
    """Comments and strings become blanks of the same length; line ends stay."""
    return re.sub(rb"[^\r\n]", b" ", match.group())
