"""The purpose of an expression: a device, a name to compare with, a key, a message for people."""

from __future__ import annotations

import ast
import re

from jumar.core.compat import Match, MatchMapping, MatchValue, zip
from jumar.migrate.passes.torch import words
from jumar.migrate.passes.torch.styles.change import Use
from jumar.migrate.passes.torch.words import DEVICE_WORD, DEVICES
from jumar.migrate.pyfile import PyFile

_MESSAGE_CALLS = re.compile(
    r"print\w*|warn|warning|warn_once|info|debug|error|exception|critical|fatal|log\w*|skip\w*|xfail|fail|echo"
    r"|format_usage|ArgumentParser|add_argument_group|rank0_print|print_rank\w*|\w*(Error|Exception|Warning|Exit)"
)
_MESSAGE_KEYWORDS = {"help", "description", "epilog", "reason", "msg", "message", "title", "desc", "usage", "metavar"}
_OTHER_KEYWORDS = {"name", "tag", "label", "key", "prefix", "suffix", "id", "group", "namespace", "mode", "target"}
_NAMING_CALLS = {"getattr", "hasattr", "setattr", "delattr", "__import__", "eval", "exec", "open", "Path", "namedtuple"}
_ENVIRONMENT = ("os.environ.get", "os.getenv", "os.environ.setdefault", "os.environ.pop")
_OTHER_MODULES = ("os.", "re.", "subprocess.", "shutil.", "importlib.", "logging.", "pathlib.", "glob.", "sys.")
_KEY_METHODS = {"get", "pop", "setdefault"}
_STRING_TESTS = {
    "startswith", "endswith", "removeprefix", "removesuffix", "strip", "lstrip", "rstrip", "split", "rsplit",
    "partition", "rpartition", "replace", "count", "find", "index", "rfind",
}  # fmt: skip
OWN_WORD = "the program's own word"


def is_message(file: PyFile, node: ast.AST) -> bool:
    """Is this text for people: printed, logged, raised, or a help text?"""
    at, up = node, file.parent(node)
    while up is not None and not isinstance(up, ast.stmt):
        if isinstance(up, ast.keyword):
            if up.arg in _MESSAGE_KEYWORDS:
                return True
        elif isinstance(up, ast.Call) and at is not up.func:
            called = up.func.attr if isinstance(up.func, ast.Attribute) else getattr(up.func, "id", "")
            if _MESSAGE_CALLS.fullmatch(called) and not _is_torch(file, up.func):
                return True
            if called != "format" and called != "join" and called != "str":
                return False
        elif not isinstance(up, (ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.IfExp, ast.Attribute, ast.Call)):
            return False
        at, up = up, file.parent(up)
    return isinstance(up, ast.Assert) and at is up.msg


def _is_torch(file: PyFile, node: ast.AST) -> bool:
    return (file.name(node) or "").startswith("torch.")


def device_use(file: PyFile, node: ast.expr) -> tuple[Use | None, str]:
    """What a string that could name a device is there for; None with the reason when it is no device for sure."""
    use, reason = _use(file, node)
    is_bare = isinstance(node, ast.Constant) and node.value == "cuda"
    if is_bare and (use is not None or reason == "unsure"):
        is_listed = isinstance(file.parent(node), (ast.List, ast.Tuple, ast.Set))
        if (use is not None or not is_listed) and words.is_own(file, node):
            return None, OWN_WORD
        if use is None and words.tied(file, node) in file.settings.facts.device_names:
            return _shape(file, node), ""
    return use, reason


def _shape(file: PyFile, node: ast.expr) -> Use:
    """What a string does that is known to be a device."""
    up = file.parent(node)
    if isinstance(up, ast.Compare):
        return Use.COMPARE
    return Use.CHOICE if isinstance(up, (ast.List, ast.Tuple, ast.Set)) else Use.MAKE


