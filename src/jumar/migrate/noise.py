"""Findings that are true and tell nobody anything: they become benign, with the reason.

A word in a tokenizer's vocabulary, a sentence that only mentions CUDA, the name of a source file, float64 in a table of
data types, in a question about one or for other cards, a question about an option, and the second and every further
mention of a package in one file.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from jumar.core.compat import zip
from jumar.core.finding import Finding, Level, Safety, State
from jumar.migrate.names import Index
from jumar.migrate.result import FileResult
from jumar.tables import effort

_LEFT = (State.HAND, State.UNSUPPORTED, State.FALLBACK)
_VOCABULARIES = re.compile(r"(^|/)(vocab|tokenizer|merges|added_tokens|special_tokens_map|.*[_-]vocab)\.(json|txt)$")
_SENTENCE = 5
"""A text of so many words is for people."""
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_DTYPES = {"float16", "half", "bfloat16", "float32", "float", "float64", "double", "complex64", "complex128", "uint8",
           "int8", "int16", "short", "int32", "int", "int64", "long", "bool"}  # fmt: skip
_TABLE = 2
"""So many data types side by side are a table."""
_NPU = re.compile(r"(?<![A-Za-z])npu(?![A-Za-z])", re.I)
_NOT = re.compile(r"\bnot\b|!=")
_SETTINGS = (".json", ".jsonl")
_SOURCE = re.compile(r"\.(cu|cuh|cpp|cc|cxx|c|h|hpp)$|^-D\w+(=\S*)?$")
_DOCUMENT = re.compile(
    r"\.(png|jpe?g|gif|svg|ico|webp|mp4|mp3|wav|pdf|md|rst|html?|css|js|csv|tsv|parquet|npz?|whl)$", re.I
)
_PART = re.compile(r"nvidia-[a-z-]+-cu\d+")
"""A part of CUDA that the CUDA build of torch brings: a pinned list holds a dozen of them."""
_PATHS = ("os.path.", "osp.", "glob.", "Path", "pathlib.")
_CODE = {"PT101", "PT155", "PT175", "PT178", "PT200", "PT205", "PT900"}
"""Rules whose findings need the syntax tree to be judged."""


def quiet(file: FileResult, index: Index | None) -> FileResult:
    """The same with what is noise made benign; `index` is the syntax of a Python file."""
    if not any(item.state in _LEFT for item in file.findings):
        return file
    found = [_judged(item, reason) for item, reason in zip(file.findings, _reasons(file, index), strict=True)]
    return replace(file, findings=tuple(_once(found)))


def _reasons(file: FileResult, index: Index | None) -> Iterator[str]:
    """Why each finding is noise; empty for one that is not."""
    is_vocabulary = bool(_VOCABULARIES.search(file.path))
    at = _nodes(file, index) if index is not None and file.path.endswith(".py") else {}
    lines = file.before.decode("utf-8", "replace").splitlines() if file.path.endswith(_SETTINGS) else []
    for item in file.findings:
        if item.state not in _LEFT or item.where is None:
            yield ""
        elif is_vocabulary:
            yield "an entry of a vocabulary"
        elif item.id == "PT175":
            yield _about_dtype(at.get(item.where.line, []), item)
        elif item.id == "PT101":
            yield _about_device(at.get(item.where.line, []), item.where.col)
        elif item.id == "PT155":
            chain = _string_at(at.get(item.where.line, []), item.where.col)
            yield "a name that the module exports; its definition is what counts" if _is_export(chain) else ""
        elif item.id == "PT178":
            yield _about_compiler(at.get(item.where.line, []), item.where.col)
        elif item.id in ("PT200", "PT205"):
            yield _about_option(at.get(item.where.line, []), item.where.col)
        elif item.id == "PT900":
            yield _about_text(at.get(item.where.line, []), item)
        elif item.id == "YM900" and file.path.endswith(_SETTINGS):
            yield "a sentence for people" if _is_sentence(_line(lines, item.where.line)) else ""
        else:
            yield ""


Chain = tuple[ast.AST, ...]
"""A node and what it is in, the innermost first."""
_AROUND = 4
"""So many nodes of a chain are enough."""


def _nodes(file: FileResult, index: Index) -> dict[int, list[Chain]]:
    """Attributes and strings on the lines that need to be judged, each with the nodes around it."""
    found: dict[int, list[Chain]] = {
        item.where.line: [] for item in file.findings if item.id in _CODE and item.state in _LEFT and item.where
    }
    for kind in (ast.Attribute, ast.Constant) if found else ():
        for node in index.nodes[kind]:
            line = node.lineno  # type: ignore[attr-defined]
            if line in found:
                found[line].append(_chain(node, index))
    return found


def _chain(node: ast.AST, index: Index) -> Chain:
    chain = [node]
    while len(chain) < _AROUND and chain[-1] in index.parent:
        chain.append(index.parent[chain[-1]])
    return tuple(chain)


def _about_dtype(chains: list[Chain], item: Finding) -> str:
    """Is it in a table, in a comparison, or for other cards? Every mention on the line must be."""
    name = item.subject.rpartition(".")[2]
    mentions = [chain for chain in chains if isinstance(chain[0], ast.Attribute) and chain[0].attr == name]
    reasons = [_table_or_question(chain) or _for_others(chain) for chain in mentions]
    return reasons[0] if reasons and all(reasons) else ""


def _table_or_question(chain: Chain) -> str:
    for outer in chain[1:3]:
        if isinstance(outer, ast.Compare):
            return "a question about a data type, not a request for one"
        values = [*outer.keys, *outer.values] if isinstance(outer, ast.Dict) else getattr(outer, "elts", [])
        if sum(1 for value in values if _is_dtype(value)) >= _TABLE:
            return "a table of data types"
    return ""


def _for_others(chain: Chain) -> str:
    """`torch.float32 if is_npu else torch.float64`"""
    for inner, outer in zip(chain, chain[1:]):
        test = ast.unparse(outer.test) if isinstance(outer, ast.IfExp) and inner is outer.orelse else ""
        if _NPU.search(test) and not _NOT.search(test):
            return "the data type where there is no NPU"
    return ""


def _is_dtype(node: object) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _DTYPES


def _about_option(chains: list[Chain], col: int) -> str:
    """`if optimizer in ("adamw_8bit", …)`, `kind == "xformers"`: the place that chooses it counts."""
    chain = _string_at(chains, col)
    outer = chain[2] if isinstance(chain[1], (ast.List, ast.Tuple, ast.Set)) else chain[1]
    return "a question about a choice, not the choice" if isinstance(outer, ast.Compare) else ""


def _about_device(chains: list[Chain], col: int) -> str:
    outer = _string_at(chains, col)[1]
    is_path = isinstance(outer, ast.Call) and ast.unparse(outer.func).startswith(_PATHS)
    return "a part of a path" if is_path else ""


def _about_compiler(chains: list[Chain], col: int) -> str:
    """`extra_compile_args={"nvcc": …}`"""
    string, outer = _string_at(chains, col)[:2]
    is_key = string in outer.keys if isinstance(outer, ast.Dict) else isinstance(outer, ast.Subscript)
    return "an option of an extension; what it builds is what counts" if is_key else ""


def _string_at(chains: list[Chain], col: int) -> Chain:
    """The string at a column, with what it is in."""
    found = (chain for chain in chains if isinstance(chain[0], ast.Constant) and chain[0].col_offset + 1 == col)
    return next(found, (ast.Pass(), ast.Pass()))


def _about_text(chains: list[Chain], item: Finding) -> str:
    word = item.subject.lower()
    texts = [
        chain
        for chain in chains
        if isinstance(chain[0], ast.Constant) and isinstance(chain[0].value, str) and word in chain[0].value.lower()
    ]
    names = [chain for chain in chains if isinstance(chain[0], ast.Attribute) and word in ast.unparse(chain[0]).lower()]
    if texts and not names and all(_is_sentence(str(chain[0].value)) for chain in texts):  # type: ignore[attr-defined]
        return "a sentence for people"
    if texts and not names and all(_SOURCE.search(str(chain[0].value)) for chain in texts):  # type: ignore[attr-defined]
        return "a source file or macro; what is built with it is what counts"
    if texts and not names and all(_DOCUMENT.search(str(chain[0].value)) for chain in texts):  # type: ignore[attr-defined]
        return "the name of a file"
    if texts and not names and all(_is_test_name(chain) for chain in texts):
        return "the name of a test case"
    if texts and not names and all(_is_export(chain) for chain in texts):
        return "a name that the module exports; its definition is what counts"
    return ""


def _is_export(chain: Chain) -> bool:
    return any(
        isinstance(outer, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == "__all__" for one in outer.targets)
        for outer in chain
    )


def _is_test_name(chain: Chain) -> bool:
    """`pytest.param(…, id="cuda-fp32")`, `parametrize(…, ids=["cpu", "cuda"])`."""
    return any(isinstance(outer, ast.keyword) and outer.arg in ("id", "ids") for outer in chain)


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= _SENTENCE or len(_CJK.findall(text)) >= _SENTENCE


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _once(found: list[Finding]) -> Iterator[Finding]:
    """A package that a file names many times is said once, with the number; another answer is another finding."""
    counts = Counter(answer for item in found if (answer := _answer(item)) is not None)
    first: dict[tuple[str, ...], int] = {}
    for item in found:
        answer = _answer(item)
        if answer is None or counts[answer] == 1:
            yield item
        elif answer in first:
            yield _judged(item, f"said at line {first[answer]}")
        else:
            first[answer] = item.where.line if item.where is not None else 0
            yield replace(item, message=f"{item.message} ({counts[answer]} places in this file)")


def _answer(item: Finding) -> tuple[str, ...] | None:
    """What a finding says about which package; None for one that is about something else."""
    if item.state not in _LEFT or not item.subject or effort.cause(item.id).by != "package":
        return None
    package = "nvidia" if _PART.match(item.subject) else item.subject.partition(".")[0]
    return item.id, package, item.state.value, item.fix or ""


def _judged(item: Finding, reason: str) -> Finding:
    if not reason:
        return item
    message = f"{item.message} ({reason})"
    return replace(item, level=Level.NOTE, message=message, state=State.BENIGN, safety=Safety.SHOW, edits=(), fix=None)
