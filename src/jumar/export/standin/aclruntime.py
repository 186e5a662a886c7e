"""`aclruntime`, the module below the vendor's inference runner: sessions and tensors that programs use directly.

Names as in the runner's own sources and in public programs (ModelZoo-PyTorch ACL_PyTorch, 2026-11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from jumar.core.compat import zip
from jumar.export.standin import session
from jumar.export.standin.description import Description
from jumar.export.standin.tensor import Tensor


class session_options:
    """Settings; the number of loops is the only one that changes anything here."""

    def __init__(self) -> None:
        self.loop = 1
        self.log_level = 2
        self.acl_json_path = ""


class InferenceSession:
    def __init__(self, path: str, device: int, options: session_options | None = None) -> None:
        self._options = options or session_options()
        self._session = session.InferSession(device, path, loop=self._options.loop)

    def get_inputs(self) -> list[Description]:
        return self._session.get_inputs()

    def get_outputs(self) -> list[Description]:
        return self._session.get_outputs()

    def options(self) -> session_options:
        return self._options

    def run(self, names: Sequence[str], feeds: Any) -> list[Tensor]:
        """The outputs of these names, or all of them for an empty list; feeds are a list or a dictionary."""
        known = [row.name for row in self.get_outputs()]
        for name in names:
            if name not in known:
                raise RuntimeError(f"no output `{name}`: {', '.join(known)}")
        self._session.set_loop_count(self._options.loop)
        found = dict(zip(known, self._session.run(feeds), strict=True))
        return [found[name] for name in (names or known)]

    def set_staticbatch(self) -> None:
        self._session.set_staticbatch()

    def set_dynamic_batchsize(self, batch: Any) -> None:
        self._session.set_dynamic_batchsize(batch)

    def set_dynamic_hw(self, width: int, height: int) -> None:
        self._session.set_dynamic_hw(width, height)

    def set_dynamic_dims(self, dims: str) -> None:
        self._session.set_dynamic_dims(dims)

    def set_dynamic_shape(self, shape: str) -> None:
        self._session.set_dynamic_shape(shape)

    def set_custom_outsize(self, sizes: Sequence[int]) -> None:
        self._session.set_custom_outsize(sizes)

    def create_tensor_from_fileslist(self, description: Description, files: Sequence[str]) -> Tensor:
        return self._session.create_tensor_from_fileslist(description, files)

    def sumary(self) -> session.Summary:
        return self._session.summary()

    def reset_sumaryinfo(self) -> None:
        self._session.reset_summaryinfo()

    def free_resource(self) -> None:
        self._session.free_resource()

    def finalize(self) -> None:
        """Nothing is left to give back: `free_resource` did it."""

    def __repr__(self) -> str:
        return repr(self._session)


class MemorySummary:
    """Copies to and from a device: none are made here."""

    def __init__(self) -> None:
        self.H2D_time_list: list[float] = []
        self.D2H_time_list: list[float] = []

    def reset(self) -> None:
        """Nothing was counted."""


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"aclruntime.{name} is not in the stand-in")
