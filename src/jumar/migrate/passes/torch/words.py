"""Which names hold devices, and which hold words of the program's own that happen to be "cuda".

A string and everything that compares, asserts or looks it up are one unit: `impl="cuda"` beside `assert impl in ("ref",
"cuda")` names an implementation. A name is judged by all words that the project gives it or compares it with.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence

from jumar.core.compat import Match, MatchValue, zip
from jumar.migrate.look import Text
from jumar.migrate.passes.torch import shapes
from jumar.migrate.passes.torch.units import reach
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Facts

DEVICES = re.compile(
    r"(cpu|cuda|npu|mps|xpu|hpu|mlu|musa|tpu|xla|meta|ipu|vulkan|opencl|privateuseone|maia|auto|disk)(:\d+)?"
)
DEVICE_WORD = re.compile(r"dev(ice)?s?($|_|[A-Z])|(^|_)dev(ice)?|device|accelerator|map_location|placement", re.I)
_NEUTRAL = {"", "gpu", "GPU", "none", "None", "all", "default"}
_WORD = re.compile(r"[A-Za-z][\w.+-]{0,30}|")
_LOOKUPS = {"get", "pop", "setdefault", "getattr", "getenv", "get_attr"}
_TIE = re.compile(
    rb"""(?P<name>[A-Za-z_][\w-]*)["']?\]?(?:\.\w+\(\))?\s*(?::[^=\n,()]{1,40})?\s*(?:==|!=|=|:|\bnot\s+in\b|\bin\b)\s*"""
    rb"""(?P<words>[\[({]?\s*(?:["'][\w.+:-]*["']\s*,?\s*)+)"""
)
_CHOICES = re.compile(rb"""["']--?(?P<name>[\w-]+)["'](?:[^()]|\([^()]*\))*?choices\s*=\s*[\[(](?P<words>[^\])]*)""")
_SETTING = re.compile(
    rb"""^\s*["']?(?P<name>[A-Za-z_][\w-]*)["']?\s*[:=]\s*["']?(?P<words>[\w.+-]+)["']?\s*,?\s*$""", re.M
)
_QUOTED = re.compile(rb"""["']([\w.+:-]*)["']""")
_CUDA = re.compile(rb"""["']cuda["']""")
_SURE = re.compile(rb"(?:device\w*\s*(?:[=:!]=?|\bin\b)\s*|(?:\.to|\.device|device|autocast)\(\s*)\Z")
"""What stands before a string that is a device for sure, so that its name need not be judged."""
_ACCELERATOR = re.compile(rb"""\baccelerator["']?\]?\s*[=!]=\s*["']cuda["']""")
"""The program's own choice of a device, and not the argument of Lightning's Trainer."""
_COMMON = {"name", "key", "type", "default", "value", "id", "tag", "label", "choices", "help", "dtype", "str", "return"}
_NEAR = 160
"""As many bytes around a word are looked at."""


def prepare(facts: Facts, texts: Sequence[Text]) -> Facts:
    """The names of the project that are given "cuda" or compared with it, sorted by what else they are given."""
    python = [text for text in texts if text.path.endswith(".py")]
    names = {name for text in python for name in text.tells("names given cuda", _given_cuda)}
    own: set[str] = set()
    for text in texts if names else ():
        own |= _with_other_words(text, names)
    return dataclasses.replace(facts, own_words=frozenset(own), device_names=frozenset(names - own))


def _given_cuda(raw: bytes) -> list[str]:
    found: dict[str, None] = {}
    for match in _CUDA.finditer(raw):
        if _SURE.search(raw, max(match.start() - 40, 0), match.start()):
            continue
        near = raw[max(match.start() - _NEAR, 0) : match.end() + _NEAR]
        for name, words in _ties(near):
            if "cuda" in words and name not in _COMMON and not DEVICE_WORD.search(name):
                found[name] = None
    if b"lightning" not in raw and _ACCELERATOR.search(raw):
        found["accelerator"] = None
    return list(found)


def _with_other_words(text: Text, names: Iterable[str]) -> set[str]:
    """Those of the names that meet a word in this text which is no device."""
    known: dict[str, bool] = text.told.setdefault("names with other words", {})
    new = [name for name in names if name not in known]
    ties = _ties if text.path.endswith(".py") else _settings
    for name in new:
        known[name] = _meets_other_word(text.raw, name, ties)
        text.is_new = True
    return {name for name in names if known[name]}


