"""Words that betray a CUDA dependency in text files; what no rule explains must not hold one silently."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jumar.core.finding import Where
from jumar.migrate.look import Text

WORDS = (
    "cuda", "nccl", "nvidia", "cudnn", "nvcc", "nvtx", "nvml", "nvlink", "cublas", "cupy", "cutlass", "tensorrt",
    "flash-attn", "flash_attn", "flash_attention", "xformers", "triton", "bitsandbytes", "transformer-engine",
    "transformer_engine", "apex", "gpu", "nsys", "ncu ", "cu9", "cu10", "cu11", "cu12", "cu13",
)  # fmt: skip
"""For the quick look into a file; lower case."""

MARKER = re.compile(
    r"cuda|nccl|nvidia|cudnn|nvcc|nvtx|nvml|nvlink|cublas|cupy|cutlass|tensorrt"
    r"|flash[-_]attn|flash_attention|xformers|bitsandbytes|transformer[-_]engine"
    r"|(?<![a-z])(?:triton|apex|nsys|ncu)(?![a-z])|(?<![a-z0-9])n?gpus?(?![a-z0-9])|(?<![a-z0-9])cu(?:9\d|1[0-3]\d)(?![a-z0-9])",
    re.I,
)
_STEMS = ("cuda", "nccl", "nvidia", "cudnn", "nv", "cublas", "cupy", "cutlass", "tensorrt", "flash", "xformers",
          "bitsandbytes", "transformer", "triton", "apex", "nsys", "ncu", "gpu", "cu9", "cu1")  # fmt: skip
"""One of these is in every text that the pattern finds."""
_STRONG = re.compile(r"cuda|nccl|nvidia|cudnn|nvcc|nvtx|nvml|cublas|(?<![a-z0-9])cu(?:9\d|1[0-3]\d)(?![a-z0-9])", re.I)

_NPU = re.compile(rb"^[ \t]*(?:import|from) torch_npu\b|\bis_(?:torch_)?npu_available\(|\btorch\.npu\.\w", re.M)
_NPU_WORDS = (b" torch_npu", b"npu_available(", b"torch.npu.")
"""One of these is in every text that the pattern finds."""


_ASCEND = re.compile(r"ascend|(?<![a-z])npu(?![a-z])", re.I)


def is_for_npus(text: str) -> bool:
    """Does a name say that something is made for NPUs: `triton-ascend`, `requirements-npu.txt`, `ascend/Dockerfile`?"""
    folder, _, name = text.rpartition("/")
    return bool(_ASCEND.search(name)) or folder.rpartition("/")[2].lower() in ("npu", "ascend")


def supported(texts: Sequence[Text]) -> tuple[Where, ...]:
    """Where the project's own code uses NPUs already: the first place of each file."""
    lines = [(text.path, text.tells("line for NPUs", _npu_line)) for text in texts if text.path.endswith(".py")]
    return tuple(Where(path, line) for path, line in lines if line)


def _npu_line(raw: bytes) -> int:
    match = _NPU.search(raw) if any(word in raw for word in _NPU_WORDS) else None
    return raw.count(b"\n", 0, match.start()) + 1 if match is not None else 0


def found(text: str) -> str | None:
    """The first telling word in the text."""
    lowered = text.lower()
    match = MARKER.search(text) if any(stem in lowered for stem in _STEMS) else None
    return match.group() if match else None


def is_weak(text: str) -> bool:
    """Does it speak of GPUs only as one speaks of cards, and of nothing that belongs to CUDA?"""
    return all(re.fullmatch(r"n?gpus?", match.group(), re.I) for match in MARKER.finditer(text))


def is_strong(text: str) -> bool:
    """Does it name CUDA itself, and not only a GPU or a package?"""
    return _STRONG.search(text) is not None


def is_prose(text: str) -> bool:
    """Is it a sentence for people? Several words, and few of the signs that code is made of."""
    words = text.split()
    if len(words) < 4:
        return False
    plain = sum(1 for word in words if re.fullmatch(r"[A-Za-z(\"'`][A-Za-z'`-]*[.,:;!?)\"'`]*", word))
    return plain * 3 >= len(words) * 2 and not any(word.startswith("-") and len(word) > 1 for word in words)
