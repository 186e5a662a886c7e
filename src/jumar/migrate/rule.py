"""What a rule is: a declaration beside a few functions, one per file.

A rule module holds `RULE = Rule(...)` and functions named after what they look at:

- Python: `visit_<NodeType>(node, file)` for any `ast` node type, `visit_name(node, name, file)` for every name
  or attribute chain that imports resolve (`name` is then the full dotted name), `finish(file)` once per file;
- other families: what their module under `languages/` hands out (`visit_command`, `visit_entry`, …).

Each yields `Finding`s, made with `file.rewrite(...)` and `file.report(...)`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from jumar.core import discover
from jumar.core.errors import UserError
from jumar.core.finding import Finding, Safety

Visitor = Callable[..., Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    name: str
    summary: str
    keywords: tuple[str, ...]
    """Lower-case words; a file that holds none of them never reaches the rule."""
    words: tuple[str, ...] = ()
    """As `keywords`, but whole identifiers: the way to name hundreds of them at little cost."""
    roots: tuple[str, ...] = ()
    """For `visit_name`: the first parts of the dotted names it wants (`torch`, `apex`)."""
    safety: Safety = Safety.SAFE
    """The safety of the edits this rule makes; single findings may be stricter."""
    multi_card: bool = False
    """Runs only with `--multi-card`, on the text as it was before any other rule changed it."""
    last: bool = False
    """Runs on what all other rules have written."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A rule together with the functions of its module."""

    rule: Rule
    family: str
    visitors: dict[str, Visitor] = field(default_factory=dict)
    keywords: tuple[bytes, ...] = ()
    words: frozenset[bytes] = frozenset()


FAMILIES = ("python", "mindspore", "shell", "config", "requirements", "native", "cloud")
"""The folders under `rules/`. `mindspore` and `cloud` work on Python files, `cloud` only for `jumar cloud adapt`."""


@cache
def units(family: str, extra: tuple[str, ...] = ()) -> tuple[Unit, ...]:
    """The rules of one family by id: ours, those of installed plug-ins, and the user's own files."""
    modules: list[ModuleType] = []
    package = f"jumar.migrate.rules.{family}"
    if importlib.util.find_spec(package) is not None:
        modules += discover.modules(package)
    if family == "python":
        modules += [point.load() for point in importlib.metadata.entry_points(group="jumar.rules")]
        modules += [_load(path) for path in extra]
    found = [_unit(module, family) for module in modules if hasattr(module, "RULE")]
    return tuple(sorted(found, key=lambda unit: unit.rule.id))


def all_rules() -> list[Unit]:
    """Every rule of every language, for `--list`, the reference pages and their tests."""
    return [unit for family in FAMILIES for unit in units(family)]


def _unit(module: ModuleType, family: str) -> Unit:
    rule: Any = module.RULE
    if not isinstance(rule, Rule):
        raise UserError(f"`RULE` in `{module.__name__}` is not a `jumar.migrate.rule.Rule`")
    visitors = {name: value for name, value in vars(module).items() if name.startswith("visit_")}
    if hasattr(module, "finish"):
        visitors["finish"] = module.finish
    words = frozenset(word.encode() for word in rule.words)
    return Unit(rule, family, visitors, tuple(word.encode() for word in rule.keywords), words)


def _load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"jumar_user_rule_{Path(path).stem}", path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise UserError(f"cannot load the rule file `{path}`", "name a Python file in `rules` of jumar.toml")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"the rule file `{path}` fails: {type(error).__name__}: {error}") from error
    return module
