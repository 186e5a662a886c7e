"""The command line of a script: where it is parsed, which options hold paths, which describe devices."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from jumar.migrate.passes.cloud import helper, paths
from jumar.migrate.pyfile import PyFile
from jumar.tables.load import table

KINDS = ("data", "results", "start", "config")
_TEXT_TYPES = {"str", "Path", "pathlib.Path", "os.path.abspath", "os.path.expanduser"}

_STATE = re.compile(r"(?:^|_)(?:ckpt|checkpoint|weights?)(?:$|_path$|_file$|_url$)")
_RESULT = re.compile(r"ckpt|checkpoint|model|save|out|log|result|exp")
_SHORT = {
    **dict.fromkeys(("data", "dataset", "root", "root_path", "root_dir", "input"), "data"),
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
        seen = self._evidence
        found = {}
        for option in self.options:
            if option.is_text and option.name not in ("data_url", "train_url"):
                kind = kind_of_name(option.name) or seen.get(option.name) or self._by_default(option)
                if kind is not None:
                    found[option.name] = kind
        return found

    def _by_default(self, option: Option) -> str | None:
        """By a name that says little and the default: no checkpoint is one to begin from, `--data ./data` is data."""
        default = self.file.keyword(option.call, "default")
        if option.name.lower() in ("data", "dataset") and self._is_required(option):
            return "data"
        if default is None or (isinstance(default.value, ast.Constant) and not default.value.value):
            return "start" if _STATE.search(option.name.lower()) else None
        if isinstance(default.value, ast.Constant) and re.search(r"/|\.\w+$", str(default.value.value)):
            return _SHORT.get(option.name.lower())
        return None

    def _is_required(self, option: Option) -> bool:
        required = self.file.keyword(option.call, "required")
        names = self._names(option.call) or []
        return required is not None or not any(name.startswith("-") for name in names)

    @cached_property
    def _evidence(self) -> dict[str, str]:
        """What the calls that read and write say about options."""
        states = table("cloud_paths.toml")["reads_start"]
        found: dict[str, str] = {}
        for use in self.paths.reads:
            is_state = any(row.rpartition(".")[2] == use.what for row in states)
            for root in self.paths.roots(use.path) if use.what != "open" else ():
                if root.kind == "option":
                    found[root.name] = "start" if is_state else "data"
        for use in self.paths.folders:
            for root in self.paths.roots(use.path):
                if root.kind == "option" and _RESULT.search(root.name.lower()):
                    found[root.name] = "results"
        for use in self.paths.writes:
            for root in self.paths.roots(use.path):
                if root.kind == "option":
                    found[root.name] = "results"
        return found

    @cached_property
    def devices(self) -> dict[str, str]:
        """The options that tell about devices, and what they hold."""
        rows = table("cloud_paths.toml")["devices"]
        found = {option.name: rows[option.name] for option in self.options if option.name in rows}
        if self.paths.sends_itself:
            found |= {one.name: "job" for one in self.options if paths.is_switch(one.name)}
        return found
