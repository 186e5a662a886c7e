"""`jumar.toml` and the command line become `Settings`; mistakes in either name the line or option."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jumar.core import discover
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.migrate.rule import all_rules, units
from jumar.migrate.settings import RuleFile, Settings, Style
from jumar.runtime import settings as settings_file
from jumar.runtime import trust
from jumar.runtime.keys import Access, Key, Schema
from jumar.tables import apis, chips, pages, torch_releases
from jumar.tables.load import table_names

MOST_JOBS = 256
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
KEYS: dict[str, Key] = {
    "to": Key((str,), "style of the output: `npu`, `agnostic` or `import`", Access.PROJECT),
    "torch": Key((str,), "torch on the target", Access.PROJECT),
    "chip": Key((str,), "chip of the target", Access.PROJECT),
    "unsafe": Key((bool,), "also make changes that need a review", Access.PROJECT),
    "multi_card": Key((bool,), "also turn a one-card training script into one for many cards", Access.PROJECT),
    "sharded": Key(
        (bool,),
        "with `multi_card`: split the model over the cards (FSDP) instead of copying it to each",
        Access.PROJECT,
    ),
    "only": Key((list,), "ids or names of the only rules to use", Access.PROJECT),
    "skip": Key((list,), "ids or names of rules to leave out", Access.PROJECT),
    "rules": Key((list,), "Python files with rules of your own, relative to this file", Access.TRUSTED, is_code=True),
    "rows": Key((dict,), "rows of your own, a table for each of Jumar's tables; dotted names only", Access.PROJECT),
    "jobs": Key((int,), "processes to use", Access.PROJECT),
}
SCHEMA = Schema("migrate", KEYS)
CARDS = ("ddp", "fsdp")
SHARDS_FROM = (2, 6)
"""The torch release from which `torch.distributed.fsdp.fully_shard` is public."""
_WORDS = {str: "a string", bool: "`true` or `false`", list: "a list of strings", dict: "a table", int: "a number"}


Config = settings_file.Table
"""The checked `[migrate]` table."""
find = settings_file.find


def load(path: Path | None) -> Config:
    """Read and check a `jumar.toml`; None is an empty one."""
    config = settings_file.read(path, SCHEMA)
    for key, value in config.values.items():
        _check(config, key, value)
    return config


def settings(config: Config, given: Mapping[str, Any]) -> Settings:
    """The settings of a run: what was given on the command line, else what the file says."""

    def pick(key: str, default: Any) -> tuple[Any, str]:
        if given.get(key) not in (None, False, ()):
            return given[key], f"`--{key.replace('_', '-')}`: "
        return config.values.get(key, default), config.origin(key)

    plain = Settings()
    own = _rules(config)
    cards = given.get("multi_card")
    sharded = cards == "fsdp" if cards else bool(config.values.get("sharded", False))
    return Settings(
        to=_style(*pick("to", plain.to)),
        torch=(torch := _torch(*pick("torch", plain.torch))),
        chip=_chip(*pick("chip", plain.chip)),
        unsafe=bool(pick("unsafe", False)[0]),
        multi_card=_cards(*pick("multi_card", False), sharded, torch),
        sharded=sharded,
        only=_ids(*pick("only", ()), own, _own_rules_hint(config)),
        skip=_ids(*pick("skip", ()), own, _own_rules_hint(config)),
        rows=config.values.get("rows", {}),
        rule_files=own,
    )


def from_project(config: Config, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of the file that the command line leaves in force."""
    return tuple(key for key in config.values if given.get(key) in (None, False, ()))


def rule_ids(values: Iterable[str], option: str) -> frozenset[str]:
    """The ids of rules that an option of the command line names."""
    return _ids(values, f"`{option}`: ", ())


def _own_rules_hint(config: Config) -> str:
    """What helps where the rules of the project itself are not there."""
    if config.path is None or "rules" not in config.ignored:
        return ""
    return f"if it is one of the project's own rules: `{trust.command(config.path.parent)}`"


def _rules(config: Config) -> tuple[RuleFile, ...]:
    """Files of rules with the content that the user trusts."""
    if config.path is None:
        return ()
    names = [os.path.abspath(config.path.parent / name) for name in config.values.get("rules", ())]
    return tuple(RuleFile(name, config.files[name]) for name in names)


