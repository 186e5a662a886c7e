"""Calls that only CUDA tensors may reach: compiled extensions, triton kernels, packages made for CUDA.

A test for CUDA in front of one stays as it is: NPU tensors then take the other branch, which is the right one until
the kernel is ported.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence

from jumar.core.finding import State
from jumar.migrate.look import Text
from jumar.migrate.passes.torch import shapes
from jumar.migrate.passes.torch.units import reach
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Facts
from jumar.tables.third_party import recipe, recipes, roots

_KERNEL = re.compile(r"(^|[._])(_C|_ext|ext|ext_module|cuda|kernels?|ops_cuda)($|\.)|_cuda$|_cuda\.|_ext\.|_C\.")
_OWN = re.compile(
    r"(?:.*_)?(?:cuda|triton)(?:_(?:forward|backward|fwd|bwd|kernel|impl|op))?|cuda_\w*(?:forward|kernel)"
)
# `move_to_cuda`, `set_cuda_device`: the name of what is done for CUDA, not of a kernel.
_NO_KERNEL = re.compile(
    r"(?:.*_)?(?:to|on|in|move|sync|seed|set|init|is|has|get|use|using|check|require[sd]?|skip|only|with|no|if|clear|"
    r"empty|test|available|support(?:s|ed)?|send|setup|warm_?up)_(?:cuda|triton)(?:_.*)?|cuda|triton|_?(?:cuda|triton)"
)
_LOADERS = {"load_inline", "get_plugin", "get_kernel"}
_TORCH_OPS = {"aten", "prims", "npu", "c10d", "_c10d_functional", "quantized", "profiler", "higher_order", "prim"}
_ROOTS = frozenset(roots())
_DEPTH = 3

_BUILT = re.compile(rb"triton\.jit|@jit\b|cpp_extension|ext_module|_C\b|_ext\b|_cuda\b|get_plugin")
_BUILT_WORDS = (b"jit", b"cpp_extension", b"ext_module", b"_C", b"_ext", b"_cuda", b"get_plugin")
"""One of these is in every text that the pattern finds."""
_DEFINITION = re.compile(rb"^(?:def|class) (\w+)[^\n]*\n((?:[ \t)][^\n]*\n|\r?\n|#[^\n]*\n)*)", re.M)
_LAUNCH = re.compile(
    rb"\b\w+\[[^\]\n]*(?:grid|programs|blocks)[^\]\n]*\]\(|(?<![.\w])(?:_C|ext_module|_ext|\w+_cuda|_plugin)\.\w+\("
)
# yacs keeps a program's defaults under the name `_C`.
_CONFIG = re.compile(rb"^_C\s*=|(?:config|defaults|CfgNode)\w* import[^\n]*\b_C\b|import _C as", re.M)
_EXTENSION = re.compile(rb"""\bCUDAExtension\(\s*(?:name\s*=\s*)?["']([A-Za-z_][\w.]*)["']""")
_CUDA_ONLY = frozenset(
    name.encode() for name, row in recipes().items() if row.state is State.UNSUPPORTED and "." not in name
)
_TRY = re.compile(rb"^try:[^\n]*\n((?:[ \t][^\n]*\n|[ \t]*\r?\n)+)except", re.M)
_IMPORTED = re.compile(rb"^[ \t]+(?:import|from)[ \t]+(\w+)", re.M)
_INNER = re.compile(rb"^(?:    |\t)def[ \t]+(\w+)", re.M)
_TESTED = re.compile(rb"\.is_cuda\b|device\.type|available|usable|fallback")


def prepare(facts: Facts, texts: Iterable[Text]) -> Facts:
    """The functions and classes of the project that start a kernel, and the modules that it compiles for CUDA."""
    found = {name for text in texts for name in text.tells("kernels", _starting)}
    found |= {name for text in texts for name in text.tells("optional kernels", _optional)}
    built = {name for text in texts for name in text.tells("CUDA extensions", _extensions)}
    return dataclasses.replace(facts, kernels=frozenset(found), extensions=frozenset(built))


def _optional(raw: bytes) -> list[str]:
    """Functions that a `try` defines around a package for CUDA: `def fused_loss` beside `fused_loss = None`."""
    if b"\ntry:" not in raw or not any(root in raw for root in _CUDA_ONLY):
        return []
    return [
        name.decode()
        for block in _TRY.findall(raw)
        if any(root in _CUDA_ONLY for root in _IMPORTED.findall(block))
        for name in _INNER.findall(block)
        if re.search(rb"^[ \t]+%s[ \t]*=[ \t]*None\b" % name, raw, re.M)
    ]


def _extensions(raw: bytes) -> list[str]:
    if b"CUDAExtension(" not in raw:
        return []
    return [match.group(1).decode() for match in _EXTENSION.finditer(raw)]


def _starting(raw: bytes) -> list[str]:
    if not any(word in raw for word in _BUILT_WORDS) or not _BUILT.search(raw) or _CONFIG.search(raw):
        return []
    return [
        match.group(1).decode()
        for match in _DEFINITION.finditer(raw)
        if _LAUNCH.search(match.group(2)) and not _TESTED.search(match.group(2))
    ]


def first(nodes: Iterable[ast.AST], file: PyFile, skip: Sequence[ast.AST] = (), depth: int = _DEPTH) -> str | None:
    """The name of the first kernel that runs in this code, also in functions of the file that it calls."""
    for call in _calls(nodes, skip):
        name = _kernel(call, file)
        if name is not None:
            return name
        if depth:
            for inner in reach.called(call, file):
                found = first(inner.body, file, skip, depth - 1)
                if found is not None:
                    return found
    return None


def _calls(nodes: Iterable[ast.AST], skip: Sequence[ast.AST]) -> Iterator[ast.Call]:
    todo = list(nodes)
    while todo:
        node = todo.pop(0)
        if any(node is one for one in skip):
            continue
        if isinstance(node, ast.Call):
            yield node
        todo[:0] = list(ast.iter_child_nodes(node))


def _kernel(call: ast.Call, file: PyFile) -> str | None:
    func = call.func
    if isinstance(func, ast.Subscript):
        return _launched(func, file)
    name = file.name(func)
    last = shapes.last_word(func)
    if name is None:
        if isinstance(func, ast.Attribute) and _is_loaded(func.value, file):
            return f"{shapes.last_word(func.value)}.{last}"
        is_own = isinstance(func, ast.Name) or (isinstance(func, ast.Attribute) and _is_self(func.value))
        return last if is_own and _OWN.fullmatch(last) and not _NO_KERNEL.fullmatch(last) else None
    if name.startswith("torch."):
        words = name.split(".")
        is_built = words[1] == "ops" and len(words) > 3 and words[2] not in _TORCH_OPS
        return name if is_built else None
    return name if _is_imported(name, last, file) else None


def _is_imported(name: str, last: str, file: PyFile) -> bool:
    root = name.strip(".").partition(".")[0]
    facts = file.settings.facts
    if name.rpartition(".")[0].lstrip(".") in facts.extensions:
        return True
    is_ours = name.startswith(".") or root in facts.own_modules
    if last in facts.kernels and (is_ours or not facts.own_modules):
        return True
    if not is_ours and root in _ROOTS:
        row = recipe(name)
        return row is not None and row.state is State.UNSUPPORTED
    is_config = ".defaults." in name or "config" in name
    return bool(_KERNEL.search(name)) and not _NO_KERNEL.fullmatch(last) and not is_config


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _launched(func: ast.Subscript, file: PyFile) -> str | None:
    """`kernel[grid](x)` of triton or numba."""
    last = shapes.last_word(func.value)
    name = file.name(func.value) or ""
    is_jit = last in file.settings.facts.kernels or (file.imports("triton") or file.imports("numba"))
    return name or last if last and (is_jit or last.endswith("_kernel")) else None


def _is_loaded(node: ast.expr, file: PyFile) -> bool:
    """Is this variable given what a compiler of extensions returns?"""
    if not isinstance(node, ast.Name):
        return False
    known = file.index.scope[node].lookup(node.id)
    values = [binding.value for binding in known[1]] if known is not None else []
    calls = [value.func for value in values if isinstance(value, ast.Call)]
    return any(
        shapes.last_word(func) in _LOADERS or (file.name(func) or "").startswith("torch.utils.cpp_extension.")
        for func in calls
    )
