"""Python inside shell text: `python -c "…"` and `python - <<EOF`; the Python rules run on it in place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import embedded
from jumar.migrate.passes.torch import markers
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.shell import Command, Heredoc, Word
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH107",
    name="inline-python",
    summary="Python code inside shell text",
    keywords=markers.WORDS,
)
_ESCAPE = re.compile(rb'\\["\\$`]|\\\r?\n')
_PYTHON = re.compile(r"python[\d.]*|ipython[\d.]*|pypy[\d.]*")


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    position = next((at for at, word in enumerate(command.words) if _is_python(word)), None)
    if position is None:
        return
    words = command.words[position + 1 :]
    code = next((words[at + 1] for at, word in enumerate(words[:-1]) if word.text == "-c"), None)
    if code is not None:
        yield from _string(file, code)
    elif all(word.text.startswith("-") for word in words):
        for heredoc in command.heredocs:
            yield from _heredoc(file, heredoc)


def _is_python(word: Word) -> bool:
    return _PYTHON.fullmatch(word.text.rpartition("/")[2]) is not None


def _string(file: TextFile, code: Word) -> Iterator[Finding]:
    data = file.source.data
    span = code.inner
    if span is None or markers.found(code.text) is None:
        return
    quote = data[code.start : code.start + 1]
    if quote == b"'":
        piece = embedded.literal(data, *span, forbidden=b"'")
    elif code.has_expansion:
        yield file.report(RULE, (code.start, code.end), State.HAND, "Python code that the shell assembles", _fix())
        return
    else:
        piece = embedded.decoded(data, *span, _ESCAPE, lambda raw: raw[1:].strip(b"\r\n"), _encode)
    yield from _run(file, piece, (code.start, code.end))


def _heredoc(file: TextFile, heredoc: Heredoc) -> Iterator[Finding]:
    data = file.source.data
    span = (heredoc.start, heredoc.end)
    if markers.found(data[heredoc.start : heredoc.end].decode("utf-8", "replace")) is None:
        return
    if not heredoc.is_literal:
        yield file.report(RULE, span, State.HAND, "Python code that the shell assembles", _fix())
        return
    yield from _run(file, embedded.literal(data, *span), span)


def _run(file: TextFile, piece: embedded.Piece, span: tuple[int, int]) -> Iterator[Finding]:
    found = embedded.python_findings(piece, file.source, file.settings)
    if found is None:
        yield file.report(RULE, span, State.HAND, "Python code that cannot be parsed", _fix())
        return
    file.covered.append(span)
    yield from found


def _encode(new: bytes, offset: int) -> bytes:
    return re.sub(rb'(["\\$`])', rb"\\\1", new)


def _fix() -> str:
    return 'change it by hand: `torch.cuda` is `torch.npu`, `"cuda"` is `"npu"`, after `import torch_npu`'
