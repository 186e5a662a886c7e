"""What stands around a line: its neighbours, the lines it is wrapped over, and the frames of its traceback."""

from __future__ import annotations

import re

from jumar.machine.explain.result import Frame
from jumar.machine.explain.scan import Candidate

_ABOVE, _BELOW = 2, 3
"""Lines kept as neighbours."""
_REACH = 6
"""Lines between the last frame and the exception."""
_SHOWN = 240
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)(?:, in ([^\s]+))?')
_BEGIN = "Traceback (most recent call last)"
_LIBRARY = re.compile(
    r"(?:site|dist)-packages/|/lib(?:64)?/python[\d.]*/|^<|/Ascend/|python\d?\.zip/|/(?:vllm|sgl)-workspace/"
)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
NEAR = 6000
"""Characters above a line in which a row looks for what decides; below it, all that is kept."""
_WORKS = re.compile(r"\bINFO\b|\[I[ \]]|\d+%\||\bit/s\b|\biteration +\d+|\b(?:step|epoch)s?[ :=]+\d+", re.I)
_FAILS = re.compile(r"Traceback|\bERROR\b|Error\b|Exception\b|\b[Ff]ail|Aborted|Killed|core dumped|exit")
_CHAIN = re.compile(r"During handling of the above exception|direct cause of the following exception")
_AT_EXIT = re.compile(r"Exception ignored in|Error in atexit\._run_exitfuncs|at interpreter shutdown")
_EXIT_LINES = 14
"""Lines of a traceback below the report of an exception at the end."""
_MARKS = re.compile(r"(?:^|\s)[\^~]+\s*$")
_OPEN = re.compile(r"[:,(\\=-]\s*$")


def neighbours(before: str, after: str) -> tuple[str, ...]:
    """The nearest lines that are not empty, above and below."""
    above = [line for line in before.splitlines()[-8:] if line.strip()][-_ABOVE:]
    below = [line for line in after.splitlines()[1:9] if line.strip()][:_BELOW]
    return tuple(_ESCAPE.sub("", line).rstrip()[:_SHOWN] for line in [*above, *below])


def above(before: str) -> str:
    """The nearest line above that says something; marks below a source line do not."""
    lines = before.rstrip("\n").rsplit("\n", 5)[-4:]
    return next((line for line in reversed(lines) if line.strip() and not _MARKS.search(line)), "")


def joined(text: str, before: str, after: str) -> tuple[str, int, int]:
    """A line with those that it continues or that continue it, and where the line itself begins and ends in it."""
    above = before.rstrip("\n").rpartition("\n")[2]
    below = after.lstrip("\r\n").partition("\n")[0]
    head = above.strip() + " " if above.strip() and (text[:1].isspace() or _OPEN.search(above)) else ""
    tail = " " + below.strip() if below.strip() and (below[:1].isspace() or _OPEN.search(text)) else ""
    return head + text.strip() + tail, len(head), len(head) + len(text.strip())


def is_near(pattern: str, candidate: Candidate) -> bool:
    """Is there a line nearby that decides for a row?"""
    text = candidate.before[-NEAR:] + candidate.text + candidate.after
    return bool(re.search(pattern, text.decode("utf-8", "replace")))


def goes_on(after: str) -> bool:
    """Does the program report work, and no failure, on the next lines?"""
    below = [line for line in after.splitlines()[1:8] if line.strip()][:2]
    return any(_WORKS.search(line) for line in below) and not any(_FAILS.search(line) for line in below)


def is_chained(before: str) -> bool:
    """Does the traceback that ends here say that it follows from the one above?"""
    return bool(_CHAIN.search(before[: before.rfind(_BEGIN)][-400:])) if _BEGIN in before else False


def is_at_exit(before: str) -> bool:
    """Does the exception belong to a report just above it, of a failure while Python was ending?"""
    lines = before.splitlines()[-_EXIT_LINES:]
    places = [number for number, line in enumerate(lines) if _AT_EXIT.search(line)]
    below = lines[places[-1] + 1 :] if places else []
    return bool(places) and all(line[:1].isspace() or line.startswith(_BEGIN) or not line for line in below)


def frames(before: str) -> tuple[Frame, ...]:
    """Of the traceback that ends just above: the deepest frame of the program, and the last one if a library's."""
    last = before[before.rfind(_BEGIN) :] if _BEGIN in before else before
    places = list(_FRAME.finditer(last))
    if not places or last.count("\n", places[-1].end()) > _REACH:
        return ()
    found = [Frame(place[1], int(place[2]), place[3] or "", not _LIBRARY.search(place[1])) for place in places]
    own = [frame for frame in found if frame.is_own][-1:]
    return (*own, *(frame for frame in found[-1:] if not frame.is_own))
