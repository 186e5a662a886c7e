"""`--to agnostic`: `torch.accelerator` where it is enough, else the generated module `jumar_device`."""

from __future__ import annotations

import ast
import posixpath

from jumar.core.compat import MatchValue
from jumar.core.edit import Edit
from jumar.migrate import copied
from jumar.migrate.document import Change
from jumar.migrate.passes.torch.styles.change import Use
from jumar.migrate.pyfile import PyFile
from jumar.tables.apis import FLAT, Row, version

HELPER = "jumar_device"
_AMP_MODULES = ("autocast_mode", "grad_scaler", "common")


def needs(file: PyFile) -> tuple[str, ...]:
    module = helper_package(file)
    return (f"from {module} import {HELPER}",) if module else (f"import {HELPER}",)


def helper_package(file: PyFile) -> str:
    """What stands before `jumar_device` in an import: a package, dots for a relative one, or nothing."""
    depth, top = package(file.source.path, file.settings.facts.packages)
    if depth == 0 or (file.is_script and not file.has_relative_imports):
        return ""
    return "." * depth if file.has_relative_imports else top


def package(path: str, packages: frozenset[str]) -> tuple[int, str]:
    """How many packages a file lies in, and the name of the outermost one."""
    folder = posixpath.dirname(path) or "."
    depth, top = 0, ""
    while folder in packages:
        depth, top = depth + 1, posixpath.basename(folder)
        upper = posixpath.dirname(folder) or "."
        if upper == folder:
            break
        folder = upper
    return depth, top


def helper_path(file: PyFile) -> str:
    """Where the helper module goes, seen from the folder of the file."""
    depth = package(file.source.path, file.settings.facts.packages)[0] if helper_package(file) else 1
    return "../" * (depth - 1) + f"{HELPER}.py"


def spelling(row: Row, file: PyFile) -> str | None:
    if row.npu is None:
        return None
    recent = not row.since or version(file.settings.torch) >= version(row.since)
    if row.agnostic is not None and recent:
        return row.agnostic
    if row.npu.startswith("torch.") and not row.npu.startswith("torch.npu"):
        return row.npu
    words = row.cuda.split(".")[2:]
    if words and words[0] in FLAT:
        words = words[1:]
    if len(words) > 1 and words[0] == "amp" and words[1] in _AMP_MODULES:
        del words[1]
    return ".".join([HELPER, *words])


def origin(name: str, file: PyFile) -> tuple[str, str]:
    """Module and name for a `from … import …` of a dotted name; the helper has no modules of its own."""
    if name != HELPER and not name.startswith(HELPER + "."):
        module, _, last = name.rpartition(".")
        return module, last
    before = helper_package(file)
    if name == HELPER:
        return before, HELPER
    separator = "" if not before or before.endswith(".") else "."
    return f"{before}{separator}{HELPER}", name.rpartition(".")[2]


def device(file: PyFile, node: ast.Constant | ast.JoinedStr, use: Use) -> Change | None:
    if not isinstance(node, ast.Constant) or node in file.lost or not reachable(file, node):
        return None
    start, end = file.source.span(node)
    number = str(node.value).partition(":")[2]
    if use is Use.CHOICE:
        quote = file.source.data[end - 1 : end].decode()
        twin = f"npu:{number}" if number else "npu"
        if _has_sibling(file, node, twin):
            return Change((), note=" (the NPU is already among them)")
        return Change((Edit(end, end, f", {quote}{twin}{quote}".encode()),))
    if number and not number.isdigit():
        return None
    if use is Use.MAKE:
        new = f"{HELPER}.place({number})" if number else f"{HELPER}.DEVICE"
    elif number and use is Use.KEY:
        return None
    else:
        new = f'{HELPER}.ACCELERATOR + ":{number}"' if number else f"{HELPER}.ACCELERATOR"
        if number:
            new = f"({new})"
        elif str(node.value).endswith(":"):
            new = f'({new} + ":")'
    return Change((Edit(start, end, _spaced(file, start, end, new)),), needs(file))


