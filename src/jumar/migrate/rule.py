"""What a rule and a pass are, and where they are found.

A **rule** is a module with `RULE = Rule(...)` and functions named after what they look at:

- Python: `visit_<NodeType>(node, file)` for any `ast` node type, `visit_name(node, name, file)` for every name
  or attribute chain that imports resolve (`name` is then the full dotted name), `finish(file)` once per file;
- other languages: what their module under `languages/` hands out (`visit_command`, `visit_entry`, …).

Each yields `Finding`s, made with `file.rewrite(...)` and `file.report(...)`. A function `noise(finding, place)` says
which of them tell nobody anything, and why.

A **pass** is a folder under `passes/` with everything that is known about one subject. Its rules lie in one folder
for each language (`passes/torch/shell/`), and `hooks.py` declares `PASS = Pass(...)`: what the engine asks of it.
The engine itself knows no rule and no library. Both are found by their place; there is no list to edit. A **pack**
(`passes/packs/ray/`) is smaller: rows and rules for one library, which the pass `packs` brings.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from enum import Enum, auto
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from jumar.core import discover
from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.finding import Finding, Safety, Where
from jumar.core.source import Source
from jumar.migrate.look import Text
from jumar.migrate.settings import Facts, RuleFile, Settings
from jumar.runtime import owned, trust

if TYPE_CHECKING:
    from jumar.migrate.around import Place
    from jumar.migrate.pyfile import PyFile

PASSES = "jumar.migrate.passes"
LANGUAGES = "jumar.migrate.languages"

Visitor = Callable[..., Iterator[Finding]]
Noise = Callable[["Finding", "Place"], str]
"""Why a finding tells nobody anything, from what stands around it; empty for one that does."""
NewFile = tuple[str, bytes]
"""Path relative to the folder of the file that needs it, and content."""


class Site(Enum):
    """What the findings of a rule are about."""

    NAME = auto()
    """A dotted name."""
    IMPORTED_NAME = auto()
    """A dotted name whose import another rule rewrites."""
    IMPORT = auto()
    """An import of such names."""
    DEVICE = auto()
    """A text that names a device."""
    TENSOR = auto()
    """A question where a tensor is."""
    PACKAGE = auto()
    """An import of a package."""
    OTHER = auto()


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
    last: bool = False
    """Runs on what all other rules have written."""
    beside: tuple[str, ...] = ()
    """Lower-case words, one of which the file must hold as well."""
    known: Callable[[Facts], frozenset[str]] | None = None
    """Names that the look over the project found; a file with one of them reaches the rule too."""
    site: Site = Site.OTHER
    """What its findings are about, for what decides which of them belong together."""


NOT_PYTHON = Rule("PT001", "not-python", "a Python file that cannot be parsed", ())
UNREADABLE = Rule("PT002", "unreadable-file", "a file that cannot be read", ())
FAILED = Rule("PT003", "internal-error", "a file on which Jumar failed", ())
ELSEWHERE = Rule("PT004", "needs-another-file", "a file that needs another one which is still for CUDA", ())
OWN = (NOT_PYTHON, UNREADABLE, FAILED, ELSEWHERE)
"""What the engine itself says about a file, whatever stands in it."""


class Imports(NamedTuple):
    """How the imports that a pass's edits need come into a file."""

    rule: Rule
    """The rule that the added line is reported under."""
    after: str = ""
    """The package behind whose import they go; else they go to the top."""
    in_every_function: Callable[[Settings], bool] = lambda settings: False
    """Must every function that imports the package for itself have them?"""


