"""A result with a finding in every state, for the report tests."""

from __future__ import annotations

from jumar.core.edit import Edit, apply
from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import Source
from jumar.migrate.document import LEVELS
from jumar.migrate.result import FileResult, ProjectResult, Skipped
from jumar.migrate.settings import Settings

TRAIN = b'''"""Train <b>bold</b> & more."""
import torch

device = torch.device("cuda:0")
name = "\xe8\xae\xad\xe7\xbb\x83"; model = build().to("cuda")
torch.cuda.cudart().cudaProfilerStart()
print(model)
x = 1
y = 2
z = 3
values = torch.linalg.eig(matrix)
kind = "cuda"  # jumar: keep
'''
KERNEL = b"__global__ void scale(float *x) { x[0] = 2; }\n"


def _at(source: Source, text: bytes) -> tuple[int, int]:
    start = source.data.index(text)
    return start, start + len(text)


def finding(source: Source, id_: str, text: bytes, state: State, message: str, **more: str | bytes) -> Finding:
    start, end = _at(source, text)
    edits = (Edit(start, end, new),) if isinstance(new := more.get("new"), bytes) else ()
    safety = Safety(str(more.get("safety", "safe" if edits else "show")))
    fix, subject = more.get("fix"), str(more.get("subject", ""))
    where = source.where(start, end)
    name = str(more.get("name", "torch-cuda-name"))
    return Finding(id_, LEVELS[state], message, where, str(fix) if fix else None, safety, state, name, edits, subject)


def result(root: str = "project") -> ProjectResult:
    train = Source(f"{root}/train.py", TRAIN)
    line = train.data.index(b"torch\n") + 5
    import_edit = Edit(line, line, b"\nimport torch_npu")
    found = (
        Finding("PT100", Level.NOTE, "adds `import torch_npu`", train.where(line, line), None, Safety.SAFE,
                State.REWRITTEN, "torch-npu-import", (import_edit,)),
        finding(train, "PT101", b"cuda:0", State.REWRITTEN, 'device string `"cuda:0"`', new=b"npu:0"),
        finding(train, "PT101", b'"cuda")', State.REWRITTEN, 'device string `"cuda"`', new=b'"npu")'),
        finding(train, "PT102", b"torch.cuda.cudart", State.UNSUPPORTED, "`torch.cuda.cudart` has no counterpart",
                fix="use `torch_npu.profiler` instead", subject="torch.cuda.cudart"),
        finding(train, "PT150", b"print(model)", State.HAND, "a <script> for you",
                fix="look at it", subject="torch.thing", safety="ask", new=b"print(net)"),
        finding(train, "PT160", b"torch.linalg.eig", State.FALLBACK, "`torch.linalg.eig` runs on the CPU",
                subject="torch.linalg.eig"),
        finding(train, "PT101", b'"cuda"  #', State.BENIGN, "device string (kept: `jumar: keep`)"),
    )  # fmt: skip
    edits = [edit for item in found if item.state is State.REWRITTEN for edit in item.edits]
    kernel = Source(f"{root}/csrc/scale.cu", KERNEL)
    kernel_found = finding(kernel, "CU101", b"scale", State.UNSUPPORTED, "CUDA kernel `scale`", subject="scale")
    unreadable = Finding("PT002", Level.WARNING, "this file was left out: it holds NUL bytes and is not text", None)
    files = (
        FileResult(f"{root}/csrc/scale.cu", KERNEL, KERNEL, (kernel_found,)),
        FileResult(f"{root}/train.py", TRAIN, apply(TRAIN, edits), found, (("run_npu.sh", b"torchrun train.py\n"),)),
        FileResult(f"{root}/weights.py", b"\0", b"\0", (unreadable,)),
    )
    skipped = (Skipped(f"{root}/loop", "it is a link to itself"),)
    return ProjectResult(root, files, Settings(torch="2.7.1"), 5, 14, 0.25, skipped)
