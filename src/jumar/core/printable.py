"""Text of others made harmless where it goes out: what would steer a terminal or reorder a line is shown as its number.

Names of files, messages of programs and words of a project may hold anything. Control characters (C0, C1, DEL) move the
cursor, set titles and hide lines; formatting characters without width reorder or hide what stands beside them (Unicode
Technical Report 36, and "Trojan Source", CVE-2021-42574). They are shown as `\\x1b` and `\\u202e`.
"""

from __future__ import annotations

import re

_UNSEEN = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f"
)
"""What Unicode calls format characters, the separators of lines and paragraphs, and letters without a shape."""
_STEERING = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_UNSEEN}]|\r(?!\n)")
_OURS = ("0", "1", "2", "31", "32", "33", "36")
"""The colours of our own lines. Text of others may have them too: they hide and move nothing."""
_COLOUR = re.compile(rf"(\x1b\[(?:{'|'.join(_OURS)})m)")
_STYLE = re.compile(r"(\x1b\[[0-9;:]*m)")
_MOVE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-ln-~]")
_MARKUP = re.compile(r"[\\<\[]")
_NOT_PLAIN = re.compile(f"[\x7f-\x9f{_UNSEEN}]")


def printable(text: str) -> str:
    """The text for a terminal, a log or a page; tabs and line ends stay."""
    return _STEERING.sub(_number, text)


def one_line(text: str) -> str:
    """The same for a name or a sentence, which cannot begin a line of its own."""
    return printable(text).replace("\r", "\\r").replace("\n", "\\n")


def paint(text: str, code: str) -> str:
    """A word of ours in one of our colours."""
    assert code in _OURS, code
    return f"\x1b[{code}m{text}\x1b[0m"


def coloured(text: str) -> str:
    """The text for a terminal with our own colours left in it."""
    return _between(_COLOUR, text) if "\x1b" in text else printable(text)


def of_program(line: str) -> str:
    """A line of a program that the user runs: its colours stay, and what moves the cursor goes."""
    return _between(_STYLE, _MOVE.sub("", line)) if "\x1b" in line else printable(line)


def in_json(text: str) -> str:
    """A JSON text with the same meaning that no terminal or editor takes for something else."""
    return _NOT_PLAIN.sub(_escape, text)


def markdown(text: str) -> str:
    """A sentence for a cell or a line of Markdown: code between backticks stays code, and nothing else is markup."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["'".join(parts[-2:])]
    said = (part if at % 2 else _MARKUP.sub(r"\\\g<0>", part) for at, part in enumerate(parts))
    return "`".join(said).replace("|", "\\|")


def _between(kept: re.Pattern[str], text: str) -> str:
    return "".join(part if at % 2 else printable(part) for at, part in enumerate(kept.split(text)))


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape(match: re.Match[str]) -> str:
    """As JSON has it: two units of UTF-16 beyond the first plane."""
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
