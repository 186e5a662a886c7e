"""The paths of a script: which calls read and write, and where the path they are given begins.

A path begins with a literal, with an option of the command line (`args.data_path`, also through variables, arguments
and `os.path.join`), or with something this file does not tell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from jumar.core.compat import zip
from jumar.migrate.flow import Flow, Var
from jumar.migrate.passes.cloud import helper, uses
from jumar.migrate.passes.cloud.uses import Use
from jumar.migrate.pyfile import PyFile

_SAME_PATH = {"os.path.join", "os.path.abspath", "os.path.realpath", "os.path.normpath", "os.path.expanduser"}
_SAME_PATH |= {"os.path.dirname", "pathlib.Path", "glob.glob"}
_SAME_METHODS = {"joinpath", "resolve", "absolute", "expanduser", "as_posix", "strip", "rstrip"}
_STAMP = re.compile(r"(?:strftime|isoformat|time\.time|datetime\.now|uuid\d|getpid|^int|^round)$")
STAMP = "*"
"""The name of a path that begins with a time."""
_SCHEME_TEST = re.compile(rb"""startswith\(\(?['"](?:s3|obs)|['"](?:s3|obs)(?:://?)?['"]\s+in\s""")
_SWITCH = re.compile(r"(?:is_?|run_|use_|enable_|on_)?(?:modelarts|model_arts|cloudbrain)(?:_mode|_flag)?")


class Root(NamedTuple):
    """Where a path begins: a `literal`, an `option` (its name), a call of the `helper`, or something `else`."""

    kind: str
    node: ast.expr
    name: str = ""


_found: WeakKeyDictionary[PyFile, Paths] = WeakKeyDictionary()


def of(file: PyFile) -> Paths:
    """The analysis of a file, made on first use."""
    if file not in _found:
        _found[file] = Paths(file)
    return _found[file]


class Paths:
    def __init__(self, file: PyFile) -> None:
        self.file = file
        self.flow = Flow(file)

    @cached_property
    def writes(self) -> list[Use]:
        """The calls that write files, in order."""
        return uses.written(self.file, self.flow.calls)

    @cached_property
    def folders(self) -> list[Use]:
        """The calls that make folders."""
        return uses.folders(self.file, self.flow.calls)

    @cached_property
    def reads(self) -> list[Use]:
        """The calls that read data or a state to begin from, in order."""
        return uses.read(self.file, self.flow.calls)

    def dataset_class(self, call: ast.Call) -> str | None:
        return uses.dataset_class(self.file, call)

    def parameters(self, node: ast.expr | None, seen: set[ast.AST] | None = None) -> Iterator[Var]:
        """The parameters of functions of this file that a path may begin with."""
        seen = set() if seen is None else seen
        if node is None or node in seen:
            return
        seen.add(node)
        var = self.flow.var(node)
        if var is None:
            yield from self.parameters(_inner(self.file, node), seen)
            return
        if self.flow.parameter(var) is not None:
            yield var
        for bound in self.flow.bounds.get(var, ()):
            yield from self.parameters(bound.value, seen)

    def roots(self, node: ast.expr | None, seen: set[ast.AST] | None = None) -> list[Root]:
        """Every way in which a path may begin; `path = join(path, …)` leads back to where it was seen."""
        if node is None:
            return []
        seen = set() if seen is None else seen
        origins = [origin for origin in self.flow.origins(node) or [node] if origin not in seen]
        seen.update(origins)
        found = [root for origin in origins for root in self._root(origin, seen)]
        var = self.flow.var(node)
        if var is not None and (default := self._default(var)) is not None:
            found += self.roots(default, seen)
        return list(dict.fromkeys(found))

    def _default(self, var: Any) -> ast.expr | None:
        """The default of a parameter."""
        if self.flow.parameter(var) is None:
            return None
        args = var.owner.args
        plain = [*args.posonlyargs, *args.args]
        pairs = list(zip(reversed(plain), reversed(args.defaults)))
        pairs += [(arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value]
        return next((value for arg, value in pairs if arg.arg == var.name and isinstance(value, ast.Constant)), None)

    def _root(self, node: ast.expr, seen: set[ast.AST]) -> list[Root]:
        if helper.is_call(self.file, node):
            return [Root("helper", node)]
        if isinstance(node, ast.Constant):
            return [Root("literal", node, node.value)] if isinstance(node.value, str) else [Root("else", node)]
        if isinstance(node, ast.Call):
            return self._called(node, seen)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
            return self.roots(node.left, seen)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self._template(node, node.left, "%", seen)
        if isinstance(node, ast.JoinedStr) and node.values:
            first = node.values[0]
            if isinstance(first, ast.FormattedValue) and self._is_stamp(first.value):
                return [Root("literal", node, STAMP)]
            if isinstance(first, ast.FormattedValue):
                return self.roots(first.value, seen)
            return [Root("literal", node, str(getattr(first, "value", "")))]
        if isinstance(node, ast.Attribute) and self.flow.var(node) is None and self._is_held(node):
            return [Root("option", node, node.attr), *self._set(node.value, node.attr, seen)]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            name = str(node.slice.value)
            return [Root("option", node, name), *self._set(node.value, name, seen)]
        return [Root("else", node)]

    def _is_held(self, node: ast.Attribute) -> bool:
        """Is this the field of an object, made here or in a module of the program, not of a package?"""
        return self.file.name(node) is None or self.is_own(node)

    def is_own(self, node: ast.expr) -> bool:
        """Does the name come from another module of the program?"""
        name, cloud = self.file.name(node) or "", self.file.settings.cloud
        parts = name.split(".")
        own = cloud.modules if cloud is not None else frozenset()
        return name.startswith(".") or any(".".join(parts[:at]) in own for at in range(1, len(parts)))

    def _set(self, holder: ast.expr, name: str, seen: set[ast.AST]) -> list[Root]:
        """Where the values begin that this file gives to a setting: `config.out = join(config.ckpt_path, …)`."""
        values = self._given.get((self.file.text(holder), name), [])
        found = [root for value in values for root in self.roots(value, seen)]
        return [root for root in found if root.kind != "else"]

    @property
    def handed(self) -> Iterator[tuple[str, str]]:
        """Settings that this file makes from others: `args.outputs_dir = join(args.ckpt_path, …)`."""
        for (_, name), values in self._given.items():
            for root in (root for value in values for root in self.roots(value)):
                if root.kind == "option" and root.name != name:
                    yield name, root.name

    @cached_property
    def _given(self) -> dict[tuple[str, str], list[ast.expr]]:
        found: dict[tuple[str, str], list[ast.expr]] = {}
        for node in (one for one in self.flow.nodes if isinstance(one, ast.Assign)):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and self.flow.var(target) is None:
                    found.setdefault((self.file.text(target.value), target.attr), []).append(node.value)
                elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    key = self.file.text(target.value), str(target.slice.value)
                    found.setdefault(key, []).append(node.value)
        return found

    def _is_stamp(self, node: ast.expr) -> bool:
        """Is this a time or a number, with which the name of a file may begin but no path?"""
        found = self.flow.origins(node) or [node]
        return all(isinstance(one, ast.Call) and _STAMP.search(self.file.text(one.func)) for one in found)

    def _called(self, node: ast.Call, seen: set[ast.AST]) -> list[Root]:
        name = self.file.name(node.func)
        is_str = isinstance(node.func, ast.Name) and node.func.id == "str"
        if (name in _SAME_PATH or is_str) and node.args:
            return self.roots(node.args[0], seen)
        if name in ("os.environ.get", "os.getenv") and len(node.args) == 2:
            return self.roots(node.args[1], seen)
        if isinstance(node.func, ast.Attribute) and name is None:
            if node.func.attr == "format":
                return self._template(node, node.func.value, "{", seen)
            if node.func.attr in _SAME_METHODS:
                return self.roots(node.func.value, seen)
        return [Root("else", node)]

    def _template(self, whole: ast.expr, text: ast.expr, mark: str, seen: set[ast.AST]) -> list[Root]:
        """`"out/%s" % name` begins with a literal, `"{}/x".format(folder)` with its first argument."""
        if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
            return [Root("else", whole)]
        if not text.value.startswith(mark):
            return [Root("literal", whole, text.value)]
        if isinstance(whole, ast.Call) and whole.args:
            return self.roots(whole.args[0], seen)
        if isinstance(whole, ast.BinOp):
            first = whole.right.elts[0] if isinstance(whole.right, ast.Tuple) and whole.right.elts else whole.right
            return self.roots(first, seen)
        return [Root("else", whole)]

    @cached_property
    def sends_itself(self) -> bool:
        """Does the script copy its results with MoXing itself? Not if it does so only for addresses of the cloud."""
        if _SCHEME_TEST.search(self.file.source.data):
            return False
        for call in self.flow.calls:
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("copy_parallel", "copy"):
                continue
            if not re.search(r"mox|file", self.file.text(call.func)):
                continue
            target = self.file.argument(call, 1, "dst_url")
            if any(_is_place(root) for root in self.roots(target)) and self._is_done_in_jobs(call):
                return True
        return False

    def _is_done_in_jobs(self, call: ast.Call) -> bool:
        """Does no option decide about the call but those that say that this is a job?"""
        tests = [up.test for up in self.file.ancestors(call) if isinstance(up, ast.If)]
        asked = [root.name for test in tests for node in ast.walk(test) for root in self._asked(node)]
        return all(is_switch(name) or name.endswith("_url") or "rank" in name for name in asked)

    def _asked(self, node: ast.AST) -> list[Root]:
        if not isinstance(node, ast.Attribute) or self.file.name(node) is not None:
            return []
        return [root for root in self._root(node, set()) if root.kind == "option"]


def is_switch(name: str) -> bool:
    """Is this the name of an option that says whether the script runs on the platform?"""
    return _SWITCH.fullmatch(name.lower()) is not None


def _is_place(root: Root) -> bool:
    return (root.kind == "option" and root.name.endswith("_url")) or root.name.startswith(("s3://", "obs://"))


def _inner(file: PyFile, node: ast.expr) -> ast.expr | None:
    """What a composed path begins with: the first part of a join, a sum, an f-string."""
    if isinstance(node, ast.BinOp):
        return node.left
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        return first.value if isinstance(first, ast.FormattedValue) else None
    if isinstance(node, ast.Call) and node.args and file.name(node.func) in _SAME_PATH:
        return node.args[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        return node.args[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format" and node.args:
        return node.args[0]
    return None
