"""What is left in shell text of CUDA words that no other rule has explained: each gets a finding, none is silent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.document import Span
from jumar.migrate.passes.torch import markers
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.shell import Command, Word
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH900",
    name="left-over-shell",
    summary="a CUDA word in shell text that no other rule covers",
    keywords=markers.WORDS,
    safety=Safety.SHOW,
)
_PRINTS = re.compile(r"echo|printf|log\w*|info|warn\w*|error|die|print|msg|say|:|usage")
_FILE = re.compile(r"[\w./${}*?~:@%+,-]*[\w}]+\.[A-Za-z0-9]{1,6}|[\w./${}*~-]*/[\w./${}*~-]*")
_LABEL = re.compile(
    r"(?:.*_)?(?:name|job|tag|dir|folder|path|file|logs?|output|prefix|suffix|title|run|exp|model|checkpoint)(?:_.*)?",
    re.I,
)


_OFF = re.compile(r"-D\w+(?::\w+)?=(?:OFF|0|FALSE|NO|N)|--(?:no|without|disable)-[\w-]+", re.I)
"""A part of CUDA that is not built."""
_SWITCHED_OFF = re.compile(r"--(?:no|disable|without)[-_](?:cuda|gpus?|nccl|triton|flash[-_]attn)\b", re.I)


def visit_magic(span: Span, file: TextFile) -> Iterator[Finding]:
    """A line of a notebook for IPython itself."""
    yield from _lines(file, *span)


def finish(file: TextFile) -> Iterator[Finding]:
    for script in file.scripts:
        for command in sorted(script.commands, key=lambda command: command.end - command.start):
            yield from _command(file, command)
        for reference in script.references:
            at = (reference.start, reference.end)
            if _is_named_after(reference.name) and not file.is_covered(*at):
                yield file.report(RULE, at, State.BENIGN, f"`{reference.name}` is a variable of this script")


def _command(file: TextFile, command: Command) -> Iterator[Finding]:
    prints = bool(_PRINTS.fullmatch(command.name)) and not command.is_piped and not _writes_file(command)
    for assignment in command.assignments:
        span = (assignment.start, max(assignment.value.end, assignment.name_end))
        at = (assignment.start, assignment.name_end)
        if _is_named_after(assignment.name) and not file.is_covered(*at):
            yield file.report(RULE, at, State.BENIGN, f"`{assignment.name}` is a variable of this script")
        is_label = _LABEL.fullmatch(assignment.name) and re.fullmatch(r"[\w./${}:-]*", assignment.value.text)
        if is_label and markers.found(assignment.value.text) and not file.is_covered(*span):
            message = f"`{assignment.name}` only names something"
            yield file.report(RULE, (assignment.value.start, assignment.value.end), State.BENIGN, message)
        yield from _word(file, assignment.value, State.HAND)
    if command.words and _is_function(file, command.words[0].text):
        word = command.words[0]
        if markers.found(word.text) and not file.is_covered(word.start, word.end):
            yield file.report(RULE, (word.start, word.end), State.BENIGN, f"`{word.text}` is a function of this script")
    leaves = _is_removal(command) or markers.is_for_npus(file.source.path)
    for position, word in enumerate(command.words):
        yield from _word(file, word, State.BENIGN if (prints or leaves) and position else State.HAND)
    for operator, word in command.redirects:
        yield from _word(file, word, State.BENIGN if operator.startswith((">", "&>")) else State.HAND)
    for heredoc in command.heredocs:
        if (heredoc.start, heredoc.end) not in file.script_spans:
            yield from _lines(file, heredoc.start, heredoc.end)


def _is_removal(command: Command) -> bool:
    """`pip uninstall -y apex`: what is taken away is not needed."""
    return any(word.text in ("uninstall", "remove", "purge") for word in command.words[:4])


def _is_named_after(name: str) -> bool:
    return markers.is_strong(name) or name in ("gpu", "gpus")


def _is_function(file: TextFile, name: str) -> bool:
    pattern = rb"(?m)^[ \t]*(?:function[ \t]+)?%s[ \t]*(?:\([ \t]*\)|\{)" % re.escape(name.encode())
    return bool(name.isidentifier() and markers.found(name) and re.search(pattern, file.source.data))


def _writes_file(command: Command) -> bool:
    return any(
        operator in (">", ">>", "&>", "&>>", ">|")
        and not word.text.startswith(("/dev/", "&"))
        and ".log" not in word.text
        for operator, word in command.redirects
    )


def _word(file: TextFile, word: Word, state: State) -> Iterator[Finding]:
    text = _without_references(word.text)
    marker = markers.found(text)
    if marker is None or file.is_covered(word.start, word.end):
        return
    if " " in text and markers.found(_SWITCHED_OFF.sub("", text)) is None:
        message = f"`{marker}` in an option that switches it off"
        yield file.report(RULE, (word.start, word.end), State.BENIGN, message, subject=marker)
        return
    span = (word.start, word.end)
    shown = word.text if len(word.text) <= 60 else word.text[:57] + "…"
    if state is State.BENIGN:
        yield file.report(RULE, span, State.BENIGN, f"`{marker}` in text that is only shown, or in what is removed")
    elif _FILE.fullmatch(word.text) and "://" not in word.text:
        yield file.report(RULE, span, State.BENIGN, f"`{shown}` is a file, folder or model name")
    elif _OFF.fullmatch(word.text):
        yield file.report(RULE, span, State.BENIGN, f"`{shown}` leaves a part for CUDA out")
    elif markers.is_prose(word.text):
        yield file.report(RULE, span, State.BENIGN, f"`{marker}` in a sentence")
    elif markers.is_weak(text):
        yield file.report(RULE, span, State.BENIGN, f"`{shown}` means any card")
    else:
        fix = "check what reads it, and whether it works with an NPU"
        what = f"`{shown}`" if marker in shown else f"`{marker}` in `{shown}`"
        yield file.report(RULE, span, State.HAND, f"{what} may depend on CUDA", fix, subject=marker)


def _lines(file: TextFile, start: int, end: int) -> Iterator[Finding]:
    """Text of a here-document: one finding a line."""
    at = start
    while at < end:
        span = file.line_span(at)
        marker = markers.found(file.text(span))
        is_comment = re.match(r"\s*#(?!SBATCH|PBS|BSUB)", file.text(span))
        if marker and not file.is_covered(*span) and not is_comment:
            message = f"`{marker}` in text that the script passes on"
            yield file.report(RULE, span, State.HAND, message, "check what reads it, and whether it works with an NPU")
        at = max(span[1] + 1, at + 1)


def _without_references(text: str) -> str:
    """The word without what belongs to other findings: variables and nested commands."""
    before = ""
    while before != text:
        before, text = text, re.sub(r"\$?\([^()]*\)|`[^`]*`" if "$(" in text or "`" in text else r"\$\{?\w+", "", text)
    return re.sub(r"\$\{?\w+", "", text)
