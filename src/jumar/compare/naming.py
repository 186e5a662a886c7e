"""Where an operator was called: the path of the module that runs, and the line of the user's own code."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

import torch

_SKIP = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)
_WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.")
"""What DistributedDataParallel, torch.compile and the like put before the names of a model."""


class Modules:
    """The stack of modules that run, by the names they have in their model."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.tensors: dict[int, tuple[str, str]] = {}
        """Weights and buffers by identity: kind and name. The models live as long as the program uses them."""
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []

    @property
    def path(self) -> str:
        return self.stack[-1] if self.stack else ""

    def enter(self, module: torch.nn.Module) -> None:
        name = self._names.get(id(module))
        if name is None:
            if self.stack:
                self._learn(module, f"{self.stack[-1]}.{type(module).__name__}")
            else:
                self._learn(module, type(_inner(module)).__name__)
            name = self._names[id(module)]
        self.stack.append(name)

    def leave(self) -> None:
        if self.stack:
            self.stack.pop()

    def _learn(self, root: torch.nn.Module, title: str) -> None:
        self._kept.append(root)  # an identity means something only as long as its owner lives
        for path, module in root.named_modules():
            plain = plain_name(path)
            self._names.setdefault(id(module), f"{title}.{plain}" if plain else title)
        for path, tensor in root.named_parameters():
            self.tensors.setdefault(id(tensor), ("weight", plain_name(path)))
        for path, tensor in root.named_buffers():
            self.tensors.setdefault(id(tensor), ("buffer", plain_name(path)))


def plain_name(path: str) -> str:
    """The name without what wrappers put before it."""
    plain = path + "."
    for wrapper in _WRAPPERS:
        plain = plain.removeprefix(wrapper)
        plain = plain.replace("." + wrapper, ".") if wrapper != "module." else plain
    return plain.removesuffix(".")


def _inner(module: torch.nn.Module) -> torch.nn.Module:
    for name in ("module", "_orig_mod"):
        inner = module._modules.get(name)
        if inner is not None and len(module._modules) == 1:
            return _inner(inner)
    return module


class Lines:
    """The nearest frame that is neither torch's nor ours."""

    def __init__(self) -> None:
        self._own: dict[CodeType, str] = {}
        self._folder = os.getcwd() + os.sep

    def here(self) -> str:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            own = self._own.get(frame.f_code)
            if own is None:
                own = self._own[frame.f_code] = self.file_of(frame.f_code)
            if own:
                return f"{own}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def file_of(self, code: CodeType) -> str:
        """Where the user's own code is; empty for that of others."""
        name = code.co_filename
        foreign = name.startswith((*_SKIP, "<frozen", "<string>")) or "torch_npu" in name
        return "" if foreign else name.removeprefix(self._folder)
