"""What an error of the system means is said in one place, `core/errors.py`: read from the handlers themselves."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "jumar"
OWN_WORDS = {
    "cloud/standin/enter.py": "run with `-I -S`: nothing of jumar is there",
    "core/errors.py": "the place for it",
    "runtime/cage/enter.py": "run with `-I -S`: nothing of jumar is there",
    "emulate/glue/load.py": "the words are those of the dynamic linker, without a number",
    "launch/backends/rank.py": "run with `-I -S`: nothing of jumar is there",
}
"""Modules that may put an error of the system into words, and why."""
SYSTEM = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, OSError)}
WORDS = {"strerror", "args"}
"""What an error of the system has besides its number and the name of the file."""


def _modules() -> list[Path]:
    return sorted(SOURCES.rglob("*.py"))


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_errors_of_the_system_are_said_in_one_way(path: Path) -> None:
    places = sorted(own_words(ast.parse(path.read_bytes())))
    if path.relative_to(SOURCES).as_posix() in OWN_WORDS:
        assert places, f"{path} has no words of its own any more: take it out of OWN_WORDS"
    else:
        assert not places, f"{path}:{places[0]}: use `cannot`, `meaning` or `reason` of jumar.core.errors"


@pytest.mark.parametrize(
    "handler",
    [
        "except OSError as error: raise UserError(f'cannot read: {error.strerror}')",
        "except (ValueError, PermissionError) as error: say(f'no: {error}')",
        "except OSError as e: say('no: ' + str(e))",
        "except OSError as e: say('no: %s' % e)",
        "except OSError as e: say('no: {}'.format(e))",
        "except OSError as e: say(e.args[1])",
        "except BROKEN as error: say(f'{error!r}')",
        "except OSError as e: say(os.strerror(e.errno))",
    ],
)
def test_words_of_its_own_are_found(handler: str) -> None:
    assert list(own_words(ast.parse(f"BROKEN = (EOFError, OSError)\ntry: work()\n{handler}")))


@pytest.mark.parametrize(
    "handler",
    [
        "except OSError as error: raise cannot('read', error) from error",
        "except OSError as error: say(f'{meaning(error).reason}, {reason(error)}, {error.filename}')",
        "except ValueError as error: say(f'{error}')",
        "except OSError as error: return error.errno == 2",
    ],
)
def test_what_says_nothing_of_its_own_passes(handler: str) -> None:
    assert not list(own_words(ast.parse(f"def do():\n try: work()\n {handler}")))


def own_words(tree: ast.Module) -> Iterator[int]:
    """Lines where a handler of the system's errors shows the words of the system."""
    for handler in ast.walk(tree):
        if isinstance(handler, ast.ExceptHandler) and handler.name and _caught(handler, tree) & SYSTEM:
            for node in ast.walk(handler):
                if any(_is(value, handler.name) for value in _shown(node)):
                    yield getattr(node, "lineno", handler.lineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "strerror" and not _makes_an_error(node, tree):
            yield node.lineno


def _shown(node: ast.AST) -> list[ast.expr]:
    """The values that a piece of a handler turns into text."""
    if isinstance(node, ast.FormattedValue):
        return [node.value]
    if isinstance(node, ast.Attribute) and node.attr in WORDS:
        return [node.value]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return [*node.right.elts] if isinstance(node.right, ast.Tuple) else [node.right]
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return node.args if name in ("str", "repr", "format") else []
    return []


def _is(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Name) and value.id == name


def _caught(handler: ast.ExceptHandler, tree: ast.Module) -> set[str]:
    """The exceptions of a handler; a name that the module gives to several stands for them."""
    found = _names(handler.type)
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id in found for one in node.targets):
            found |= _names(node.value)
    return found


def _names(node: ast.AST | None) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} if node is not None else set()


def _makes_an_error(node: ast.Attribute, tree: ast.Module) -> bool:
    """`OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)` is how one is made."""
    return any(
        isinstance(call, ast.Call) and getattr(call.func, "id", "") in SYSTEM and node in set(ast.walk(call))
        for call in ast.walk(tree)
    )
