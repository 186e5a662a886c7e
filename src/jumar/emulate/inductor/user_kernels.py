"""A program's own Triton kernels inside a compiled graph: launched by the Triton driver of the emulated card.

Inductor writes the text of such a kernel into the code of the graph, below a decorator that compiles and tunes it.
This has the decorator's place: the kernel is launched as it stands, with the first configuration that it has.
"""

from __future__ import annotations

from typing import Any

_COMPILED, _TUNED = "async_compile.triton(", "@triton_heuristics.user_autotune("
_IMPORT = "from jumar.emulate.inductor.user_kernels import user_autotune, load"
Grid = tuple[Any, ...]


def launched(body: str) -> str:
    """The text of a kernel's definition with the decorator below instead of inductor's."""
    if not body.startswith(_COMPILED) or _TUNED not in body:
        return body
    text = body.replace(_COMPILED, "launch_user_kernels(", 1)
    return text.replace(_TUNED, f"{_IMPORT}\n@user_autotune(", 1)


def load(name: str, source: str, device_str: str = "npu") -> UserKernel:
    """What the code of the graph calls to get the kernel."""
    from torch._inductor.codecache import PyCodeCache

    found: UserKernel = getattr(PyCodeCache.load(source), name)
    return found


def user_autotune(configs: Any, inductor_meta: Any, triton_meta: Any, **_: Any) -> Any:
    return lambda function: UserKernel(function, configs, inductor_meta, triton_meta)


class UserKernel:
    """A kernel with what inductor knows of its arguments."""

    def __init__(
        self, function: Any, configs: list[dict[str, Any]], grids: dict[str, Any], known: dict[str, Any]
    ) -> None:
        self.function, self._grids = function, grids
        self._config = configs[0] if configs else {}
        self._constants = known["constants"]

    def run(self, given: dict[str, Any], launcher: Grid) -> None:
        """`launcher` is the grid, or what the grid of each configuration is computed from."""
        words = {**given, **self._constants, **self._config}
        self.function[self._grid(launcher)](**words)

    def _grid(self, launcher: Grid) -> Grid:
        choices = self._grids.get("precomputed_grids")
        if not choices:
            return launcher
        chosen = next((one for one in choices if one["config"] == self._config), choices[0])
        names = dict(zip(self._grids["extra_launcher_args"], launcher))
        return tuple(eval(size, {"__builtins__": {}, "min": min, "max": max}, names) for size in chosen["python"])