def _use(file: PyFile, node: ast.expr) -> tuple[Use | None, str]:
    if is_message(file, node):
        return None, "text for people"
    at: ast.AST = node
    up = file.parent(at)
    while isinstance(up, (ast.IfExp, ast.BoolOp, ast.NamedExpr)) and at is not getattr(up, "test", None):
        at, up = up, file.parent(up)
    if isinstance(up, ast.Compare):
        return _compared(file, up, at)
    if isinstance(up, ast.keyword):
        return _keyword(file, up, node)
    if isinstance(up, ast.Call):
        return _argument(file, up, at)
    if isinstance(up, (ast.List, ast.Tuple, ast.Set)):
        return _member(file, up, node)
    if isinstance(up, ast.Dict):
        return _in_dict(file, up, at)
    if isinstance(up, ast.Subscript):
        return _subscript(file, up)
    if isinstance(up, (MatchValue, MatchMapping)):
        return (None, OWN_WORD) if words.is_vocabulary(_patterns(file, up)) else (Use.KEY, "")
    if isinstance(up, ast.Assign) and isinstance(file.parent(up), ast.ClassDef) and _is_enum_word(file, up):
        return None, OWN_WORD
    if isinstance(up, (ast.Attribute, ast.BinOp)):
        return None, "unsure"
    return _known(file, Use.MAKE, _target(file, at))


def _patterns(file: PyFile, node: ast.AST) -> list[str]:
    """The strings that a `match` knows."""
    match = next((up for up in file.ancestors(node) if isinstance(up, Match)), None)
    patterns = [case.pattern for case in match.cases] if match is not None else []
    inner = [one.value for pattern in patterns for one in ast.walk(pattern) if isinstance(one, MatchValue)]
    return [one.value for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def _is_enum_word(file: PyFile, node: ast.Assign) -> bool:
    """Does the class of this member have other members with words that name no device?"""
    owner = file.parent(node)
    assert isinstance(owner, ast.ClassDef)
    if not any("enum" in file.text(base).lower() for base in owner.bases):
        return False
    values = [one.value for one in owner.body if isinstance(one, ast.Assign)]
    return words.is_vocabulary(
        value.value.lower() for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)
    )


def _known(file: PyFile, use: Use, hint: str) -> tuple[Use | None, str]:
    """Without torch in the file only a telling name makes a bare "cuda" a device."""
    if file.imports("torch") or DEVICE_WORD.search(hint):
        return use, ""
    return None, "unsure"


def _target(file: PyFile, node: ast.AST) -> str:
    """The name that a value gets: a variable, a parameter, an attribute."""
    up = file.parent(node)
    if isinstance(up, ast.Assign):
        return " ".join(file.text(target) for target in up.targets if isinstance(target, (ast.Name, ast.Attribute)))
    if isinstance(up, ast.AnnAssign):
        return file.text(up.target)
    if isinstance(up, ast.arguments):
        names = [*up.posonlyargs, *up.args]
        pairs = [
            *zip(reversed(names), reversed(up.defaults)),
            *zip(up.kwonlyargs, up.kw_defaults, strict=True),
        ]
        return next((arg.arg for arg, default in pairs if default is node), "")
    if isinstance(up, ast.Return):
        around = file.index.function_scope(up)
        return getattr(around, "name", "")
    return ""


def _compared(file: PyFile, compare: ast.Compare, at: ast.AST) -> tuple[Use | None, str]:
    others = [side for side in (compare.left, *compare.comparators) if side is not at]
    text = " ".join(file.text(side) for side in others if side not in file.lost)
    if re.search(r"argv|environ|version|path|file", text):
        return None, "unsure"
    if isinstance(compare.ops[0], (ast.In, ast.NotIn)) and at is compare.left:
        if any(isinstance(side, (ast.List, ast.Tuple, ast.Set, ast.Dict)) for side in others):
            return None, "unsure"
        return (Use.COMPARE, "") if DEVICE_WORD.search(text) else (None, "unsure")
    return _known(file, Use.COMPARE, text)


def _keyword(file: PyFile, keyword: ast.keyword, node: ast.expr) -> tuple[Use | None, str]:
    call = file.parent(keyword)
    if keyword.arg in _OTHER_KEYWORDS:
        return None, "unsure"
    if keyword.arg == "accelerator":
        return None, "other rule"
    if keyword.arg == "default" and isinstance(call, ast.Call):
        option = call.args[0] if call.args else None
        hint = option.value if isinstance(option, ast.Constant) and isinstance(option.value, str) else ""
        return _known(file, Use.MAKE, hint)
    return _known(file, Use.MAKE, keyword.arg or "")


