"""The launch of a Triton kernel: its grid against the cores of an NPU, its block sizes against their memory.

triton-ascend's migration guide (docs/en/migration_guide, 2026): at most 65,535 programs in all dimensions together, as
many as there are cores for speed, rows of 32 bytes, 192 KB of on-chip memory on A2.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.packs.python_rows import literal
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PK241",
    name="triton-grid",
    summary="the grid and block sizes of a Triton kernel against the cores and memory of an NPU",
    keywords=(),
    words=("triton",),
)
_MOST_PROGRAMS = 65_535
_MEMORY = 192 * 1024
_ROW = 32
_BYTES = 4
"""Of an element, when nothing is known of its type."""
_SIZE = ("BLOCK", "TILE", "XBLOCK", "RBLOCK")


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not isinstance(node.func, ast.Subscript) or not file.imports("triton"):
        return
    kernel = node.func.value
    if not isinstance(kernel, (ast.Name, ast.Attribute)) or not _is_kernel(node, kernel, file):
        return
    yield from _grid(node.func.slice, file)
    sizes = {name: size for name, size in _sizes(node, file).items() if size > 0}
    for name, size in sizes.items():
        if size * _BYTES < _ROW:
            message = f"`{name}={size}`: rows shorter than {_ROW} bytes are padded, which costs time and memory"
            fix = f"make it a multiple of {_ROW // _BYTES} for float32, {_ROW // 2} for half"
            yield file.report(RULE, node.func, State.BENIGN, message, fix, subject=name)
    whole = math.prod(sizes.values()) if len(sizes) <= 2 else 0
    if whole * _BYTES > _MEMORY:
        shown = " x ".join(f"{name}={size}" for name, size in sizes.items())
        message = (
            f"{shown}: a block of float32 takes {whole * _BYTES // 1024} KB of the 192 KB that a core of an A2 has"
        )
        fix = "walk over the block in smaller parts inside the kernel (`ub overflow` is the compiler's word for it)"
        yield file.report(RULE, node.func, State.HAND, message, fix, subject="block")


def _grid(grid: ast.expr, file: PyFile) -> Iterator[Finding]:
    parts = grid.elts if isinstance(grid, ast.Tuple) else [grid]
    known = [int(text) for part in parts if (text := literal(part, file)) is not None and text.isdigit()]
    if math.prod(known) > _MOST_PROGRAMS:
        message = f"a grid of {math.prod(known):,} programs: an NPU takes at most {_MOST_PROGRAMS:,}"
        fix = "make the blocks larger, or set `TRITON_ALL_BLOCKS_PARALLEL=1`"
        yield file.report(RULE, grid, State.HAND, message, fix, subject="grid")
    elif len(known) < len(parts) and RULE.id not in file.said and not _knows_cores(file):
        file.said.add(RULE.id)
        message = (
            "the grid grows with the data: an NPU takes at most 65,535 programs, and is fastest with one for each core"
        )
        fix = "let each program walk over several blocks, or set `TRITON_ALL_BLOCKS_PARALLEL=1`"
        yield file.report(RULE, grid, State.BENIGN, message, fix, subject="grid")


def _knows_cores(file: PyFile) -> bool:
    """Is the file written for NPUs already?"""
    return b"npu" in file.source.data or "ascend" in file.source.path.lower()


def _is_kernel(node: ast.Call, kernel: ast.expr, file: PyFile) -> bool:
    """Is it a function under `@triton.jit` of this file, or is it called with sizes and options of kernels?"""
    if isinstance(kernel, ast.Name):
        found = file.index.scope[kernel].lookup(kernel.id)
        for binding in found[1] if found is not None else ():
            if isinstance(binding.node, ast.FunctionDef):
                return any("jit" in ast.unparse(each) for each in binding.node.decorator_list)
    words = {keyword.arg or "" for keyword in node.keywords}
    return any(word.startswith(_SIZE) for word in words) or bool(words & {"num_warps", "num_stages"})


def _sizes(node: ast.Call, file: PyFile) -> dict[str, int]:
    """Block sizes that the launch itself names with a number."""
    found = {}
    for keyword in node.keywords:
        text = literal(keyword.value, file) if (keyword.arg or "").startswith(_SIZE) else None
        if keyword.arg is not None and text is not None and text.isdigit():
            found[keyword.arg] = int(text)
    return found
