"""Container images that are built for CUDA, and the advice what to build on instead."""

from __future__ import annotations

import re

from jumar.migrate.settings import Settings
from jumar.tables.versions import release_for

_CUDA_IMAGE = re.compile(
    r"(?:[\w.-]+(?::\d+)?/)*(?:nvidia/[\w./-]+|nvcr\.io/[\w./-]+|[\w.-]*(?:cuda|nvidia|tensorrt)[\w.-]*)(?:[:@][\w.:${}-]*)?"
    r"|(?:[\w.-]+/)*[\w.-]+:[\w.${}-]*(?:cuda|cu1[12]\d|cudnn|gpu)[\w.${}-]*",
    re.I,
)


def is_cuda(text: str) -> bool:
    """Does an image name say that it holds CUDA?"""
    if not _CUDA_IMAGE.fullmatch(text):
        return False
    return "/" in text or ":" in text


def advice(settings: Settings) -> str:
    row = release_for(settings.torch)
    cann = f" for CANN {row.cann}" if row else ""
    wheels = f", then `pip install torch=={row.torch} torch_npu=={row.torch_npu}`" if row else ""
    return f"build on an `ascendai/cann` image{cann} and your chip (`{settings.chip}`){wheels}"
