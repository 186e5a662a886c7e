"""Started as a script in the cage: imports the modules of a project, each in its own process, and tells how it went.

usage: importer.py RESULTS < SPEC.json

torch and the installed packages that the project uses are loaded once, the project's files compiled once; each module
then runs in a process forked from there. That process ends with its module, and so does all it started. Its word counts
for that one module: RESULTS, the descriptor that leads out, is open in this process alone, whose memory no module can
read. Nothing but the standard library is used before the project is.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import json
import os
import random
import select
import signal
import sys
import time
import traceback
from types import CodeType
from typing import Any

_KEPT = 12
"""Lines of a traceback that are told."""
_LONGEST = 60_000
"""Bytes of a row."""
_DEATH_SIGNAL, _READABLE = 1, 4
"""PR_SET_PDEATHSIG and PR_SET_DUMPABLE of <linux/prctl.h>."""
_FIRST_CODE = 100
"""An import that worked ends its process with a code drawn from here on, which its module is not told."""
_INNERMOST = 16
"""Process ids below this one are those of a process namespace; out there they belong to the system."""
_NETWORK = ("gaierror", "URLError", "ConnectionError", "NewConnectionError", "MaxRetryError", "ConnectTimeout",
            "LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectError")  # fmt: skip
_OUTSIDE = (1, 2, 13, 30)
"""EPERM, ENOENT, EACCES and EROFS: a place that the cage does not have or does not give."""
_HERE = os.path.dirname(os.path.abspath(__file__))
_prctl = ctypes.CDLL(None).prctl


def main() -> None:
    results = int(sys.argv[1])
    os.set_inheritable(results, False)
    spec = json.load(sys.stdin)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    _load(["torch", "torch_npu"])
    loaded = set(sys.modules)
    _load(spec["packages"])
    for name in set(sys.modules) - loaded:
        if name.partition(".")[0] in spec["own"]:
            del sys.modules[name]  # A package found it before the project, which comes first, could be found.
    _prctl(_READABLE, 0, 0, 0, 0)
    sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder), Compiled(spec["top"]))
    for module in spec["modules"]:
        _tell(results, {"path": module["path"]})
        _tell(results, {**_run(module, spec, results), "path": module["path"]})


def _tell(results: int, row: dict[str, Any]) -> None:
    data = json.dumps(row).encode() + b"\n"
    while data:
        data = data[os.write(results, data) :]


def _load(names: list[str]) -> None:
    """Import installed packages as long as they leave this process fit to be forked: threads would be lost."""
    for name in names:
        if len(os.listdir("/proc/self/task")) > 1:
            return
        try:
            importlib.import_module(name)
        except BaseException:  # Each module that needs it says so.
            continue


class Compiled(importlib.machinery.PathFinder):
    """Finds modules as ever; files of the project are compiled once for all processes, before any of them has run."""

    def __init__(self, top: str) -> None:
        self._top, self._code = top + os.sep, dict[str, CodeType]()
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(".py") and os.path.isfile(path):
                    self._compile(path)

    def _compile(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self._code[path] = compile(file.read(), path, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # Its import says so.
            return

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # type: ignore[override]
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        if found is not None and found.origin in self._code:
            found.loader = Loader(name, found.origin, self._code[found.origin])
        return found


class Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._ready = code

    def get_code(self, fullname: str) -> CodeType:
        return self._ready


def _run(module: dict[str, Any], spec: dict[str, Any], results: int) -> dict[str, Any]:
    """Import a module in a process of its own; what is known of the end."""
    ours, theirs = os.pipe()
    success = random.SystemRandom().randrange(_FIRST_CODE, 256)
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _prctl(_READABLE, 1, 0, 0, 0)
            _prctl(_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
            os.close(ours)
            os.close(results)
            os.setpgid(0, 0)
            code = success if _import_one(module, spec, theirs) else 1
        finally:
            os._exit(code)
    os.close(theirs)
    said, late = _listen(ours, child, started + spec["limit"])
    os.close(ours)
    code = _end(child)
    told = {"seconds": round(time.monotonic() - started, 2)}
    if late or code == -signal.SIGXCPU:
        return {**told, "end": "reached the time limit"}
    if code == success:
        return {**told, "end": "ok"}
    try:
        row = json.loads(said)
        if isinstance(row, dict) and row.get("end") != "ok":
            return {**row, **told}
    except (ValueError, RecursionError):  # It was killed while it wrote, or says what nobody asked.
        pass
    return {**told, "end": "crashed the interpreter", "error": _ended(code)}


def _listen(pipe: int, child: int, until: float) -> tuple[bytes, bool]:
    """What a process writes until its end, and whether time was up before."""
    said, process = b"", os.pidfd_open(child)
    watched = [pipe, process]
    try:
        while True:
            ready = select.select(watched, [], [], max(0.0, until - time.monotonic()))[0]
            if not ready:
                return b"", True
            data = os.read(pipe, _LONGEST) if pipe in ready else b""
            said += data
            if not data and process in ready:
                return said, False
            if (pipe in ready and not data) or len(said) > _LONGEST:
                watched.remove(pipe)  # It has closed the pipe, or says more than anybody wants to know.
    finally:
        os.close(process)


def _end(child: int) -> int:
    """Kill what is left of a module; how its process ended."""
    if os.getpid() < _INNERMOST:
        os.kill(-1, signal.SIGKILL)
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except OSError:
            continue
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _ended(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"the process ended with exit code {code}"


def _import_one(module: dict[str, Any], spec: dict[str, Any], pipe: int) -> bool:
    """In the child: import it; what it prints goes nowhere. Did it work?"""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    folder = os.path.join(spec["top"], module["root"])
    roots = [path for path in (os.path.join(spec["top"], root) for root in spec["roots"]) if path != folder]
    sys.path[:] = [folder, *roots, *(path for path in sys.path if not path.startswith(spec["top"]))]
    sys.argv[:] = [os.path.join(spec["top"], module["path"])]
    os.chdir(folder if module["acts"] else spec["top"])
    failure = _import(module["name"], spec)
    if failure is not None:
        os.write(pipe, json.dumps(failure).encode()[:_LONGEST])
    return failure is None


def _import(name: str, spec: dict[str, Any]) -> dict[str, Any] | None:
    top = name.partition(".")[0]
    known = sys.modules.get(top)
    if known is not None and not str(getattr(known, "__file__", "") or spec["top"]).startswith(spec["top"]):
        return {"end": "not run", "error": f"`{top}` is hidden by an installed package that is loaded already"}
    try:
        importlib.import_module(name)
    except BaseException as error:
        return _told(error, spec)
    return None


def _told(error: BaseException, spec: dict[str, Any]) -> dict[str, Any]:
    parts = traceback.format_exception(type(error), error, error.__traceback__)
    lines = [line for part in parts for line in part.rstrip("\n").split("\n")]
    told: dict[str, Any] = {
        "end": _kind(error, spec),
        "error": traceback.format_exception_only(type(error), error)[-1].strip().replace(spec["top"] + "/", "")[:500],
        "trace": [line.replace(spec["top"] + "/", "")[:300] for line in lines[-_KEPT:]],
        "site": _site(error, spec["top"]),
    }
    if isinstance(error, ModuleNotFoundError) and error.name:
        told["package"] = error.name.partition(".")[0][:100]
    return told


def _kind(error: BaseException, spec: dict[str, Any]) -> str:
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return "ended the interpreter"
    if isinstance(error, MemoryError):
        return "reached the memory limit"
    missing = isinstance(error, ModuleNotFoundError) and bool(error.name)
    if missing and error.name.partition(".")[0] not in spec["own"]:  # type: ignore[attr-defined]
        return "needs a package"
    chain: BaseException | None = error
    while chain is not None:
        if any(base.__name__ in _NETWORK for base in type(chain).__mro__[:3]):
            return "needs the network"
        if isinstance(chain, OSError) and chain.errno in (101, 111, 113) and chain.filename is None:
            return "needs the network"
        if isinstance(chain, OSError) and _is_outside(chain, spec):
            return "reaches outside the project"
        chain = chain.__cause__ or chain.__context__
    return "failed"


def _is_outside(error: OSError, spec: dict[str, Any]) -> bool:
    """Was it about a file that is not the project's?"""
    if error.errno == 30:
        return True
    name = error.filename
    if error.errno not in _OUTSIDE or not isinstance(name, (str, bytes)):
        return False
    path = os.fsdecode(name)
    return os.path.isabs(path) and not path.startswith((spec["top"], spec["home"], sys.prefix, sys.base_prefix))


def _site(error: BaseException, top: str) -> list[Any] | None:
    """The innermost place inside the project; a syntax error has its own."""
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(top):
        return [os.path.relpath(error.filename, top), error.lineno or 1]
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(top + os.sep)]
    return [os.path.relpath(inside[-1].filename, top), inside[-1].lineno] if inside else None


if __name__ == "__main__":
    main()
