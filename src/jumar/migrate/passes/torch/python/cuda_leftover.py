"""What no other rule has spoken about: every word with CUDA in it that is still there, so that nothing is silent."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import literals
from jumar.migrate.around import EXPORTED, SENTENCE, Chain, Place, is_export, is_sentence
from jumar.migrate.document import Span
from jumar.migrate.passes.torch import context
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT900",
    name="cuda-leftover",
    summary="a word with CUDA that no other rule covers",
    keywords=("cuda", "nccl", "cudnn", "nvidia", "nvtx", "cublas"),
)
_PART = re.compile(rb"cu(?:da|dnn|blas)|nccl|nv(?:idia|tx)")
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")
_CODE = re.compile(
    r"torch\.cuda|\.cuda\(|nvidia-smi|/cuda|cuda/|nvcr\.io|#include|__global__|\w+_CUDA\b|CUDA_\w+|NCCL_\w+"
)
_FLAG = re.compile(r"-{1,2}[\w-]+=?(?:\s*/\s*-{1,2}[\w-]+)?")
_OWN_WORD = re.compile(r"(?=.*[a-z0-9]_)[a-z0-9_.-]+|_+[A-Z_]+")
_KNOWN_FIELDS = re.compile(r"(self_)?cuda_(time|memory_usage)(_total)?(_str)?")
_SOURCE = re.compile(r"\.(cu|cuh|cpp|cc|cxx|c|h|hpp)$|^-D\w+(=\S*)?$")
_DOCUMENT = re.compile(
    r"\.(png|jpe?g|gif|svg|ico|webp|mp4|mp3|wav|pdf|md|rst|html?|css|js|csv|tsv|parquet|npz?|whl)$", re.I
)
_FIX = "change it for the NPU, or mark the line with `# jumar: keep`"


def finish(file: PyFile) -> Iterator[Finding]:
    places = list(_words(file.source.data))
    if not places:
        return
    covered, strings = _Spans(file.covered), _Spans(file.string_spans)
    nodes = _string_nodes(file)
    said: set[tuple[int, State]] = set()
    for place in places:
        if covered.hits(*place):
            continue
        string = strings.holding(place[0])
        if string is not None:
            state, message = _in_string(file, nodes.get(string), place, string)
        elif _in_comment(file, strings, place[0]):
            state, message = State.BENIGN, "a comment"
        else:
            state, message = _in_code(file, file.text(place), place[0])
        key = (file.source.line_of(place[0]), state)
        if key not in said:
            said.add(key)
            word = file.text(place).strip(".")
            fix = _FIX if state is State.HAND else None
            yield file.report(RULE, place, state, f"`{word}`: {message}", fix, word)


def _words(data: bytes) -> Iterator[Span]:
    """Every dotted word with one of the names in it."""
    end = 0
    for match in _PART.finditer(data.lower()):
        if match.start() < end:
            continue
        start, end = match.span()
        while start and data[start - 1] in _WORD:
            start -= 1
        while end < len(data) and data[end] in _WORD:
            end += 1
        yield start, end


class _Spans:
    """Sorted spans that may lie in each other, asked by place."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = sorted(set(spans))
        self.starts = [start for start, _ in self.spans]
        self.reach: list[int] = []
        furthest = 0
        for _, end in self.spans:
            furthest = max(furthest, end)
            self.reach.append(furthest)

    def hits(self, start: int, end: int) -> bool:
        at = bisect_right(self.starts, end - 1)
        return at > 0 and self.reach[at - 1] > start

    def holding(self, offset: int) -> Span | None:
        """The outermost span around an offset."""
        at = bisect_right(self.starts, offset) - 1
        found = None
        while at >= 0 and self.reach[at] > offset:
            if self.spans[at][1] > offset:
                found = self.spans[at]
            at -= 1
        return found


def _string_nodes(file: PyFile) -> dict[Span, ast.Constant | ast.JoinedStr]:
    return {
        file.source.span(node): node
        for kind in (ast.Constant, ast.JoinedStr)
        for node in file.index.nodes[kind]
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node not in file.lost
    }


def _in_comment(file: PyFile, strings: _Spans, offset: int) -> bool:
    """Is there a `#` before the offset on its line that is not inside a string?"""
    start = file.source.starts[file.source.line_of(offset) - 1]
    at = file.source.data.find(b"#", start, offset)
    while at >= 0:
        if strings.holding(at) is None:
            return True
        at = file.source.data.find(b"#", at + 1, offset)
    return False


