"""Whether a script makes a process group: without one, N cards train the same thing N times.

Only a clear case is refused: a script that uses torch, whose own files all parse, that neither makes a group nor
looks at its rank, and that imports nothing which might do so for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from jumar.core import read
from jumar.core.compat import stdlib_module_names
from jumar.core.errors import UserError

AWARE = (
    b"init_process_group", b"init_device_mesh", b"LOCAL_RANK", b"WORLD_SIZE", b"RANK_ID", b"RANK_SIZE", b"RANK_TABLE",
    b"elastic", b"rpc",
)  # fmt: skip
"""Words of a script that knows of other ranks."""
PLAIN = {
    "torch", "torch_npu", "torchvision", "torchaudio", "torchtext", "numpy", "scipy", "pandas", "PIL", "cv2", "tqdm",
    "matplotlib", "sklearn", "yaml", "einops", "tensorboard", "tensorboardX", "apex",
}  # fmt: skip
"""Packages that never make a process group by themselves."""
MOST = 200
MOST_BYTES = 64 << 20


def check(words: Sequence[str], folder: Path, cards: int) -> None:
    """Refuse a script without a process group on several cards."""
    if cards < 2 or not words or not words[0].endswith(".py"):
        return
    script = folder / words[0]
    if not script.is_file() or not alone(script):
        return
    raise UserError(
        f"`{words[0]}` makes no process group: each of {cards} cards would train alone on all the data",
        f"`jumar migrate --multi-card {words[0]}` adds one; `--no-check` starts it anyway",
    )


def alone(script: Path) -> bool:
    """Is it certain that the script, with the files it imports from its folder, does not know about other ranks?"""
    waiting, seen, packages = [script], {script}, set()
    while waiting:
        raw = read.content(waiting.pop(), most=MOST_BYTES)
        if any(word in raw for word in AWARE):
            return False
        try:
            names = list(_imported(ast.parse(raw)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        for name in names:
            own = _file(script.parent, name)
            if own is not None and own not in seen:
                seen.add(own)
                waiting.append(own)
            elif own is None and not _is_own(script.parent, name):
                packages.add(name.partition(".")[0])
        if len(seen) > MOST:
            return False
    foreign = {name for name in packages if name not in stdlib_module_names()}
    return "torch" in foreign and foreign <= PLAIN


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module and not node.level)


def _is_own(folder: Path, name: str) -> bool:
    first = name.partition(".")[0]
    return bool(first) and (_file(folder, first) is not None or (folder / first).is_dir())


def _file(folder: Path, name: str) -> Path | None:
    path = folder.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if name and candidate.is_file():
            return candidate
    return None
