"""The calls of a script that read and write files: rows of the table, `open`, and the program's own functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jumar.migrate.pyfile import PyFile
from jumar.tables.load import table

_WRITE_MODE = re.compile(r"[rb+t]*[wax][rb+t]*")
_OPENERS = {"io.open": 1, "codecs.open": 1, "gzip.open": 1, "bz2.open": 1, "lzma.open": 1, "tarfile.open": 1}
_OPENERS |= {"h5py.File": 1, "zipfile.ZipFile": 1, "numpy.memmap": 2}
_REDIRECT = re.compile(r"(?<![0-9&])>{1,2}\s*(?!&|/dev/)\S|\|\s*tee\s")
_FOLDERS = ("os.mkdir", "os.makedirs")
_PACKAGES = {"os", "shutil", "json", "pickle", "yaml", "torch", "numpy", "mindspore", "marshal", "ast"}
"""Their functions are rows of the table, or take open files."""
MAYBE = "?"
"""Begins what a use is when the call may mean something else than writing."""


class Use(NamedTuple):
    """A call that reads or writes a path; the path is None when the call leaves it to a default."""

    call: ast.Call
    path: ast.expr | None
    what: str
    keyword: str = ""


def written(file: PyFile, calls: Iterable[ast.Call]) -> list[Use]:
    """The calls that write files, in order."""
    found = []
    for call in calls:
        rows = [*by_table(file, call, "writes"), *_opened(file, call, write=True), *_own(file, call, "writers")]
        found += rows or [*_methods(file, call), *_low(file, call)]
    return sorted(found, key=_place)


def folders(file: PyFile, calls: Iterable[ast.Call]) -> list[Use]:
    """The calls that make folders."""
    found = [Use(call, file.argument(call, 0, "name"), "mkdir") for call in calls if file.name(call.func) in _FOLDERS]
    return [use for use in found if use.path is not None]


def read(file: PyFile, calls: Iterable[ast.Call]) -> list[Use]:
    """The calls that read data or a state to begin from, in order."""
    found = []
    for call in calls:
        found += [*by_table(file, call, "reads"), *_dataset(file, call), *_opened(file, call, write=False)]
        found += _own(file, call, "readers")
    return sorted(found, key=_place)


def by_table(file: PyFile, call: ast.Call, section: str) -> Iterator[Use]:
    name = file.name(call.func)
    if name is None:
        return
    short = f"{name.partition('.')[0]}.{name.rpartition('.')[2]}"
    row = table("cloud_paths.toml")[section].get(short)
    if row is not None and not file.has_stars(call):
        yield _use(file, call, row, short.rpartition(".")[2])


def _use(file: PyFile, call: ast.Call, row: str, what: str) -> Use:
    position, keyword = row.split()
    at = int(position)
    return Use(call, file.argument(call, at if at >= 0 else 99, keyword), what, keyword)


def _methods(file: PyFile, call: ast.Call) -> Iterator[Use]:
    """Methods of any object: `frame.to_csv(path)`, `Path(…).write_text(…)`, `path.open("w")`."""
    package = (file.name(call.func) or "").partition(".")[0]
    if not isinstance(call.func, ast.Attribute) or package in _PACKAGES or file.has_stars(call):
        return
    name = call.func.attr
    row = table("cloud_paths.toml")["write_methods"].get(name)
    maybe = table("cloud_paths.toml")["maybe_writes"].get(name)
    if row == "self":
        yield Use(call, call.func.value, name)
    elif row is not None:
        use = _use(file, call, row, name)
        yield from [use] if use.path is not None else []
    elif name == "open" and _is_write(file.argument(call, 0, "mode")):
        yield Use(call, call.func.value, "open")
    elif maybe is not None:
        use = _use(file, call, maybe, MAYBE + name)
        yield from [use] if use.path is not None else []


def _own(file: PyFile, call: ast.Call, section: str) -> Iterator[Use]:
    """A function of another file of the program, whose parameter is a path."""
    cloud = file.settings.cloud
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    for place in getattr(cloud, section).get(name, ()) if cloud is not None else ():
        path = file.argument(call, place.position, place.name)
        if path is not None and not file.has_stars(call):
            yield Use(call, path, name)


def _dataset(file: PyFile, call: ast.Call) -> Iterator[Use]:
    kind = dataset_class(file, call)
    if kind is None or kind in table("cloud_paths.toml")["datasets"] or not (call.args or call.keywords):
        return
    names = ("dataset_dir", "dataset_files", "dataset_file", "root")
    path = next((k.value for k in call.keywords if k.arg in names), call.args[0] if call.args else None)
    if path is not None and not isinstance(path, ast.Starred):
        yield Use(call, path, kind)


def dataset_class(file: PyFile, call: ast.Call) -> str | None:
    """The class of `mindspore.dataset` or `torchvision.datasets` that a call makes an object of."""
    name = file.name(call.func) or ""
    last = name.rpartition(".")[2]
    if name.startswith("mindspore.dataset.") and last.endswith("Dataset"):
        return last
    return last if name.startswith("torchvision.datasets.") and last[:1].isupper() else None


def _opened(file: PyFile, call: ast.Call, *, write: bool) -> Iterator[Use]:
    """`open` and what resembles it; a mode that is known only when the script runs may write."""
    is_plain = isinstance(call.func, ast.Name) and call.func.id == "open"
    if (not is_plain and file.name(call.func) not in _OPENERS) or file.has_stars(call):
        return
    path = file.argument(call, 0, "name" if file.name(call.func) == "h5py.File" else "file")
    mode = file.argument(call, _OPENERS.get(file.name(call.func) or "", 1), "mode")
    if mode is not None and not isinstance(mode, ast.Constant):
        if write:
            yield Use(call, path, f"{MAYBE}open")
    elif _is_write(mode) is write:
        yield Use(call, path, "open")


def _low(file: PyFile, call: ast.Call) -> Iterator[Use]:
    """`os.open` with a flag that writes."""
    flags = file.argument(call, 1, "flags") if file.name(call.func) == "os.open" else None
    if flags is not None and re.search(r"O_(?:WRONLY|RDWR|CREAT|APPEND)", file.text(flags)):
        yield Use(call, file.argument(call, 0, "path"), "open")


def shell(file: PyFile, calls: Iterable[ast.Call]) -> Iterator[tuple[ast.Call, str]]:
    """Commands of the shell that write a file: `… > name`, `… | tee name`."""
    rows = table("cloud_paths.toml")["shell"]
    for call in calls:
        if (file.name(call.func) or "") not in rows or not call.args:
            continue
        texts = [node.value for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)]
        command = " ".join(text for text in texts if isinstance(text, str))
        if _REDIRECT.search(command) or "tee" in texts:
            yield call, command


def _is_write(mode: ast.expr | None) -> bool:
    text = str(mode.value).partition(":")[0] if isinstance(mode, ast.Constant) else ""
    return _WRITE_MODE.fullmatch(text) is not None


def _place(use: Use) -> tuple[int, int]:
    return use.call.lineno, use.call.col_offset
