"""Packages made for CUDA, where they are imported and where a function with an answer of its own is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.around import Place, about_option
from jumar.migrate.passes.torch import shapes
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Site
from jumar.tables.third_party import Recipe, recipe, roots

RULE = Rule(
    id="PT200",
    name="cuda-package",
    summary="a package that is made for CUDA",
    keywords=("_cuda",),
    words=tuple(root.lower() for root in roots()),
    roots=roots(),
    known=lambda facts: facts.extensions,
    site=Site.PACKAGE,
)
_GUARDED = "; the import is guarded, so without it the program takes its other branch"
_IMPORTERS = {"import_module", "find_spec", "importorskip", "__import__", "version", "_is_package_available"}
_PACKAGE_TEXT = re.compile(
    r"(flash[-_]attn|xformers|triton|bitsandbytes|transformer[-_]engine|cupy|pynvml|causal[-_]conv1d|mamba[-_]ssm)"
    r"(?:[.=<>~!\[ ].*)?"
)
_EXTENSION = re.compile(r"(?:.*_)?cuda(?:_.*)?|.*_cuda")
_BUILT_NOTE = "the project compiles it from its own CUDA sources"
_BUILT_FIX = "use operators of torch or torch_npu that do the same, or write its kernels in Ascend C"


def visit_Import(node: ast.Import, file: PyFile) -> Iterator[Finding]:
    for alias in node.names:
        if not _is_built(alias.name, file):
            yield from _imported(node, alias, alias.name, file)
        else:
            yield _report(alias, alias.name, _built(alias.name), file, _guard(node, file))


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    module = "." * node.level + (node.module or "")
    names = [alias for alias in node.names if _is_built(f"{module}.{alias.name}", file)]
    if names or _is_built(module, file):
        name = f"{module}.{names[0].name}" if names else module
        yield _report(file.source.span(node), name.lstrip("."), _built(name), file, _guard(node, file))
        return
    if node.level or node.module is None or node.module.partition(".")[0] not in _ROOTS:
        if not node.level and node.module and _EXTENSION.fullmatch(node.module):
            yield from _imported(node, node, node.module, file)
        return
    whole = recipe(node.module)
    own = [(alias, row) for alias in node.names if (row := recipe(f"{node.module}.{alias.name}")) is not whole]
    if whole is not None and len(own) < len(node.names):
        yield from _imported(node, node, node.module, file)
    for alias, row in own:
        if row is not None:
            yield from _imported(node, alias, f"{node.module}.{alias.name}", file)


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    row = recipe(name)
    if row is None or name.partition(".")[0] in file.settings.facts.own_modules:
        return
    first = node
    while isinstance(first, ast.Attribute):
        first = first.value
    base = file.name(first) or ""
    up = file.parent(node)
    is_call = isinstance(up, ast.Call) and up.func is node
    is_kernel = name in ("triton.jit", "triton.autotune", "numba.cuda.jit")
    if is_kernel or (row.name.count(".") > base.count(".")) or (is_call and row.name == name):
        yield _report(node, name, row, file, _GUARDED if _is_tried(first, file) else "")


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    """`find_spec("apex")`, `"bitsandbytes.optim.Adam"`, `"flash-attn>=2.0"`, `choices=["triton", "torch"]`."""
    value = node.value
    if not isinstance(value, str) or not 2 < len(value) < 60 or (value[0] not in "fxtbcpm" and value not in _ROOTS):
        return
    match = _PACKAGE_TEXT.fullmatch(value)
    call = shapes.call_of(node, file) if value in _ROOTS else None
    is_import = call is not None and shapes.last_word(call.func) in _IMPORTERS
    if (match is None and not is_import) or node in file.docstrings or shapes.is_text(node, file):
        return
    name = match.group(1).replace("-", "_") if match else value
    row = recipe(name)
    if row is not None and name not in file.settings.facts.own_modules:
        yield _report(node, name, row, file, "" if is_import else "; this string names it")


def _is_tried(name: ast.expr, file: PyFile) -> bool:
    """Do all imports of a name stand in a `try` that catches their failure?"""
    known = file.index.scope[name].lookup(name.id) if isinstance(name, ast.Name) else None
    imports = [one.node for one in known[1] if isinstance(one.node, (ast.Import, ast.ImportFrom))] if known else []
    return bool(imports) and all(shapes.guarded_import(one, file) for one in imports)


def _is_built(name: str, file: PyFile) -> bool:
    """Is this a module that the project compiles? Of a relative import only the end of its name is known."""
    built = file.settings.facts.extensions
    if not name.startswith("."):
        return name in built
    return any(one.endswith(f".{name.lstrip('.')}") for one in built)


def _built(name: str) -> Recipe:
    return Recipe(name, State.UNSUPPORTED, _BUILT_NOTE, _BUILT_FIX)


def _imported(node: ast.stmt, at: ast.alias | ast.stmt, name: str, file: PyFile) -> Iterator[Finding]:
    root = name.partition(".")[0]
    if root in file.settings.facts.own_modules:
        return
    row = recipe(name) if root in _ROOTS else None
    if row is None and _EXTENSION.fullmatch(root) and not root.startswith("torch"):
        row = Recipe(root, State.UNSUPPORTED, "by its name a compiled CUDA extension", "port it, or use plain torch")
    if row is not None:
        span = at if isinstance(at, ast.alias) else file.source.span(node)
        yield _report(span, name, row, file, _guard(node, file))


def _report(at: ast.expr | ast.alias | tuple[int, int], name: str, row: Recipe, file: PyFile, guard: str) -> Finding:
    state = State.FALLBACK if guard == _GUARDED and row.state is not State.BENIGN else row.state
    return file.report(RULE, at, state, f"`{name}`: {row.note}{guard}", row.fix, subject=name)


def _guard(node: ast.stmt, file: PyFile) -> str:
    return _GUARDED if shapes.guarded_import(node, file) else ""


_ROOTS = frozenset(roots())


def noise(finding: Finding, place: Place) -> str:
    return about_option(place)
