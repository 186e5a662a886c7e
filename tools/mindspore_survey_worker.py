"""Asks MindSpore whether it has names and takes calls; for tools/mindspore_survey.py, which writes them to stdin."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from functools import cache
from typing import Any


def main() -> None:
    print("\n" + json.dumps([is_refused(use) for use in json.load(sys.stdin)]))


def is_refused(use: dict[str, Any]) -> bool:
    is_there = resolved(use["name"])[1]
    if not is_there or use.get("call") is None:
        return not is_there
    signature = taken(use["name"])
    if signature is None:
        return False
    count, names = use["call"]
    try:
        signature.bind(*[0] * count, **dict.fromkeys(names, 0))
    except TypeError:
        return True
    return False


@cache
def resolved(name: str) -> tuple[Any, bool]:
    """What a dotted name stands for; an attribute of something that is neither module nor class is not judged."""
    parts = name.split(".")
    found: Any = None
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        break
    for part in parts[cut:]:
        if not hasattr(found, part):
            return None, not (inspect.ismodule(found) or inspect.isclass(found))
        found = getattr(found, part)
    return found, True


@cache
def taken(name: str) -> inspect.Signature | None:
    found = resolved(name)[0]
    try:
        if not inspect.isclass(found):
            return inspect.signature(found)
        signature = inspect.signature(inspect.unwrap(found.__init__))
    except (TypeError, ValueError):
        return None
    return signature.replace(parameters=list(signature.parameters.values())[1:])


if __name__ == "__main__":
    main()
