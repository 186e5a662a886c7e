"""A package that needs CUDA among the requirements: reported with what takes its place, never removed silently."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.passes.torch import markers
from jumar.migrate.pins import Pin
from jumar.migrate.rule import Rule
from jumar.migrate.textfile import TextFile
from jumar.tables.packages import Package, package

RULE = Rule(
    id="RQ103",
    name="cuda-requirement",
    summary="a required package that needs CUDA",
    keywords=(
        *markers.WORDS, "deepspeed", "causal", "mamba", "vllm", "mmcv", "awq", "gptq", "faiss", "horovod", "nvitop",
        "cudf", "cuml", "warp", "grouped", "flashinfer", "flash-mla", "deep", "numba", "torchsparse",
    ),
    safety=Safety.SHOW,
)  # fmt: skip

_REPOSITORIES = {"transformerengine": "transformer-engine", "flash-attention": "flash-attn", "mamba": "mamba-ssm"}


def visit_pins(found: list[Pin], file: TextFile) -> Iterator[Finding]:
    for pin in found:
        row = package(pin.name) if pin.name else _from_address(pin.text)
        if row is None:
            continue
        fix = f"write `{row.use}`" if row.use else None
        yield file.report(
            RULE, (pin.start, pin.end), row.state, f"`{pin.name or row.name}`: {row.note}", fix, subject=pin.name
        )


def visit_channel(name: str, span: tuple[int, int], file: TextFile) -> Iterator[Finding]:
    """A conda channel; only NVIDIA's own is of interest."""
    if name.rpartition("/")[2] in ("nvidia", "rapidsai", "cuda"):
        message = f"the conda channel `{name}` holds CUDA packages"
        yield file.report(RULE, span, State.HAND, message, "leave the channel out", subject=f"conda channel {name}")


def _from_address(text: str) -> Package | None:
    """`git+https://…/apex`: the row of the repository's name."""
    if "://" not in text and not text.startswith("git@"):
        return None
    tail = text.partition("#")[0].rstrip("/").rpartition("/")[2].partition("@")[0].removesuffix(".git")
    return package(_REPOSITORIES.get(tail.lower(), tail.lower().replace("_", "-")))