def _in_string(file: PyFile, node: ast.Constant | ast.JoinedStr | None, place: Span, string: Span) -> tuple[State, str]:
    if node is None or node in file.docstrings:
        return State.BENIGN, "a docstring"
    if isinstance(node, ast.JoinedStr) and _in_expression(file, node, place[0]):
        return _in_code(file, file.text(place), place[0])
    if context.is_message(file, node):
        return State.BENIGN, "text for people"
    if context.is_exported(file, node):
        return State.BENIGN, "a name of the module"
    text = file.text(string)
    inner = text.strip("rbufRBUF\"'")
    if re.search(r"\w://|git@|^nvidia/\w|^www\.", inner) and not re.search(r"download\.pytorch\.org", inner):
        return State.BENIGN, "an address"
    if _FLAG.fullmatch(inner):
        return State.BENIGN, "the program's own option"
    if _CODE.search(inner) or _KNOWN_FIELDS.fullmatch(inner):
        return State.HAND, "a string that a program may act on"
    if _OWN_WORD.fullmatch(inner):
        return State.BENIGN, "the program's own name"
    if " " in inner.strip() and not inner.startswith("#"):
        return State.BENIGN, "text"
    return State.HAND, "a string that a program may act on"


def _in_expression(file: PyFile, node: ast.JoinedStr, offset: int) -> bool:
    for piece in literals.pieces(file.source, node) or ():
        for part in literals.segments(file.source, piece) or ():
            if not part.is_text and part.start <= offset < part.end:
                return True
    return False


def _in_code(file: PyFile, word: str, offset: int) -> tuple[State, str]:
    start = file.source.starts[file.source.line_of(offset) - 1]
    line = file.source.data[start:offset].lstrip()
    if line.startswith((b"import ", b"from ")):
        return _in_import(file, file.source.line_text(file.source.line_of(offset)).decode("utf-8", "replace"))
    if "torch.cuda" in word or word.startswith("torch."):
        return State.HAND, "a use of CUDA whose meaning is not clear"
    root = word.split(".")[0]
    target = file.index.resolve(root, file.index.module) if root and not word.startswith(".") else None
    if target is not None and target.startswith("torch"):
        return State.HAND, f"a name of `{target}`"
    last = word.rpartition(".")[2]
    if "." in word and _KNOWN_FIELDS.fullmatch(last):
        return State.HAND, "a field that torch names differently on an NPU"
    if word.startswith(".") and last == "cuda" and not _is_flag(file, offset + len(word)):
        return State.HAND, "the method `cuda` as a value"
    return State.BENIGN, "the program's own name"


def _is_flag(file: PyFile, end: int) -> bool:
    return file.source.data[end : end + 1] != b"("


def _in_import(file: PyFile, line: str) -> tuple[State, str]:
    module = re.match(r"\s*(?:from|import)\s+(\.*)([\w]*)", line)
    if module and (module.group(1) or module.group(2) in file.settings.facts.own_modules):
        return State.BENIGN, "a module of this project"
    return State.HAND, "an import that Jumar has no rule for"


def noise(finding: Finding, place: Place) -> str:
    """Every text with the word on this line is of one kind that is not for the program."""
    word = finding.subject.lower()
    texts = [(chain, text) for chain in place.chains if (text := _text(chain[0])) and word in text.lower()]
    names = (chain[0] for chain in place.chains if isinstance(chain[0], ast.Attribute))
    if not texts or any(word in ast.unparse(name).lower() for name in names):
        return ""
    return next((reason for reason, holds in _KINDS.items() if all(holds(chain, text) for chain, text in texts)), "")


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_test_name(chain: Chain) -> bool:
    """`pytest.param(…, id="cuda-fp32")`, `parametrize(…, ids=["cpu", "cuda"])`."""
    return any(isinstance(outer, ast.keyword) and outer.arg in ("id", "ids") for outer in chain)


_KINDS: dict[str, Callable[[Chain, str], bool]] = {
    SENTENCE: lambda chain, text: is_sentence(text),
    "a source file or macro; what is built with it is what counts": lambda chain, text: bool(_SOURCE.search(text)),
    "the name of a file": lambda chain, text: bool(_DOCUMENT.search(text)),
    "the name of a test case": lambda chain, text: _is_test_name(chain),
    EXPORTED: lambda chain, text: is_export(chain),
}
"""Texts that are not for the program, by the reason to give."""