def _meets_other_word(raw: bytes, name: str, ties: Callable[[bytes], Iterable[tuple[str, set[str]]]]) -> bool:
    for spelled in {name.encode(), name.replace("_", "-").encode(), name.upper().encode()}:
        at = raw.find(spelled)
        while at >= 0:
            if any(found == name and is_vocabulary(words) for found, words in ties(raw[at : at + _NEAR])):
                return True
            at = raw.find(spelled, at + _NEAR // 2)
    return False


def _ties(raw: bytes) -> Iterable[tuple[str, set[str]]]:
    if b'"' not in raw and b"'" not in raw:
        return
    for pattern in (_TIE, _CHOICES) if b"choices" in raw else (_TIE,):
        for match in pattern.finditer(raw):
            yield _key(match.group("name").decode()), {word.decode() for word in _QUOTED.findall(match.group("words"))}


def _settings(raw: bytes) -> Iterable[tuple[str, set[str]]]:
    for match in _SETTING.finditer(raw):
        yield _key(match.group("name").decode()), {match.group("words").decode()}


def _key(name: str) -> str:
    return name.strip("-").replace("-", "_").lower()


def is_vocabulary(words: Iterable[str]) -> bool:
    """Is one of these words no device?"""
    return any(not DEVICES.fullmatch(word) for word in words if word not in _NEUTRAL)


def is_own(file: PyFile, node: ast.expr) -> bool:
    """Does this string name something of the program, because its variable also takes words that are no devices?"""
    name = tied(file, node)
    if not name or DEVICE_WORD.search(name):
        return False
    return name in file.settings.facts.own_words or is_vocabulary(vocabulary(file).get(name, ()))


def vocabulary(file: PyFile) -> dict[str, set[str]]:
    """The words of a file by the name that they are given to or compared with."""
    found: dict[str, set[str]] | None = file.notes.get("vocabulary")
    if found is None:
        found = {}
        for node in file.index.nodes[ast.Constant]:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORD.fullmatch(node.value):
                name = tied(file, node)
                if name:
                    found.setdefault(name, set()).add(node.value)
        file.notes["vocabulary"] = found
    return found


def tied(file: PyFile, node: ast.expr) -> str:
    """The name that a string is given to or compared with; empty when it is a device for sure, or nothing is known."""
    at: ast.AST = node
    up = file.parent(at)
    while isinstance(up, (ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.List, ast.Tuple, ast.Set)):
        if at is getattr(up, "test", None):
            return ""
        at, up = up, file.parent(up)
    if isinstance(up, ast.Compare):
        others = [side for side in (up.left, *up.comparators) if side is not at]
        text = " ".join(file.text(side) for side in others if side not in file.lost)
        return "" if DEVICE_WORD.search(text) else _key(_last(others[0]))
    if isinstance(up, ast.keyword):
        call = file.parent(up)
        return _given(file, call, up.arg) if isinstance(call, ast.Call) else ""
    if isinstance(up, ast.Call):
        return _positional(file, up, at)
    if isinstance(up, ast.Dict) and at in up.values:
        key = up.keys[up.values.index(at)]
        return _key(key.value) if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    if isinstance(up, (ast.Assign, ast.AnnAssign)) and up.value is at:
        return _key(_last(up.targets[0] if isinstance(up, ast.Assign) else up.target))
    if isinstance(up, ast.arguments):
        return _parameter(up, at)
    if isinstance(up, ast.Subscript):
        return _annotated(file, up)
    if isinstance(up, MatchValue):
        match = next(one for one in file.ancestors(up) if isinstance(one, Match))
        return _key(_last(match.subject))
    return ""


def _annotated(file: PyFile, at: ast.AST) -> str:
    """The parameter or variable whose annotation lists a string: `kind: Literal["ref", "cuda"] | None`."""
    up = file.parent(at)
    while isinstance(up, (ast.Subscript, ast.BinOp, ast.Tuple)):
        at, up = up, file.parent(up)
    if isinstance(up, ast.arg) and up.annotation is at:
        return _key(up.arg)
    return _key(_last(up.target)) if isinstance(up, ast.AnnAssign) and up.annotation is at else ""


def _given(file: PyFile, call: ast.Call, keyword: str | None) -> str:
    if (file.name(call.func) or "").startswith("torch."):
        return ""
    if keyword in ("default", "choices") and call.args:
        option = next((arg.value for arg in reversed(call.args) if isinstance(arg, ast.Constant)), "")
        return _key(option) if isinstance(option, str) else ""
    return _key(keyword or "")


def _positional(file: PyFile, call: ast.Call, at: ast.AST) -> str:
    """The parameter that an argument fills, or the key that a default stands for."""
    word = shapes.last_word(call.func)
    if (file.name(call.func) or "").startswith("torch.") or at not in call.args:
        return ""
    place = call.args.index(at)
    if word in _LOOKUPS and place:
        key = call.args[place - 1]
        return _key(key.value) if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    for target in reach.called(call, file):
        if isinstance(target, ast.ClassDef):
            continue
        names = [arg.arg for arg in [*target.args.posonlyargs, *target.args.args]]
        names = names[1:] if names[:1] in (["self"], ["cls"]) else names
        if place < len(names):
            return _key(names[place])
    return ""


def _parameter(arguments: ast.arguments, default: ast.AST) -> str:
    names = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(names), reversed(arguments.defaults)),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return _key(next((arg.arg for arg, value in pairs if value is default), ""))


def _last(node: ast.expr) -> str:
    """The last word of a variable: `impl` of `impl`, `self.impl`, `args["impl"]`, `cfg.get("impl")`, `impl.lower()`."""
    if isinstance(node, ast.Subscript):
        key = node.slice
        return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    if isinstance(node, ast.Call):
        if shapes.last_word(node.func) in _LOOKUPS:
            keys = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            return keys[0] if keys else ""
        return _last(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node, ast.Attribute) and node.attr == "type":
        # `source.type` is a device's where devices are compared, whatever else has a type in the project.
        return ""
    return shapes.last_word(node)
