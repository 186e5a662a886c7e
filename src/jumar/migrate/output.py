"""Carries a result out: in place, or as a migrated copy of the tree that appears as a whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jumar.core import links, write
from jumar.core.errors import UserError, cannot
from jumar.migrate.result import ProjectResult

NOT_COPIED = {"__pycache__", ".venv", "venv", "node_modules", ".tox", ".nox", ".mypy_cache", ".ruff_cache",
              ".pytest_cache"}  # fmt: skip
"""Folders that tools make anew, or that do not work in another place."""


class WriteStep(NamedTuple):
    """One entry of the copy."""

    source: str
    target: str
    """Relative to the copy's top."""
    data: bytes | None = None
    """New content; None copies the source as it is."""


def in_place(result: ProjectResult) -> list[str]:
    """Write every change; all targets are checked before the first is touched."""
    changes = {file.path: (file.before, file.after) for file in result.files if file.changed}
    new = result.new_files()
    for path in [*changes, *new]:
        _check_writable(path, result.root)
    for path, (before, _) in changes.items():
        if _read(path) != before:
            raise UserError(f"`{path}` changed while it was being migrated", "nothing was written: run it again")
    for path, data in new.items():
        if not os.path.exists(path) or _read(path) != data:
            write.replace(Path(path), data, result.root)
    for path, (_, after) in changes.items():
        write.replace(Path(path), after, result.root)
    return [*new, *changes]


def check_out(paths: Sequence[Path], out: Path, *, force: bool) -> None:
    """Refuse a place for the copy that would harm something."""
    target = Path(os.path.realpath(out))
    if is_file(paths, out):
        if target == Path(os.path.realpath(paths[0])):
            raise UserError(f"`{out}` is the file to migrate", "use `--write` to edit in place")
        if out.exists() and not force:
            raise UserError(f"`{out}` exists", "name a new file, or use `--force` to overwrite it")
        return
    for path in paths:
        given = Path(os.path.realpath(path))
        if target == given and given.is_dir():
            raise UserError(f"`{out}` is the folder to migrate", "use `--write` to edit in place")
        if given.is_dir() and given in target.parents:
            raise UserError(f"`{out}` is inside `{path}`", "name a folder outside of it")
        if target in given.parents and out.exists():
            raise UserError(f"`{out}` contains `{path}`, the folder to migrate", "name a new folder")
    if out.exists() and not out.is_dir():
        raise UserError(f"`{out}` exists and is not a folder", "name a new folder")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise UserError(f"`{out}` is not empty", "name a new folder, or use `--force` to overwrite existing files")
    parent = next(up for up in target.parents if up.exists())
    if not parent.is_dir():
        raise UserError(f"cannot make `{out}`: `{parent}` is not a folder", "name another folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        fixed = os.statvfs(parent).f_flag & os.ST_RDONLY
        raise cannot(f"write to `{parent}`", OSError(errno.EROFS if fixed else errno.EACCES, ""))


def is_file(paths: Sequence[Path], out: Path) -> bool:
    """Does `out` name a file, as in `jumar migrate train.py -o train_npu.py`?"""
    return len(paths) == 1 and paths[0].is_file() and not out.is_dir() and out.suffix == paths[0].suffix != ""


def steps(result: ProjectResult, paths: Sequence[Path]) -> Iterator[WriteStep]:
    """Every entry of the copy: given files, all files below given folders, and new files."""
    changed = {file.path: file.after for file in result.files if file.changed}
    new = result.new_files()
    for path in paths:
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
                folders[:] = sorted(name for name in folders if name not in NOT_COPIED and name not in links)
                for name in sorted([*names, *links, *([] if names or folders or links else ["."])]):
                    yield _step(Path(folder, name).as_posix(), result.root, changed)
        else:
            yield _step(path.as_posix(), result.root, changed)
    for name, data in new.items():
        yield WriteStep("", os.path.relpath(name, result.root), data)


def copy(result: ProjectResult, paths: Sequence[Path], out: Path, *, force: bool = False) -> list[str]:
    """Make the copy; returns what could not be copied. An `out` that is new appears only when all is done."""
    check_out(paths, out, force=force)
    if is_file(paths, out):
        return _copy_file(result, paths[0], out)
    fresh = not (out.is_dir() and any(out.iterdir()))
    write.make_folder(out.parent, "nothing was written")
    try:
        place = Path(tempfile.mkdtemp(prefix=f".{out.name[:80]}.", suffix=".jumar", dir=out.parent)) if fresh else out
    except OSError as error:
        raise cannot(f"write `{out}`", error) from error
    try:
        left = [step.source for step in steps(result, paths) if not carry_out(step, place)]
        if fresh:
            os.chmod(place, stat.S_IMODE(os.stat(result.root).st_mode) | stat.S_IRWXU)
            os.rename(place, out)
    except OSError as error:
        kept = "nothing was written" if fresh else "each file is either old or new"
        raise cannot(f"write `{out}`", error, kept) from error
    finally:
        if fresh and place.exists():
            shutil.rmtree(place, ignore_errors=True)
    return left


def _copy_file(result: ProjectResult, path: Path, out: Path) -> list[str]:
    changed = next((file.after for file in result.files if file.changed), None)
    write.make_folder(out.parent, "nothing was written")
    for name, data in result.new_files().items():
        write.replace(out.parent / os.path.relpath(name, result.root), data)
    write.replace(out, _read(str(path)) if changed is None else changed)
    shutil.copymode(path, out)
    return []


def _step(path: str, root: str, changed: Mapping[str, bytes]) -> WriteStep:
    return WriteStep(path, os.path.relpath(path, root), changed.get(path))


def carry_out(step: WriteStep, top: Path) -> bool:
    """Copy one entry; False when the source cannot be read or is no file."""
    target = top / step.target
    links.inside(target.parent, top)
    target.parent.mkdir(parents=True, exist_ok=True)
    if step.data is not None:
        if target.is_symlink():
            target.unlink()
        write.replace(target, step.data, top)
        if step.source:
            shutil.copymode(step.source, target)
        return True
    mode = os.lstat(step.source).st_mode
    if stat.S_ISLNK(mode):
        target.unlink(missing_ok=True)
        os.symlink(os.readlink(step.source), target)
        return True
    if stat.S_ISDIR(mode):
        target.mkdir(exist_ok=True)
        return True
    if not stat.S_ISREG(mode) or not os.access(step.source, os.R_OK):
        return False
    target.unlink(missing_ok=True)
    shutil.copy2(step.source, target)
    return True


def _check_writable(path: str, root: str) -> None:
    target = links.inside(path, root)
    folder = os.path.dirname(target)
    if not os.access(folder, os.W_OK | os.X_OK) or (os.path.exists(target) and not os.access(target, os.W_OK)):
        raise UserError(f"cannot write `{path}`: no permission", "nothing was written")


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise cannot(f"read `{path}`", error, "nothing was written") from error