class After(NamedTuple):
    """A Python file when all edits are made."""

    source: Source
    settings: Settings
    is_edited: bool
    """Did this pass, or one that runs together with it, change the text?"""
    tree: Callable[[], ast.Module | None]
    """Its syntax tree, parsed on first use; None when it is not Python."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What the engine asks of a pass; whatever a pass has no answer to, it leaves out."""

    name: str
    """That of its folder."""
    order: int = 0
    """Rules of a lower order see a node first; within one, rules go by their ids."""
    area: str = ""
    """The folder of its pages under `docs/rules`; without one, that of the language."""
    is_wanted: Callable[[Settings], bool] = lambda settings: True
    """Did the user ask for this pass?"""
    goes_first: bool = False
    """Does it run once, alone, on the text as the user wrote it?"""
    chosen_as: str = ""
    """The id that stands for all its rules in `--only` and `--skip`: they write one program together."""
    whole_files_only: bool = False
    """Are notebooks and `python -c "…"` left out?"""
    takes_plugins: bool = False
    """Do the user's own rules and those of installed plug-ins run with it?"""
    imports: Imports | None = None
    settle: Callable[[PyFile, list[Finding]], list[Finding]] = lambda file, findings: findings
    """What its rules said about a Python file, once it is decided what stays together."""
    prepare: Callable[[Facts, Sequence[Text]], Facts] = lambda facts, texts: facts
    """What it must know of the whole project, from looks at all its files."""
    wrote: Callable[[Source], bool] = lambda source: False
    """Is this a file that the pass itself put into the project? Such a file is left alone."""
    files: Callable[[After], tuple[NewFile, ...]] = lambda after: ()
    """Further files that the new text needs."""
    telling: Callable[[str], str | None] = lambda text: None
    """The first word in a text of another language that makes it worth a closer look."""
    more: Callable[[str], tuple[Unit, ...]] = lambda language: ()
    """Rules for a language that lie elsewhere, each with its own folder of pages."""
    supported: Callable[[Sequence[Text]], tuple[Where, ...]] = lambda texts: ()
    """Places that show that the project already supports NPUs, from looks at all its files."""


NO_PASS = Pass("")


@dataclass(frozen=True, slots=True)
class Unit:
    """A rule together with the functions of its module."""

    rule: Rule
    family: str
    """The folder of its page under `docs/rules`."""
    visitors: dict[str, Visitor] = field(default_factory=dict)
    keywords: tuple[bytes, ...] = ()
    words: frozenset[bytes] = frozenset()
    beside: tuple[bytes, ...] = ()
    owner: Pass = NO_PASS
    noise: Noise | None = None

    @property
    def chosen_as(self) -> str:
        """What `--only` and `--skip` call it."""
        return self.owner.chosen_as or self.rule.id

    def is_chosen(self, settings: Settings) -> bool:
        """Do `--only` and `--skip` leave it in?"""
        return self.chosen_as not in settings.skip and (not settings.only or self.chosen_as in settings.only)


@cache
def passes() -> tuple[Pass, ...]:
    """Every pass, by order and name."""
    places = importlib.import_module(PASSES).__path__
    names = [info.name for info in pkgutil.iter_modules(places) if info.ispkg]
    declared: list[Pass] = [importlib.import_module(f"{PASSES}.{name}.hooks").PASS for name in names]
    return tuple(sorted(declared, key=lambda each: (each.order, each.name)))


def active(language: str, settings: Settings) -> tuple[Unit, ...]:
    """The rules for a language, of all passes that the user asked for."""
    return _active(language, _wanted(settings), settings.rule_files)


def _wanted(settings: Settings) -> tuple[Pass, ...]:
    return tuple(each for each in passes() if each.is_wanted(settings))


@cache
def _active(language: str, wanted: tuple[Pass, ...], extra: tuple[RuleFile, ...]) -> tuple[Unit, ...]:
    units = [unit for each in wanted for unit in _units(each, language, extra)]
    return tuple(sorted(units, key=lambda unit: (unit.owner.order, unit.rule.id)))


def find(id_: str, settings: Settings) -> Unit | None:
    """The rule with an id, among those that the user asked for."""
    wanted = _wanted(settings)
    by_language = (_by_id(language, wanted, settings.rule_files) for language in languages())
    return next((known[id_] for known in by_language if id_ in known), None)


@cache
def _by_id(language: str, wanted: tuple[Pass, ...], extra: tuple[RuleFile, ...]) -> dict[str, Unit]:
    return {unit.rule.id: unit for unit in _active(language, wanted, extra)}


def is_chosen(site: Site, settings: Settings) -> bool:
    """Does a Python rule run that is about such sites?"""
    units = active("python", settings)
    return any(unit.rule.site is site and unit.is_chosen(settings) for unit in units)


