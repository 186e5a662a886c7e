"""What the engine asks about packs: it finds them by their place and turns their rows into rules."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import cache, partial
from importlib.resources import files

from jumar.core import discover
from jumar.migrate.passes import packs
from jumar.migrate.passes.packs import config_rows, python_rows, shell_rows
from jumar.migrate.passes.packs.rows import Pack, read
from jumar.migrate.passes.torch import hooks as torch_hooks
from jumar.migrate.rule import Pass, Rule, Unit, Visitor, unit_of


@cache
def folders() -> tuple[str, ...]:
    """The folders of all packs, by name."""
    return tuple(sorted(info.name for info in pkgutil.iter_modules(packs.__path__) if info.ispkg))


@cache
def pack(folder: str) -> Pack | None:
    """The rows of one pack."""
    return read(files(packs).joinpath(folder))


@cache
def units(language: str) -> tuple[Unit, ...]:
    """The rules of all packs for a language: the rows of each as one rule, then its modules."""
    found: list[Unit] = []
    for folder in folders():
        known = pack(folder)
        rows = _visitors(known, language) if known is not None else {}
        if known is not None and rows:
            found.append(_unit(known, language, rows))
        package = f"{packs.__name__}.{folder}.{language}"
        if importlib.util.find_spec(package) is not None:
            modules = discover.modules(package)
            found += [unit_of(module, folder) for module in modules if hasattr(module, "RULE")]
    return tuple(found)


def _visitors(known: Pack, language: str) -> dict[str, Visitor]:
    found: dict[str, Visitor] = {}
    if language == "python" and any(not name.startswith(".") for name in known.names):
        found["visit_name"] = partial(python_rows.visit_name, known)
    if language == "python" and (known.arguments or any(name.startswith(".") for name in known.names)):
        found["visit_Call"] = partial(python_rows.visit_call, known)
    if language == "shell" and known.options:
        found["visit_command"] = partial(shell_rows.visit_command, known)
    if language == "config" and known.settings:
        found["visit_entry"] = partial(config_rows.visit_entry, known)
    return found


def _unit(known: Pack, language: str, visitors: dict[str, Visitor]) -> Unit:
    """The rows as a rule, with the words that a file must hold to be worth a look."""
    keywords = {
        "python": known.keywords,
        "shell": [row.name for row in known.options],
        "config": [name.rpartition(".")[2] for name in known.settings],
    }[language]
    words = known.packages if language == "python" and not keywords else ()
    rule = Rule(
        known.id, known.name, known.summary, tuple(sorted({word.lower() for word in keywords})),
        tuple(word.lower() for word in words), known.packages if "visit_name" in visitors else (),
    )  # fmt: skip
    whole = frozenset(word.encode() for word in rule.words)
    return Unit(rule, known.folder, visitors, tuple(word.encode() for word in rule.keywords), whole)


PASS = Pass(
    name="packs",
    order=-1,
    is_wanted=torch_hooks.PASS.is_wanted,
    imports=torch_hooks.IMPORTS,
    more=units,
)
