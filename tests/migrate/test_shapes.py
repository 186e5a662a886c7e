"""Generated programs in nasty shapes: whatever stands there, the result parses, is stable, and keeps the rest."""

from __future__ import annotations

import ast
import re
import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

from jumar.migrate.project import migrate_bytes
from jumar.migrate.result import FileResult
from jumar.migrate.settings import Settings, Style
from jumar.tables.apis import npu_names

QUOTES = st.sampled_from(['"', "'", '"""', "'''"])
PREFIXES = st.sampled_from(["", "r", "R", "u"])
BLANKS = st.sampled_from(["", " ", "  ", "\t"])
NAMES = st.sampled_from(["x", "self.x", "xs[0]", "f(x)", "(x)", "(x + y)", "torch.zeros(1)", "model.net"])
NUMBERS = st.sampled_from(["0", "i", "rank % 8", "int(os.environ['R'])", "(i)", "d['k']", "lambda: 0"])
CALLS = st.sampled_from(
    [
        "synchronize()", "CUDAGraph()", "get_arch_list()", "amp.autocast(enabled=True)", "Stream", "OutOfMemoryError",
        "memory.memory_allocated(0)", "device(1)", "FloatTensor(3)", "comm.gather([])", "is_available()", "nope.nope",
        "graph(cuda_graph=g)", "current_stream().cuda_stream", "__name__", "get_device_capability()[0]",
    ]
)  # fmt: skip

IMPORTS = [
    "",
    "from torch.cuda import amp, nccl",
    "from torch.cuda.amp import (autocast,  # c\n    GradScaler)",
    "from torch import (\n    cuda,  # c\n    nn,\n)",
    "import torch.cuda.amp as a",
    "from torch.cuda import *",
    "from torch.cuda import synchronize, OutOfMemoryError as O, get_arch_list; s = synchronize",
    "class M:\n    def cuda(self): return self.to('cuda')",
]
FRAMES = [
    "v = {}",
    "{}; w = 1",
    "if 1: v = {}",
    "def g(a={}): return a",
    "v = [{}]  # cuda",
    "return_ = ({})",
    "class C:\n    attr = {}",
    "def h():\n    '''cuda'''\n    return {}",
    "lambda: {}",
    "assert {}, 'cuda'",
]


@st.composite
def strings(draw: st.DrawFn) -> str:
    """A device string in one of its spellings."""
    quote, prefix, number = draw(QUOTES), draw(PREFIXES), draw(NUMBERS)
    index = draw(st.sampled_from(["", ":0", ":1", ":"]))
    whole = f"{prefix}{quote}cuda{index}{quote}"
    other = '"' if "'" in number or quote.startswith("'") else "'"
    shape = draw(st.integers(0, 9))
    if shape < 4:
        return whole
    if shape == 4 and "'" not in number and "lambda" not in number:
        return f"f'cuda:{{{number}}}'"
    if shape == 5:
        return 'f"cuda:{i!r:>{width}}"'
    if shape == 6:
        return f"{other}cuda:{other}{draw(BLANKS)}+{draw(BLANKS)}str({number})"
    if shape == 7:
        return f"{other}cuda:%d{other}{draw(BLANKS)}%{draw(BLANKS)}({number})"
    if shape == 8:
        return f"{other}cuda:{{}}{other}.format({number})"
    return f'"cu" {prefix}"da{index}"'


@st.composite
def expressions(draw: st.DrawFn, root: str) -> str:
    kind = draw(st.integers(0, 11))
    text = draw(strings())
    receiver = draw(NAMES)
    if kind == 0:
        return f"{root}{draw(BLANKS)}.cuda.{draw(CALLS)}"
    if kind == 1:
        return f"({root}.  # why\n    cuda.\n    {draw(CALLS)})"
    if kind == 2:
        return f"{receiver}.cuda({draw(st.sampled_from(['', '0', 'non_blocking=True', '*a', '**k', 'i, True', text]))})"
    if kind == 3:
        return f"{receiver}.is_cuda"
    if kind == 4:
        return f"{receiver}.to({text})"
    if kind == 5:
        return f"({text}){draw(BLANKS)}if(flag)else{draw(BLANKS)}('cpu')"
    if kind == 6:
        return f"{receiver}.device.type == {text}"
    if kind == 7:
        return f"{receiver}.device.type in ({text}, 'cpu')"
    if kind == 8:
        return f"{{{text}: 1, 'cpu': 2}}"
    if kind == 9:
        return f"print({text}, f'{{{root}.cuda.device_count()}} cuda')"
    if kind == 10:
        return f"getattr({root}, 'cuda', {receiver}.to(0))"
    return f"{receiver}.type('torch.cuda.FloatTensor')"


@st.composite
def programs(draw: st.DrawFn) -> str:
    head, root = draw(
        st.sampled_from(
            [
                ("import torch", "torch"),
                ("import torch as t", "t"),
                ("import os, torch.cuda", "torch"),
                ("from __future__ import annotations\nimport torch", "torch"),
                ("try:\n    import torch\nexcept ImportError:\n    torch = None", "torch"),
                ("import torch; import os", "torch"),
                ("torch = object()", "torch"),
            ]
        )
    )
    extra = draw(st.sampled_from(IMPORTS))
    lines = [head, extra]
    for _ in range(draw(st.integers(1, 4))):
        text = draw(expressions(root))
        frame = draw(st.sampled_from(FRAMES))
        lines.append(frame.format(text) if "\n" not in text else f"v = {text}")
    return "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n# cuda é昇\n"]))


def run(text: bytes, style: Style) -> FileResult:
    result = migrate_bytes("shape.py", text, Settings(to=style))
    assert result is not None
    return result


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@settings(max_examples=150, deadline=None)
@given(programs(), st.sampled_from(list(Style)), st.sampled_from(["\n", "\r\n"]))
def test_any_shape_gives_a_stable_program(text: str, style: Style, newline: str) -> None:
    if not is_python(text):
        return
    before = text.replace("\n", newline).encode()
    result = run(before, style)
    ast.parse(result.after)
    assert not any("would no longer be Python" in (finding.fix or "") for finding in result.findings)
    assert run(result.after, style).after == result.after
    assert b"\n" not in result.after.replace(b"\r\n", b"") or newline == "\n"
    for name in re.findall(r"\btorch\.npu(?:\.\w+)+", result.after.decode()):
        assert name in npu_names() or name.rpartition(".")[0] in npu_names(), name


@settings(max_examples=80, deadline=None)
@given(programs())
def test_every_line_with_cuda_is_spoken_about(text: str) -> None:
    if not is_python(text):
        return
    result = run(text.encode(), Style.NPU)
    said = {line for f in result.findings if f.where for line in range(f.where.line, f.where.end_line + 1)}
    for number, line in enumerate(text.split("\n"), 1):
        if "cuda" in line:
            assert number in said, textwrap.shorten(line, 80)


@settings(max_examples=80, deadline=None)
@given(programs())
def test_lines_without_cuda_are_kept(text: str) -> None:
    if not is_python(text):
        return
    after = iter(run(text.encode(), Style.NPU).after.decode().split("\n"))
    for line in text.split("\n"):
        if not re.search(r"(?i)cuda|torch|to\(|\"cu\"|_graph|_stream", line):
            assert line in after