def telling(text: str, settings: Settings) -> str | None:
    """The first word that makes a text worth a closer look to some pass."""
    words = (each.telling(text) for each in _wanted(settings))
    return next((word for word in words if word is not None), None)


@cache
def languages() -> tuple[str, ...]:
    """The languages, by name: a pass may have a folder of rules for each."""
    places = importlib.import_module(LANGUAGES).__path__
    return tuple(sorted(info.name for info in pkgutil.iter_modules(places)))


def units(family: str, extra: tuple[RuleFile, ...] = ()) -> tuple[Unit, ...]:
    """The rules whose pages lie in one folder, by id; `extra` are rule files of the user's own."""
    return _grouped(extra).get(family, ())


def families() -> tuple[str, ...]:
    """The folders of pages under `docs/rules`: those of the passes, the largest first, then those of packs."""
    groups = _grouped(())
    packs = {unit.family for each in passes() for language in languages() for unit in each.more(language)}
    own = sorted(groups.keys() - packs, key=lambda family: (-len(groups[family]), family))
    return (*own, *sorted(packs))


def all_rules() -> list[Unit]:
    """Every rule of every language, for `--list`, the reference pages and their tests."""
    return [unit for family in families() for unit in units(family)]


@cache
def _grouped(extra: tuple[RuleFile, ...]) -> dict[str, tuple[Unit, ...]]:
    """All rules by the folder of their pages; a rule that several languages have counts once."""
    groups: dict[str, dict[str, Unit]] = {"python": {rule.id: Unit(rule, "python") for rule in OWN}}
    for each in passes():
        for unit in (unit for language in languages() for unit in _units(each, language, extra)):
            groups.setdefault(unit.family, {}).setdefault(unit.rule.id, unit)
    return {family: tuple(sorted(known.values(), key=lambda unit: unit.rule.id)) for family, known in groups.items()}


@cache
def _units(owner: Pass, language: str, extra: tuple[RuleFile, ...]) -> tuple[Unit, ...]:
    modules: list[ModuleType] = []
    package = f"{PASSES}.{owner.name}.{language}"
    if importlib.util.find_spec(package) is not None:
        modules += discover.modules(package)
    if owner.takes_plugins and language == "python":
        modules += [point.load() for point in discover.plugins("jumar.rules")]
        modules += [_load(file) for file in extra]
    own = (unit_of(module, owner.area or language, owner) for module in modules if hasattr(module, "RULE"))
    return (*own, *(dataclasses.replace(unit, owner=owner) for unit in owner.more(language)))


def unit_of(module: ModuleType, family: str, owner: Pass = NO_PASS) -> Unit:
    """The rule that a module declares, with its functions."""
    rule: Any = module.RULE
    if not isinstance(rule, Rule):
        raise UserError(f"`RULE` in `{module.__name__}` is not a `jumar.migrate.rule.Rule`")
    visitors = {name: value for name, value in vars(module).items() if name.startswith("visit_")}
    if hasattr(module, "finish"):
        visitors["finish"] = module.finish
    words = frozenset(word.encode() for word in rule.words)
    keywords, beside = (tuple(word.encode() for word in words) for words in (rule.keywords, rule.beside))
    return Unit(rule, family, visitors, keywords, words, beside, owner, getattr(module, "noise", None))


def _load(file: RuleFile) -> ModuleType:
    """Run a file of rules: the very bytes that the user trusts, whatever has become of the file since."""
    path = file.path
    try:
        raw = owned.content(Path(path))
    except UserError as error:
        raise UserError(f"cannot load the rule file `{path}`", "name a Python file in `rules` of jumar.toml") from error
    if trust.digest(raw) != file.sha256:
        raise UserError(f"the rule file `{path}` has changed since you trusted it", "start again")
    module = ModuleType(f"jumar_user_rule_{Path(path).stem}")
    module.__file__ = path
    try:
        exec(compile(raw, path, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        raise UserError(f"the rule file `{path}` fails: {type(error).__name__}: {error}") from error
    return module
