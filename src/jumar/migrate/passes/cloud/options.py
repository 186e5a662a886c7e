"""The command line of a script: where it is parsed, which options hold paths, which describe devices."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from jumar.migrate.passes.cloud import across, helper, judged, paths
from jumar.migrate.pyfile import PyFile
from jumar.tables.load import table

KINDS = ("data", "results", "start", "config")
_TEXT_TYPES = {"str", "Path", "pathlib.Path", "os.path.abspath", "os.path.expanduser"}

_STATE = re.compile(r"(?:^|_)(?:ckpt|checkpoint|weights?)(?:$|_path$|_file$|_url$)")
_SHORT = {
    **dict.fromkeys(("data", "dataset", "root", "root_path", "root_dir", "input", "train_data", "val_data"), "data"),
    **dict.fromkeys(("save", "output"), "results"),
}


class Option(NamedTuple):
    name: str
    """As an attribute of the parsed arguments."""
    call: ast.Call
    is_text: bool


_found: WeakKeyDictionary[PyFile, CommandLine] = WeakKeyDictionary()


def of(file: PyFile) -> CommandLine:
    """The analysis of a file, made on first use."""
    if file not in _found:
        _found[file] = CommandLine(file)
    return _found[file]


def kind_of_name(name: str) -> str | None:
    """What an option or a variable holds, judged by its name."""
    lowered = name.lower().replace("-", "_")
    rows = table("cloud_paths.toml")["options"]
    return next((kind for kind, pattern in rows.items() if re.fullmatch(pattern, lowered)), None)


class CommandLine:
    def __init__(self, file: PyFile) -> None:
        self.file = file
        self.paths = paths.of(file)

    @cached_property
    def sites(self) -> list[ast.Call]:
        """The calls that read the command line; a first look at it for the sake of a second one does not count."""
        chosen = self._parsing["parse_args"] or self._parsing["parse_known_args"]
        chosen = [call for call in chosen if self.is_staged(call)] or chosen
        return sorted(chosen, key=lambda call: call.lineno)

    @cached_property
    def looks_first(self) -> bool:
        """Is the command line read once for the sake of a second time, to find the file that holds the options?"""
        return len([call for calls in self._parsing.values() for call in calls]) > len(self.sites)

    @cached_property
    def _parsing(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {"parse_args": [], "parse_known_args": []}
        for call in self.paths.flow.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in found and self._is_parser(call.func.value):
                found[call.func.attr].append(call)
        return found

    def is_staged(self, call: ast.Call) -> bool:
        return helper.is_inside_call(self.file, call)

    def _is_parser(self, node: ast.expr) -> bool:
        """A parser that is made here, or one from another module, known by its name; optparse's is another thing."""
        if self._is_made_here(node):
            return True
        return "pars" in self.file.text(node).lower() and "optparse" not in self.file.imported

    def _is_made_here(self, node: ast.expr) -> bool:
        return any(
            isinstance(origin, ast.Call) and (self.file.name(origin.func) or "").endswith("ArgumentParser")
            for origin in self.paths.flow.origins(node)
        )

    @cached_property
    def options(self) -> list[Option]:
        """The options that are added in this file under a name that can be read."""
        return [option for call in self._adding if (option := self._option(call)) is not None]

    @cached_property
    def is_hidden(self) -> bool:
        """Are options added elsewhere, or under names that are known only when the script runs?"""
        if not self._adding or any(self._names(call) is None for call in self._adding):
            return True
        return any(self._comes_from_elsewhere(call) for call in self.sites)

    def _comes_from_elsewhere(self, site: ast.Call) -> bool:
        """Is the parser what another module gave or was given, which may have added options too?"""
        assert isinstance(site.func, ast.Attribute)
        var = self.paths.flow.var(site.func.value)
        is_given = var is not None and self.paths.flow.parameter(var) is not None
        if is_given and not self._is_made_here(site.func.value):
            return True
        calls = [one for one in self.paths.flow.origins(site.func.value) if isinstance(one, ast.Call)]
        here = {node.name for node in ast.walk(self.file.tree) if isinstance(node, ast.FunctionDef)}
        return any(
            isinstance(one.func, ast.Name) and one.func.id not in here and not self._is_made_here(one) for one in calls
        )

    @cached_property
    def _adding(self) -> list[ast.Call]:
        return [
            call
            for call in self.paths.flow.calls
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and call.args
        ]

    def _names(self, call: ast.Call) -> list[str] | None:
        names = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        return names if len(names) == len(call.args) else None

    def _option(self, call: ast.Call) -> Option | None:
        names = self._names(call)
        if not names:
            return None
        given = self.file.keyword(call, "dest")
        long = next((name for name in names if name.startswith("--")), names[0])
        name = long.lstrip("-").replace("-", "_")
        if given is not None and isinstance(given.value, ast.Constant):
            name = str(given.value.value)
        return Option(name, call, self._is_text(call))

    def _is_text(self, call: ast.Call) -> bool:
        action, kind, default = (self.file.keyword(call, word) for word in ("action", "type", "default"))
        if action is not None and not (isinstance(action.value, ast.Constant) and action.value.value == "store"):
            return False
        if kind is not None and self.file.text(kind.value) not in _TEXT_TYPES:
            return False
        value = default.value.value if default is not None and isinstance(default.value, ast.Constant) else None
        return value is None or isinstance(value, str)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The options that hold paths, and what for."""
        asked = [one for one in self.options if one.is_text and one.name not in ("data_url", "train_url")]
        found = {one.name: kind for one in asked if (kind := self._kind(one)) is not None}
        for option in asked:
            kind = judged.sibling(option.name, found) if option.name not in found else None
            if kind is not None and self._is_free(option):
                found[option.name] = kind
        return found

    def _kind(self, option: Option) -> str | None:
        """By the calls its value reaches, then by its name, its default and its help text."""
        named = kind_of_name(option.name)
        flows = self.evidence.get(option.name, frozenset()) & set(KINDS)
        if not self._is_free(option):
            return None
        if named in ("start", "config") or (named is not None and (named in flows or not flows)):
            return named
        if flows == {"data", "results"}:
            return self._by_default(option) or "results"
        return next((kind for kind in ("results", "data", "start") if kind in flows), None) or self._by_default(option)

    def _is_free(self, option: Option) -> bool:
        """May the option hold a path? Not one of a few words, and not the name of a class."""
        said = self.evidence.get(option.name, frozenset())
        if self.file.keyword(option.call, "choices") is not None:
            return False
        if said & set(KINDS):
            return True
        default = self._default(option)
        if "word" in said and not (isinstance(default, str) and "/" in default):
            return False
        return judged.is_path(option.name, default)

    def is_unsure(self, option: Option) -> bool:
        """Does the default look like a path of the machine at hand, and nothing tells what for?"""
        default = self._default(option)
        if option.name in self.kinds or not option.is_text or not isinstance(default, str) or not self._is_free(option):
            return False
        return re.match(r"(?:\.{0,2}/|~/|[\w.-]+/)[\w./~-]*$", default) is not None

    def _default(self, option: Option) -> object:
        default = self.file.keyword(option.call, "default")
        return default.value.value if default is not None and isinstance(default.value, ast.Constant) else None

    def _by_default(self, option: Option) -> str | None:
        """By the default and the help text: no checkpoint is one to begin from, `--data ./data` is data."""
        default = self.file.keyword(option.call, "default")
        name = option.name.lower()
        if name in ("data", "dataset") and self._is_required(option):
            return "data"
        about = self.file.keyword(option.call, "help")
        told = about.value.value if about is not None and isinstance(about.value, ast.Constant) else ""
        if default is None or (isinstance(default.value, ast.Constant) and not default.value.value):
            return "start" if _STATE.search(name) else judged.by_text(name, None, str(told))
        if isinstance(default.value, ast.Constant):
            text = str(default.value.value)
            short = _SHORT.get(name) if re.search(r"/|\.\w+$", text) else None
            return short or judged.by_text(name, text, str(told))
        return None

    def _is_required(self, option: Option) -> bool:
        required = self.file.keyword(option.call, "required")
        names = self._names(option.call) or []
        return required is not None or not any(name.startswith("-") for name in names)

    @cached_property
    def evidence(self) -> dict[str, frozenset[str]]:
        """What the calls of the whole program say about options."""
        cloud = self.file.settings.cloud
        elsewhere = cloud.evidence if cloud is not None else {}
        found = dict(across.evidence([self.paths]))
        for name, said in elsewhere.items():
            found[name] = found.get(name, frozenset()) | said
        return found

    @cached_property
    def hidden_kinds(self) -> dict[str, str]:
        """For options that are known only when the script runs: where the program says more than their names."""
        found = {name: kind for name, kind in self.kinds.items() if kind_of_name(name) != kind}
        own = {option.name for option in self.options}
        for name, said in sorted(self.evidence.items()):
            flows, named = said & set(KINDS), kind_of_name(name)
            if name in own or "option" not in said or named in ("start", "config") or named in flows:
                continue
            kind = next((one for one in ("results", "data", "start") if one in flows), None)
            if kind == "results" and not judged.is_result(name) and ("data" in flows or judged.is_of_data(name)):
                continue
            if kind is not None and name not in ("data_url", "train_url"):
                found[name] = kind
        return found

    @cached_property
    def words(self) -> list[str]:
        """Options with the name of a path that hold none."""
        return [
            one.name for one in self.options if one.is_text and kind_of_name(one.name) and one.name not in self.kinds
        ]

    @cached_property
    def devices(self) -> dict[str, str]:
        """The options that tell about devices, and what they hold."""
        rows = table("cloud_paths.toml")["devices"]
        found = {option.name: rows[option.name] for option in self.options if option.name in rows}
        if self.paths.sends_itself:
            found |= {one.name: "job" for one in self.options if paths.is_switch(one.name)}
        return found
