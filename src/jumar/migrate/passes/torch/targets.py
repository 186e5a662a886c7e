"""How things are spelled in the output: explicit NPU code, code for any device, or the run-time import.

Rules find sites; this module says what stands there afterwards, so that a rule need not know the three styles. What
differs between them is in `styles/`; here is what they share: dotted names and the imports behind them.
"""

from __future__ import annotations

import ast
from types import ModuleType

from jumar.core.compat import zip
from jumar.core.edit import Edit
from jumar.migrate.document import Change
from jumar.migrate.passes.torch.styles import agnostic, npu, runtime
from jumar.migrate.passes.torch.styles.change import Use
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Site, is_chosen
from jumar.migrate.settings import Style
from jumar.tables.apis import Row, cuda_row, version

__all__ = ["Change", "Use"]
_STYLES: dict[Style, ModuleType] = {Style.NPU: npu, Style.AGNOSTIC: agnostic, Style.IMPORT: runtime}


def style(file: PyFile) -> ModuleType:
    return _STYLES[file.settings.to]


def is_agnostic(file: PyFile) -> bool:
    return file.settings.to is Style.AGNOSTIC


def row_for(name: str, file: PyFile) -> Row:
    """The row of a CUDA name; rows of the user's own `jumar.toml` come first."""
    own = file.settings.rows.get("torch_cuda", {}).get(name)
    return Row(name, own, own) if own else cuda_row(name)


def new_name(row: Row, file: PyFile) -> str | None:
    """The dotted name that takes the place of a CUDA name in the chosen style; the old one if it may stay."""
    if is_early(row, file):
        return row.cuda
    spelling: str | None = style(file).spelling(row, file)
    return spelling


def is_early(row: Row, file: PyFile) -> bool:
    """Is the torch version too old for the new name outside `torch.npu`? The old name then still works."""
    return bool(row.since) and row.npu == row.agnostic and version(file.settings.torch) < version(row.since)


def rename(file: PyFile, node: ast.expr, new: str) -> Change | None:
    """Spell the chain `node` as `new`; the import rule changes the imports behind it."""
    root: ast.AST = node
    chain: list[ast.Attribute] = []
    while isinstance(root, ast.Attribute):
        chain.insert(0, root)
        root = root.value
    if not isinstance(root, ast.Name) or node in file.lost:
        return None
    if file.settings.to is Style.IMPORT:
        return runtime.DONE
    base = moved(file, root)
    if base is not None and (new == base or new.startswith(base + ".")):
        words = new[len(base) :].split(".")[1:]
        return _respell(file, node, chain, root.id, words, needs_of(file, new))
    first, _, rest = new.partition(".")
    local = reach(file, root, first)
    if local is None:
        return None
    return _respell(file, node, None, local[0], rest.split(".") if rest else [], local[1] + needs_of(file, new))


def moved(file: PyFile, root: ast.Name) -> str | None:
    """What a name stands for after the import rule has run."""
    base = file.name(root)
    if base is None or not (base == "torch.cuda" or base.startswith("torch.cuda.")):
        return base
    _, bindings = file.index.scope[root].lookup(root.id) or (None, [])
    stays = not is_chosen(Site.IMPORT, file.settings)
    if any(isinstance(b.node, (ast.Import, ast.ImportFrom)) and (stays or file.is_kept(b.node)) for b in bindings):
        return base
    return new_name(row_for(base, file), file) or base


def needs_of(file: PyFile, new: str) -> tuple[str, ...]:
    first = new.partition(".")[0]
    if first == agnostic.HELPER:
        return agnostic.needs(file)
    return npu.needs(file) if new.startswith("torch.npu") else ()


def reach(file: PyFile, near: ast.Name, package: str) -> tuple[str, tuple[str, ...]] | None:
    """The local name of a package as seen from a name in the file, and the import it needs; None if it is hidden."""
    scope = file.index.scope[near]
    if package == agnostic.HELPER:
        return (package, ()) if agnostic.reachable(file, near) else None
    if file.index.resolve(package, scope) == package:
        return package, ()
    for name, bindings in file.index.module.bindings.items():
        if any(binding.target == package for binding in bindings) and file.index.resolve(name, scope) == package:
            return name, ()
    return (package, (f"import {package}",)) if scope.lookup(package) is None else None


def _respell(
    file: PyFile, node: ast.expr, chain: list[ast.Attribute] | None, root: str, words: list[str], needs: tuple[str, ...]
) -> Change | None:
    """Word by word where the number of words stays, so that line breaks and comments inside survive."""
    if chain is not None and len(chain) == len(words):
        edits: list[Edit] = []
        for attribute, word in zip(chain, words, strict=True):
            if attribute.attr == word:
                continue
            edit = file.rename_attr(attribute, word)
            if edit is None:
                return None
            edits.append(edit)
        return Change(tuple(edits), needs)
    start, end = file.source.span(node)
    text = file.source.data[start:end]
    if b"\n" in text or b"\r" in text or text.startswith(b"("):
        return None
    return Change((Edit(start, end, ".".join([root, *words]).encode()),), needs)
