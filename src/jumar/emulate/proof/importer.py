"""Started as a script in the cage: imports the modules of a project and writes a line about each.

usage: importer.py SPEC.json

torch is loaded once; each group of modules then runs in a process forked from there, so that whatever a module does
to its process ends with its group. A module that hangs or takes its process down is named, and the rest of its group
goes on in a new process. Nothing but the standard library is used before the project is.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import os
import select
import signal
import sys
import time
import traceback
from typing import Any

_KEPT = 12
"""Lines of a traceback that are told."""
_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of <linux/prctl.h>: whoever ends this process ends those that it forked."""
_NETWORK = ("gaierror", "URLError", "ConnectionError", "NewConnectionError", "MaxRetryError", "ConnectTimeout",
            "LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectError")  # fmt: skip
_HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    for name in spec["preload"]:
        try:
            importlib.import_module(name)
        except BaseException:  # Each module that needs it says so.
            continue
    if not spec["caged"]:
        _find_glue()
        guard = importlib.util.spec_from_file_location("_jumar_guard", os.path.join(_HERE, "guard.py"))
        assert guard is not None and guard.loader is not None
        module = importlib.util.module_from_spec(guard)
        guard.loader.exec_module(module)
        module.install(spec["scratch"])
    with open(spec["results"], "a", encoding="utf-8") as out:
        for group in spec["groups"]:
            todo = list(group)
            while todo:
                todo = todo[_run(todo, spec, out) :]


def _find_glue() -> None:
    """The emulator asks the compiler for its version when the first card is used: the guard would forbid that."""
    try:
        from jumar.emulate.glue import build

        build.library()
    except Exception:  # What needs a card says so.
        return


def _run(todo: list[dict[str, str]], spec: dict[str, Any], out: Any) -> int:
    """Import modules in a process of their own until one of them ends it; how many are told."""
    ours, theirs = os.pipe()
    out.flush()
    libc = ctypes.CDLL(None)
    child = os.fork()
    if child == 0:
        libc.prctl(_DEATH_SIGNAL, int(signal.SIGKILL))
        os.close(ours)
        os.setpgid(0, 0)
        _import_all(todo, spec, theirs)
        os._exit(0)
    os.close(theirs)
    told, buffer, until, started = 0, b"", time.monotonic() + spec["limit"], time.monotonic()
    late = False
    while told < len(todo):
        ready, _, _ = select.select([ours], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            late = True
            break
        data = os.read(ours, 65536)
        if not data:
            break
        buffer += data
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            out.write(line.decode() + "\n")
            told += 1
            until, started = time.monotonic() + spec["limit"], time.monotonic()
    os.close(ours)
    code = _end(child)
    if told < len(todo):
        end = "reached the time limit" if late else "crashed the interpreter"
        error = "" if late else _ended(code)
        if code == -signal.SIGXCPU:
            end = "reached the time limit"
        seconds = round(time.monotonic() - started, 2)
        out.write(json.dumps({"path": todo[told]["path"], "end": end, "error": error, "seconds": seconds}) + "\n")
        told += 1
    out.flush()
    return told


def _end(child: int) -> int:
    """Kill what is left of a group; how its process ended."""
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


def _import_all(todo: list[dict[str, str]], spec: dict[str, Any], pipe: int) -> None:
    """In the child: import one after the other; what they print goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    for module in todo:
        folder = os.path.join(spec["top"], module["root"])
        sys.path[:] = [folder, *(path for path in _roots(spec) if path != folder), *_others(spec)]
        sys.argv[:] = [os.path.join(spec["top"], module["path"])]
        os.chdir(folder if module["acts"] else spec["top"])
        told = {"path": module["path"], **_import(module["name"], spec)}
        os.write(pipe, json.dumps(told).encode() + b"\n")


def _roots(spec: dict[str, Any]) -> list[str]:
    return [os.path.join(spec["top"], root) for root in spec["roots"]]


def _others(spec: dict[str, Any]) -> list[str]:
    return [path for path in sys.path if not path.startswith(spec["top"])]


def _import(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    top = name.partition(".")[0]
    known = sys.modules.get(top)
    if known is not None and not str(getattr(known, "__file__", "") or spec["top"]).startswith(spec["top"]):
        return {"end": "not run", "error": f"`{top}` is hidden by an installed package that is loaded already"}
    try:
        importlib.import_module(name)
        told: dict[str, Any] = {"end": "ok"}
    except BaseException as error:
        told = _told(error, spec)
    told["seconds"] = round(time.monotonic() - started, 2)
    return told


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
        told["package"] = error.name.partition(".")[0]
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
        if isinstance(chain, OSError) and chain.errno == 30:
            return "writes outside the project"
        chain = chain.__cause__ or chain.__context__
    return "failed"


def _site(error: BaseException, top: str) -> list[Any] | None:
    """The innermost place inside the project; a syntax error has its own."""
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(top):
        return [os.path.relpath(error.filename, top), error.lineno or 1]
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(top + os.sep)]
    return [os.path.relpath(inside[-1].filename, top), inside[-1].lineno] if inside else None


if __name__ == "__main__":
    main()