def _argument(file: PyFile, call: ast.Call, at: ast.AST) -> tuple[Use | None, str]:
    func = call.func
    name = file.name(func) or ""
    first = bool(call.args) and call.args[0] is at
    if isinstance(func, ast.Attribute):
        if func.attr in _STRING_TESTS:
            return _known(file, Use.COMPARE, file.text(func.value))
        if func.attr in _KEY_METHODS and first:
            return _key_of(file, func.value)
        if func.attr == "add_argument":
            return None, "name of an option"
    if isinstance(func, ast.Name) and func.id in _NAMING_CALLS:
        return None, "other rule" if func.id in ("getattr", "hasattr", "setattr", "delattr") else "unsure"
    if name in _ENVIRONMENT and not first and _is_device_choice(file, call):
        return Use.MAKE, ""
    if name.startswith(_OTHER_MODULES):
        return None, "unsure"
    return _known(file, Use.MAKE, file.text(func) if func not in file.lost else "")


def _is_device_choice(file: PyFile, call: ast.Call) -> bool:
    """`DEVICE = os.environ.get("TEST_DEVICE", "cuda")`: does the variable's name, or its own, speak of devices?"""
    key = call.args[0] if call.args else None
    name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    return bool(DEVICE_WORD.search(name) or DEVICE_WORD.search(_target(file, call)))


def is_exported(file: PyFile, node: ast.expr) -> bool:
    """Is this an entry of `__all__` or `__slots__`?"""
    statement = file.statement(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(isinstance(target, ast.Name) and target.id in ("__all__", "__slots__") for target in targets)


def _member(file: PyFile, container: ast.List | ast.Tuple | ast.Set, node: ast.expr) -> tuple[Use | None, str]:
    names = [item.value for item in container.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    up = file.parent(container)
    if is_exported(file, node):
        return None, "name of the module"
    if isinstance(up, ast.Dict) and container in up.keys:
        return None, "key of a table"
    if words.is_vocabulary(names):
        is_asked = isinstance(up, (ast.Compare, ast.Subscript)) or (isinstance(up, ast.keyword) and up.arg == "choices")
        return None, OWN_WORD if is_asked else "unsure"
    if isinstance(up, ast.Subscript):
        return _subscript(file, up)
    if isinstance(up, ast.keyword) and up.arg == "choices":
        return Use.CHOICE, ""
    if isinstance(up, ast.Compare) and container in up.comparators:
        return _known(file, Use.CHOICE, file.text(up.left) if up.left not in file.lost else "")
    if isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and up.func.attr in _STRING_TESTS:
        return Use.CHOICE, ""
    if isinstance(up, ast.keyword):
        return _known(file, Use.MAKE, up.arg or "")
    return _known(file, Use.MAKE, _target(file, container))


def _in_dict(file: PyFile, table: ast.Dict, at: ast.AST) -> tuple[Use | None, str]:
    if at in table.keys:
        if is_device_table(file, table):
            return Use.KEY, ""
        keys = [key.value for key in table.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        return None, OWN_WORD if words.is_vocabulary(keys) else "unsure"
    key = table.keys[table.values.index(at)]  # type: ignore[arg-type]
    hint = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    if hint in _OTHER_KEYWORDS:
        return None, "unsure"
    return _known(file, Use.MAKE, f"{hint} {_target(file, table)}")


def is_device_table(file: PyFile, table: ast.Dict) -> bool:
    """Are the keys of this dict devices? Two or more device names, a card's number, or a `map_location`."""
    keys = [key.value for key in table.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if not any(DEVICES.fullmatch(key) for key in keys) or words.is_vocabulary(keys):
        return False
    up = file.parent(table)
    if isinstance(up, ast.keyword) and up.arg in ("map_location", "device_map"):
        return True
    return len(keys) > 1 or ":" in keys[0]


def _subscript(file: PyFile, node: ast.Subscript) -> tuple[Use | None, str]:
    name = file.name(node.value) or ""
    if name.endswith((".Literal", "Literal")):
        return Use.CHOICE, ""
    return _key_of(file, node.value)


def _key_of(file: PyFile, table: ast.expr) -> tuple[Use | None, str]:
    """A key used on a table: a device if the table's own literal, in this file, is one of devices."""
    if isinstance(table, ast.Dict):
        return (Use.KEY, "") if is_device_table(file, table) else (None, "key of a table")
    if not isinstance(table, ast.Name):
        return None, "unsure"
    found = file.index.scope[table].lookup(table.id)
    values = [binding.value for binding in found[1]] if found else []
    if values and all(isinstance(value, ast.Dict) and is_device_table(file, value) for value in values):
        return Use.KEY, ""
    if values and all(
        isinstance(value, ast.Dict) or (isinstance(value, ast.Call) and getattr(value.func, "id", "") == "dict")
        for value in values
    ):
        return None, "key of a table"
    return None, "unsure"
