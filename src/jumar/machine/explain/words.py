"""The log's own words as a headline: whole sentences, no marks of quoting, no advice that follows them."""

from __future__ import annotations

import re

from jumar.tables.errors import reasons

_LONGEST = 200
"""Characters kept of a value."""
_NOISE = re.compile(r"[\s`\x00-\x1f]+")
_BOUNDARY = re.compile(r"(?:[:\]|>=;]|[.!?]|\A)[ \t]+|\t| {2,}|\A|[\[({]|(?<=[\s(\[=,:])[\"']")
"""Where a sentence can begin."""
_BEGINS = re.compile(r"(?:[:|>=;\]]|[.!?])\s*$|[\[({]$|(?:^|[\s(\[=,:])[\"']$")
"""What stands before a match that is the beginning of a sentence."""
_FARTHEST = 160
"""Characters by which a sentence is followed to the left."""
_LEVEL = re.compile(r"\A[^\w'\"/<(\[{$-]*(?:(?:ERROR|FATAL|CRITICAL|[Ee]rror|EXCEPTION)\b[^\w'\"/<(\[{$-]*)+")
_OPENING = re.compile(r"\A(?:[.,;:!?)\]}>|=*#~\s]|-(?![\d-]))+")
_NEXT = re.compile(r"(?<=[\w)\]'\"`])[.!] +(?=[A-Z])")
_ADVICE = re.compile(
    r"(?:Please|For (?:more|further|details)|See\b|If you|You (?:can|may|should|need)"
    r"|To (?:fix|use|avoid|disable|enable|solve)"
    r"|Refer|Check\b|Consider|Try\b|Make sure|Note\b|More (?:info|details)|This (?:may|might|could)|Alternatively"
    r"|Read\b|Visit|Possible|Solution|Suggest|In (?:this|that) case|Otherwise|We )"
)
"""How a sentence begins that follows the reason."""
_PREFIX = re.compile(
    r"\A(?:(?:\d{2,4}[-/]\d\d(?:[-/]\d\d)?[T-]?|\d\d:\d\d:\d\d[.,\d]*"
    r"|\[[\w./-]+:\d+\]|\[(?:PID: ?)?\d+\]|\(\w+ pid=\d+\))[\s:,|-]*)+"
)
"""A time, a place in a source and a process, as loggers write them."""
_CODED = re.compile(r"\b(?:E[A-Z1-9]\d{4}|ERR\d{5}|MIE\d\w{6,})\b\]?:?\s+")
_MARKED = re.compile(r"(?:\bERROR\b|\b[Ee]rror\b ?:|\bFATAL\b|\b\w+Error:|\bE[A-Z1-9]\d{4}\]?:)[\]:|> ,-]*")
"""What stands before the words of an error."""
_TAG = r"\[[^\]\n]{1,40}\]"
_AFTER_CODE = re.compile(
    rf"[\])'\"]*\s*(?:[,:;.|-]|{_TAG}|\](?=\s))\s*(?:{_TAG}\s*)*(?:(?:detail|reason|msg|message):)?\s*", re.I
)
"""What stands between a code and the words about it."""
_PAIRS = {")": "(", "]": "[", "}": "{"}
_SOURCE = re.compile(
    r"(?:^|[\])>|]\s+|\s{2,})"
    r"(?:raise [A-Za-z_][\w.]*\(|raise [A-Za-z_][\w.]*$|assert [^:]|return [a-z_]+\(|logger\.\w+\()"
)
_UNFILLED = re.compile(r"\bf[\"'][^\"'\n]*\{|%[sd]\b(?!\w).*[\"']")
_PROSE = re.compile(
    r"\bI(?:'m|'ve| (?:am|have|had|get|got|try|tried|use|used|run|ran|want|think|found|can|could|do|did|just)\b)"
    r"|\b(?:[Aa]nyone|[Tt]hanks|[Hh]ello everyone|[Hh]elp me|any idea)\b|^\s*#{1,5} |^\s*[-*] \[[ x]\]"
)


def is_source(line: str) -> bool:
    """Is it a line of source that a traceback shows, with places that are not filled in?"""
    return bool(_SOURCE.search(line) or _UNFILLED.search(line))


def is_prose(line: str) -> bool:
    """Did a person write it about a log?"""
    return bool(_PROSE.search(line))


def sentence(text: str, start: int, end: int) -> str:
    """The part of a line as a headline: from the beginning of its sentence to the end of the one with the reason."""
    return headline(text[_begin(text, start) : end])


def headline(text: str) -> str:
    """A part of a line without what only surrounds its words, and without the advice after them."""
    return balanced(plain(_first(_opened(_PREFIX.sub("", _LEVEL.sub("", text).lstrip())))))


def beside(line: str, end: int) -> str:
    """What a line says after the match of a code that ends at `end`, or else after the code, if that is a reason."""
    if is_source(line):
        return ""
    rest = line[end:]
    found = _AFTER_CODE.match(rest) or (re.match(r"\s+", rest) if line[:end].endswith("]") else None)
    coded = _CODED.search(line)
    parts = [rest[found.end() :]] if found else []
    parts += [line[coded.end() :]] if coded else []
    return next((said for said in map(headline, parts) if _is_reason(said)), "")


def _is_reason(said: str) -> bool:
    return len(said) > 16 and " " in said and bool(re.search(reasons(), said))


def of_neighbour(lines: list[str]) -> str:
    """The reason that one of the lines next to a bare code gives."""
    for line in lines:
        marks = list(_MARKED.finditer(line))
        if marks and not is_source(line) and not is_prose(line):
            said = headline(line[marks[-1].end() :])
            if _is_reason(said):
                return said
    return ""


def plain(text: str) -> str:
    """One line without marks of markdown, cut between two words."""
    words = _NOISE.sub(" ", text).strip().rstrip(".,:;")
    if len(words) <= _LONGEST:
        return words
    return words[:_LONGEST].rpartition(" ")[0].rstrip(".,:;") + "…"


def balanced(words: str) -> str:
    """Without a closing mark at the end whose opening one is not there."""
    while words and words[-1] in "\"')]}":
        last = words[-1]
        opened = words.count(_PAIRS[last]) >= words.count(last) if last in _PAIRS else words.count(last) % 2 == 0
        if opened:
            break
        words = words[:-1].rstrip()
    return words


def _begin(text: str, start: int) -> int:
    """Where the sentence begins in whose middle a match starts."""
    head = text[:start]
    if not head.strip() or _BEGINS.search(head):
        return start
    least = max(0, start - _FARTHEST)
    marks = [found.end() for found in _BOUNDARY.finditer(head, least)]
    marks = [place for place in marks if _is_even(head[place:])]
    return marks[-1] if marks else start


def _is_even(text: str) -> bool:
    """Is everything closed that was opened, so that a sentence can begin here?"""
    return (
        text.count('"') % 2 == 0
        and text.count("'") % 2 == 0
        and text.count("(") >= text.count(")")
        and (text.count("[") >= text.count("]"))
    )


def _opened(text: str) -> str:
    """Without marks that close or join something which stands before."""
    text = _OPENING.sub("", text.strip())
    while text and text[0] in "\"'" and text.count(text[0]) % 2:
        text = _OPENING.sub("", text[1:].strip())
    return text


def _first(text: str) -> str:
    """Without the advice that follows the sentence with the reason."""
    parts = _NEXT.split(text)
    kept = parts[0]
    for part in parts[1:]:
        if re.search(reasons(), kept) and _ADVICE.match(part):
            break
        kept += ". " + part
    return kept