def _has_sibling(file: PyFile, node: ast.Constant, value: str) -> bool:
    items: list[ast.expr] = getattr(file.parent(node), "elts", [])
    return any(isinstance(item, ast.Constant) and item.value == value for item in items)


def device_call(file: PyFile, whole: ast.expr, node: ast.Constant | ast.JoinedStr, index: ast.expr) -> Change | None:
    """`"cuda:%d" % i`, `f"cuda:{i}"` and their like become `place(i)`: the number itself stays as it is written."""
    if {whole, index} & file.lost or not reachable(file, whole):
        return None
    (start, end), (first, last) = file.source.span(whole), file.source.span(index)
    edges = file.source.data[start:first] + file.source.data[last:end]
    if b"#" in edges or b"\n" in edges or b"\r" in edges:
        return None
    return Change(
        (Edit(start, first, _spaced(file, start, end, f"{HELPER}.place(")), Edit(last, end, b")")), needs(file)
    )


def move(file: PyFile, call: ast.Call, func: ast.Attribute) -> Change | None:
    span = file.attr_span(func)
    if span is None or file.has_stars(call) or not reachable(file, call):
        return None
    edits = [Edit(*span, b"to")]
    given = file.argument(call, 0, "device")
    if given is None:
        _, end = file.source.span(call)
        opening = file.source.data.find(b"(", span[1], end)
        comma = ", " if call.keywords else ""
        edits.append(Edit(opening + 1, opening + 1, f"{HELPER}.DEVICE{comma}".encode()))
    elif not (isinstance(given, ast.Constant) and isinstance(given.value, str)):
        start, end = file.source.span(given)
        edits += [Edit(start, start, f"{HELPER}.place(".encode()), Edit(end, end, b")")]
    return Change(tuple(edits), needs(file))


def is_on_device(file: PyFile, node: ast.Attribute) -> Change | None:
    span = file.attr_span(node)
    if span is None or not reachable(file, node):
        return None
    start, _ = file.source.span(node)
    _, inner = file.source.span(node.value)
    dot = file.source.data.rfind(b".", inner, span[0])
    if dot < 0 or file.source.data[dot + 1 : span[0]]:
        return None
    return Change((Edit(start, start, f"{HELPER}.is_on_accelerator(".encode()), Edit(dot, span[1], b")")), needs(file))


def type_string(file: PyFile, node: ast.Constant) -> Change | None:
    if node in file.lost or not reachable(file, node):
        return None
    start, end = file.source.span(node)
    name = str(node.value).rpartition(".")[2]
    if b"\n" in file.source.data[start:end] or isinstance(file.parent(node), (ast.FormattedValue, MatchValue)):
        return None
    return Change((Edit(start, end, f'{HELPER}.tensor_type("{name}")'.encode()),), needs(file))


def index(file: PyFile, node: ast.expr) -> Change | None:
    if node in file.lost or not reachable(file, node):
        return None
    start, end = file.source.span(node)
    return Change((Edit(start, start, f"{HELPER}.place(".encode()), Edit(end, end, b")")), needs(file))


def keyword(file: PyFile, name: str) -> tuple[str, tuple[str, ...]]:
    return f"{name}={HELPER}.DEVICE", needs(file)


def attribute(file: PyFile, node: ast.Attribute, new: str) -> Change | None:
    return None


def argument(file: PyFile, node: ast.keyword, new: str) -> Change | None:
    return None


def reachable(file: PyFile, node: ast.AST) -> bool:
    """Is the name of the helper free, or already the helper, where `node` stands?"""
    found = file.index.module.bindings.get(HELPER, ())
    return all(binding.target is not None for binding in found)


def _spaced(file: PyFile, start: int, end: int, new: str) -> bytes:
    """The new text with a blank where a quote used to part it from a word: `in"cuda"else`."""
    data = file.source.data
    before = b" " if start and (data[start - 1 : start].isalnum() or data[start - 1 : start] == b"_") else b""
    after = b" " if data[end : end + 1].isalnum() else b""
    return before + new.encode() + after


def helper_text() -> bytes:
    """The generated module, the same for every project."""
    return copied.text(HELPER)
