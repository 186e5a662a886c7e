"""Started as a script: shuts a program into a machine of its own, and tells how it ended.

usage: enter.py SPEC, a JSON object that `jumar.runtime.cage` writes

Three processes. The launcher stays outside, holds the control group, and ends all when the pipe `hold` closes: then
whoever asked for the cage is gone. The keeper is the first process inside; when it ends, so does every other. The
program can reach neither of them. The pipe `status` gets one line when the cage is shut and the program starts, and
one when the program has ended; if the first does not come, nothing ran. Standard library only.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import stat
import sys
from typing import Any, NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import limits  # type: ignore[import-not-found]
import namespaces as ns  # type: ignore[import-not-found]

del sys.path[0]

FORBIDDEN = 97
_LARGEST = 16 << 20
"""Bytes of a file that is handed out at the end."""
_HIDDEN = ("acpi", "asound", "kcore", "keys", "kmsg", "latency_stats", "sched_debug", "scsi", "timer_list")
_DEVICES = ("null", "zero", "full", "random", "urandom")


def main() -> None:
    spec = json.loads(sys.argv[1])
    try:
        if spec["inside"]:  # Somebody else has made the namespaces.
            for source, target in spec["copies"]:
                shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
            _keep(spec, grouped=False, launcher=spec["hold"])
        _launch(spec)
    except OSError as error:  # Fail closed: nothing has run.
        _tell(spec, {"error": str(error.args[-1])})
        os._exit(FORBIDDEN)


def _tell(spec: dict[str, Any], message: dict[str, Any]) -> None:
    _say(spec["status"], message)


def _say(pipe: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(pipe, data) :]


def _launch(spec: dict[str, Any]) -> NoReturn:
    user, group = os.getuid(), os.getgid()
    with contextlib.suppress(PermissionError):
        os.setgroups([])
    bounds = limits.Group(spec["limits"])
    try:
        ns.unshare(ns.NEWUSER | ns.NEWPID)
        ns.map_self(user, group)
        ready, go = os.pipe()
        keeper = os.fork()
        if keeper == 0:
            os.close(go)
            _begin(spec, ready)
        os.close(ready)
        grouped = bounds.add(keeper)
        os.write(go, b"1" if grouped else b"0")
        os.close(spec["status"])
        for number in spec["pass"]:
            os.close(number)
        _wait(keeper, spec["hold"])
    finally:
        bounds.remove()
    os._exit(0)


def _wait(keeper: int, hold: int) -> None:
    """Until the keeper has ended; it is ended when nobody holds the pipe any more."""
    watched = select.poll()
    process = os.pidfd_open(keeper)
    watched.register(process, select.POLLIN)
    watched.register(hold, select.POLLIN | select.POLLHUP)
    if process not in dict(watched.poll()):
        os.kill(keeper, signal.SIGKILL)
    os.waitpid(keeper, 0)


def _begin(spec: dict[str, Any], ready: int) -> NoReturn:
    """In the keeper: make the machine, then run the program in it."""
    try:
        grouped = os.read(ready, 1) == b"1"
        ns.unshare(ns.NEWNS | ns.NEWNET | ns.NEWIPC | ns.NEWUTS | ns.NEWCGROUP)
        ns.leave_keyring()
        _build(spec)
        _keep(spec, grouped=grouped, launcher=ready)
    except BaseException as error:  # Whatever went wrong, nothing may run.
        _tell(spec, {"error": str(error.args[-1]) if error.args else type(error).__name__})
    os._exit(FORBIDDEN)


def _build(spec: dict[str, Any]) -> None:
    """A root folder that holds what the spec names, and nothing else."""
    import socket

    ns.make_private()
    ns.mount("tmpfs", "/tmp", "tmpfs", options="size=1m,mode=755")
    for name in ("old", "new", "space"):
        os.mkdir(f"/tmp/{name}")
    ns.pivot("/tmp", "/tmp/old")
    os.chdir("/")
    ns.mount("tmpfs", "/new", "tmpfs", options="size=4m,mode=755")
    ns.mount("tmpfs", "/space", "tmpfs", options=f"size={spec['limits']['space']},mode=755")
    writable = ["/dev/pts"]
    for number, target in enumerate(spec["folders"]):
        os.mkdir(f"/space/{number}")
        os.chmod(f"/space/{number}", 0o1777 if target in ("/tmp", "/dev/shm") else 0o755)
        ns.bind(f"/space/{number}", f"/new{target}")
        writable.append(target)
    for number, (source, target) in enumerate(spec["copies"]):
        _copy(f"/old{source}", f"/space/copy{number}", f"/new{target}")
        writable.append(target)
    for source, target in spec["read"]:
        ns.bind(f"/old{source}", f"/new{target}")
    for target, points_to in spec["links"]:
        os.symlink(points_to, f"/new{target}")
    for target, text in spec["files"].items():
        os.makedirs(os.path.dirname(f"/new{target}"), exist_ok=True)
        with open(f"/new{target}", "w", encoding="utf-8") as file:
            file.write(text)
    _make_devices()
    _make_proc()
    ns.raise_loopback()
    socket.sethostname(spec["host"])
    os.chdir("/new")
    ns.pivot(".", ".")
    ns.unmount(".")
    os.chdir("/")
    _close(set(writable))


def _make_devices() -> None:
    os.makedirs("/new/dev/pts", exist_ok=True)
    for name in _DEVICES:
        ns.bind(f"/old/dev/{name}", f"/new/dev/{name}")
    for name, points_to in (
        ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"), ("ptmx", "pts/ptmx"),
    ):  # fmt: skip
        os.symlink(points_to, f"/new/dev/{name}")
    with contextlib.suppress(OSError):
        ns.mount("devpts", "/new/dev/pts", "devpts", ns.NO_SUID | ns.NO_EXEC, "newinstance,ptmxmode=0666,mode=620")


def _copy(source: str, space: str, target: str) -> None:
    """A folder that can be written to while the original stays: a layer above it, or else a copy in memory."""
    os.mkdir(space)
    os.makedirs(target, exist_ok=True)
    for name in ("upper", "work"):
        os.mkdir(f"{space}/{name}")
    try:
        options = f"lowerdir={source},upperdir={space}/upper,workdir={space}/work"
        if not {",", ":", "\\"} & set(source):
            ns.mount("overlay", target, "overlay", ns.NO_SUID | ns.NO_DEVICES, f"{options},userxattr")
            return
    except OSError:  # Not in a user namespace before Linux 5.11.
        pass
    shutil.copytree(source, f"{space}/copy", symlinks=True)
    ns.bind(f"{space}/copy", target)


def _make_proc() -> None:
    os.mkdir("/new/proc")
    ns.mount("proc", "/new/proc", "proc", ns.NO_SUID | ns.NO_DEVICES | ns.NO_EXEC)
    with open("/new/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as file:
        file.write("0")
    for name in _HIDDEN:
        path = f"/new/proc/{name}"
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(path).st_mode):
                ns.mount("tmpfs", path, "tmpfs", options="size=4k,mode=555")
            else:
                ns.mount("/old/dev/null", path, flags=ns.BIND)


def _close(writable: set[str]) -> None:
    """Nothing can be written but the listed folders, and no file gives rights to who starts it."""
    for mount in list(ns.mounts()):
        flags = mount.flags | ns.NO_SUID
        if not mount.target.startswith("/dev/") or mount.target == "/dev/shm":
            flags |= ns.NO_DEVICES
        ns.remount(mount.target, flags if mount.target in writable else flags | ns.READ_ONLY)


def _keep(spec: dict[str, Any], *, grouped: bool, launcher: int) -> NoReturn:
    """Run the program to its end, then hand out what was asked for. `launcher` is a pipe that ends with it."""
    limits.cap_processes(spec["limits"]["processes"])
    ns.drop_capabilities()
    ns.set_unreadable()
    ns.die_with_parent(signal.SIGKILL)
    if select.select([launcher], [], [], 0)[0]:  # It was gone before it could take us along.
        os._exit(FORBIDDEN)
    ours, theirs = os.pipe()
    program = os.fork()
    if program == 0:
        _become(spec, theirs)
    os.close(theirs)
    with open(ours, encoding="utf-8") as pipe:
        lines = [json.loads(line) for line in pipe]
    failed = next((line for line in lines if "error" in line), None)
    if failed is not None or not lines:
        _tell(spec, failed or {"error": "the program did not start"})
        os._exit(FORBIDDEN)
    for number in spec["pass"]:
        os.close(number)
    _tell(spec, {"held": {"filter": lines[0]["filter"], "group": grouped}})
    code = _reap(program)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    _tell(spec, {"code": code, "files": {path: _content(path) for path in spec["collect"]}})
    os._exit(0)


def _reap(program: int) -> int:
    while True:
        process, status = os.waitpid(-1, 0)
        if process == program:
            return os.waitstatus_to_exitcode(status)


def _content(path: str) -> str:
    """A file that the program wrote, in base64; empty if it is none, or something else stands in its place."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        return base64.b64encode(stream.read(_LARGEST)).decode()


def _become(spec: dict[str, Any], theirs: int) -> NoReturn:
    """In the program's process: take the limits and turn into it."""
    try:
        os.setsid()
        os.chdir(spec["cwd"])
        kept = sorted({0, 1, 2, theirs, *spec["pass"]})
        for first, following in zip(kept, [*kept[1:], 1 << 16]):
            os.closerange(first + 1, following)
        path = shutil.which(spec["words"][0], path=spec["env"].get("PATH"))
        if path is None:
            raise FileNotFoundError(2, f"no such program: {spec['words'][0]}")
        for number in spec["pass"]:
            os.set_inheritable(number, True)
        limits.apply(spec["limits"])
        _say(theirs, {"filter": limits.filter_calls()})
        os.execve(path, spec["words"], spec["env"])
    except BaseException as error:
        _say(theirs, {"error": str(error.args[-1]) if error.args else repr(error)})
    os._exit(FORBIDDEN)


if __name__ == "__main__":
    main()
