"""An index of CUDA wheels: `--index-url …/whl/cu121`, `-f …/whl/cu111/torch_stable.html`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="RQ104",
    name="cuda-wheel-index",
    summary="an index of wheels that are built for CUDA",
    keywords=("/cu", "+cu", "nvidia", "cuda"),
)
_TORCH = re.compile(rb"(/whl/(?:nightly/|test/)?)cu\d+(?=[/\s\"']|$)")
_OTHER = re.compile(rb"[/+-]cu\d{2,3}\b|//[\w.]*nvidia|cuda")


def visit_index(span: tuple[int, int], file: TextFile) -> Iterator[Finding]:
    """The address behind `--index-url`, `--extra-index-url`, `-f`, or of an index in a project file."""
    data = file.source.data
    match = _TORCH.search(data, *span)
    if match and file.settings.to is not Style.AGNOSTIC:
        at = (match.end(1), match.end())
        yield file.rewrite(RULE, span, f"the index of CUDA wheels `{file.text(at)}` becomes `cpu`", Edit(*at, b"cpu"))
    elif match or _OTHER.search(data, *span):
        fix = "torch for an NPU is the plain or CPU build; packages with CUDA kernels are built from source or left out"
        yield file.report(RULE, span, State.HAND, "this index holds wheels that are built for CUDA", fix)
