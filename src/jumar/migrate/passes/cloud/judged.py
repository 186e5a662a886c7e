"""What an option holds, judged by its default and its help text, where no call of the program tells."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jumar.core.compat import zip

_PLACE = re.compile(r"(?:path|dir|dirs|root|folder|file|home|outf)$")
_PATH = re.compile(r"[/\\]|\.\w+$")
_STATE = re.compile(r"\.(?:ckpt|pth|pt|tar|mindir|safetensors|h5)$")
_SETTINGS = re.compile(r"\.(?:ya?ml|json|toml|ini)$")
_RESULT_WORDS = re.compile(
    r"(?:^|[^a-z])(?:out|outputs?|logs?|ckpts?|checkpoints?|saved?|results?|runs?|exp|exps|experiments?|snapshots?"
    r"|train_out|work_dirs?|models?|weights)(?=$|[^a-z])"
)
_DATA_WORDS = re.compile(
    r"(?:^|[^a-z])(?:data|datasets?|images?|imgs?|videos?|annotations?|labels?|mnist|cifar\d*|imagenet\d*|coco\d*|voc\d*"
    r"|kitti|corpus|mindrecords?|train|val|test|eval)(?=$|[^a-z])"
)
_PARTS = ("train", "val", "test", "eval")
"""Words of data in a path; in the name of a setting they say when it is used."""
_HELP_PLACE = re.compile(r"\b(?:path|paths|dir|director(?:y|ies)|folders?|files?|root|location|where)\b")
_HELP = {
    "start": re.compile(r"\b(?:pre-?trained|pretrain|resum\w+|restor\w+|initial\w*|load)\b"),
    "results": re.compile(
        r"\b(?:sav(?:e|ed|ing)|outputs?|writ(?:e|ten)|stor(?:e|ed|ing)|results?|logs?|checkpoints?)\b"
    ),
    "data": re.compile(r"\b(?:data ?sets?|data|images?|videos?|annotations?|labels?|corpus|samples)\b"),
}


def is_path(name: str, default: object) -> bool:
    """Can the option hold a path? A bare word is one only under a name that speaks of a place."""
    if not isinstance(default, str) or not default or default.lower() == "none":
        return True
    return _PATH.search(default) is not None or _PLACE.search(name.lower()) is not None


def by_text(name: str, default: object, about: str) -> str | None:
    """The kind of an option that its default or its help text tells; None when both are silent or contradict."""
    text = default if isinstance(default, str) else ""
    if text and not is_path(name, text):
        return None
    named = _by_default(text.lower(), name.lower()) if text else None
    helped = _by_help(about.lower(), sure=bool(_PATH.search(text)) or bool(_PLACE.search(name.lower())))
    if text.startswith(("/", "~")) and named is None and helped is None and not _STATE.search(text):
        return "data" if not _RESULT_WORDS.search(name.lower()) else "results"
    return helped or named


def is_data(text: str) -> bool:
    """Does a path speak of data and not of results?"""
    return _DATA_WORDS.search(text.lower()) is not None and _RESULT_WORDS.search(text.lower()) is None


def is_result(name: str) -> bool:
    """Does the name of a setting speak of results and not of data?"""
    words = " ".join(name.lower().split("_"))
    return _RESULT_WORDS.search(words) is not None and _DATA_WORDS.search(words) is None


def is_of_data(name: str) -> bool:
    """Does the name of a setting speak of data, or of the root of something, and not of results?"""
    words = [word for word in name.lower().split("_") if word not in _PARTS]
    return is_data(" ".join(words)) or (words[-1:] == ["root"] and not is_result(name))


def sibling(name: str, kinds: Mapping[str, str]) -> str | None:
    """The kind of options whose names differ in one word: `val_LR_path` is what `val_GT_path` is."""
    words = name.lower().split("_")
    if len(words) < 2 or not _PLACE.search(name.lower()) or _RESULT_WORDS.search(" ".join(words)):
        return None
    found = {kind for other, kind in kinds.items() if kind == "data" and _differs_once(words, other.lower().split("_"))}
    return found.pop() if len(found) == 1 else None


def _differs_once(one: list[str], other: list[str]) -> bool:
    if len(one) != len(other) or one[-1] != other[-1] or len(one) < 2:
        return False
    return sum(a != b for a, b in zip(one, other, strict=True)) == 1


def _by_default(text: str, name: str) -> str | None:
    if _STATE.search(text):
        return "start"
    if _SETTINGS.search(text):
        return "config" if not _DATA_WORDS.search(text) else None
    found = {
        kind
        for kind, words in (("results", _RESULT_WORDS), ("data", _DATA_WORDS))
        if words.search(text) or words.search(name)
    }
    return found.pop() if len(found) == 1 else None


def _by_help(text: str, *, sure: bool) -> str | None:
    if not sure and not _HELP_PLACE.search(text):
        return None
    found = {kind for kind, words in _HELP.items() if words.search(text)}
    if "start" in found and "data" not in found and not re.search(r"\bsav", text):
        return "start"
    return found.pop() if len(found) == 1 else None