def _check(config: Config, key: str, value: object) -> None:
    origin = config.origin(key)
    if key not in KEYS:
        hint = did_you_mean(key, KEYS, f"known keys: {', '.join(f'`{name}`' for name in KEYS)}")
        raise UserError(f"{origin}unknown key `{key}` in `[migrate]`", hint)
    kind = KEYS[key].kinds[0]
    good = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
    if good and isinstance(value, list):
        good = all(isinstance(item, str) for item in value)
    if not good:
        raise UserError(f"{origin}`{key}` must be {_WORDS[kind]}")
    if key == "jobs" and isinstance(value, int) and not 1 <= value <= MOST_JOBS:
        raise UserError(f"{origin}`jobs` must be 1 to {MOST_JOBS}")
    if isinstance(value, dict):
        _check_rows(config, value)


def _check_rows(config: Config, tables: dict[str, Any]) -> None:
    """New names are written into programs: a row may name something, and nothing else."""
    for name, rows in tables.items():
        if name not in (known := table_names()):
            hint = did_you_mean(name, known, f"known tables: {', '.join(f'`{known_name}`' for known_name in known)}")
            raise UserError(f"{config.origin(name)}no such table: `{name}`", hint)
        if not isinstance(rows, dict) or not all(isinstance(text, str) for text in rows.values()):
            raise UserError(
                f"{config.origin(name)}`rows.{name}` must be a table of strings",
                f'write `[migrate.rows.{name}]` and lines such as `"old.name" = "new.name"`',
            )
        for old, new in rows.items():
            if not all(_DOTTED.fullmatch(one) and not _has_keyword(one) for one in (old, new)):
                raise UserError(
                    f"{config.origin(old)}`rows.{name}`: `{old}` = `{new}`: not dotted names",
                    "a row gives one name for another; write a rule for anything else",
                )


def _has_keyword(name: str) -> bool:
    return any(keyword.iskeyword(word) for word in name.split("."))


def _style(value: str, origin: str) -> Style:
    try:
        return Style(value)
    except ValueError:
        raise UserError(
            f"{origin}no such style: `{value}`",
            did_you_mean(value, list(Style), f"known styles: {', '.join(f'`{style}`' for style in Style)}"),
        ) from None


def _torch(value: str, origin: str) -> str:
    found = torch_releases.find(value)
    if found is None:
        known = torch_releases.releases()
        hint = did_you_mean(value, known, f"known releases: {', '.join(known)}")
        raise UserError(f"{origin}no torch_npu release for torch `{value}`", hint)
    return found


def _chip(value: str, origin: str) -> str:
    found = chips.find(value)
    if found is None:
        hint = did_you_mean(value.lower().removeprefix("ascend"), chips.chips(), "name a chip such as `910B3`")
        raise UserError(f"{origin}no such chip: `{value}`", hint)
    return found


def _cards(value: bool | str, origin: str, sharded: bool, torch: str) -> bool:
    if isinstance(value, str) and value not in CARDS:
        raise UserError(f"{origin}no such style: `{value}`", did_you_mean(value, CARDS, "known styles: `ddp`, `fsdp`"))
    if value and sharded and apis.version(torch) < SHARDS_FROM:
        raise UserError(
            f"{origin}`fully_shard` (FSDP2) needs torch 2.6 or newer, the target has {torch}",
            "use `--multi-card ddp`, or name a newer release with `--torch`",
        )
    return bool(value)


def _ids(values: Iterable[str], origin: str, own: tuple[RuleFile, ...], hint: str = "") -> frozenset[str]:
    """The ids of rules from ids, names and patterns; a rule of a pass that is chosen as a whole stands for the pass."""
    values = list(values)
    if not values:
        return frozenset()
    known = {key.lower(): id_ for id_, page in pages.pages().items() for key in (id_, page.name)}
    for unit in (*all_rules(), *units("python", own)):
        known |= {key.lower(): unit.chosen_as for key in (unit.rule.id, unit.rule.name)}
    known |= {old.lower(): known.get(new.lower(), new) for old, new in pages.renamed().items()}
    try:
        return discover.ids(values, known, "rule", "`jumar migrate --list` lists the rules")
    except UserError as error:
        raise UserError(f"{origin}{error.message}", hint or error.hint) from None
