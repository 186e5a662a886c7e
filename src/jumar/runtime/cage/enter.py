"""Started as a script: shuts a program into a machine of its own, and tells how it ended.

usage: enter.py SPEC, an object that `jumar.runtime.cage` writes, by `marshal` and in hexadecimal digits

Three processes. The launcher stays outside, holds the control group, and ends all when the pipe `hold` closes: then
whoever asked for the cage is gone. The keeper is the first process inside; when it ends, so does every other. The
program can reach neither of them. The pipe `status` gets one line when the cage is shut and the program starts, and
one when the program has ended; if the first does not come, nothing ran. Standard library only, and little of it: every
import costs each program milliseconds.
"""

from __future__ import annotations

import marshal
import os
import select
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import limits  # type: ignore[import-not-found]  # noqa: E402
import namespaces as ns  # type: ignore[import-not-found]  # noqa: E402

del sys.path[0]

FORBIDDEN = 97
_KILL = 9
_INNERMOST = 8
"""Process ids up to this one are those of a process namespace; out there they belong to the system."""
_LARGEST = 16 << 20
"""Bytes of a file that is handed out at the end."""
_HIDDEN = ("acpi", "asound", "kcore", "keys", "kmsg", "latency_stats", "sched_debug", "scsi", "timer_list")
_DEVICES = ("null", "zero", "full", "random", "urandom")


def main() -> None:
    spec = marshal.loads(bytes.fromhex(sys.argv[1]))
    try:
        if spec["inside"]:  # Somebody else has made the namespaces.
            import shutil

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
    data = marshal.dumps(message).hex().encode() + b"\n"
    try:
        while data:
            data = data[os.write(pipe, data) :]
    except OSError:  # Nobody listens any more.
        return


def _launch(spec: dict[str, Any]) -> NoReturn:
    user, group = os.getuid(), os.getgid()
    _leave_groups()
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


def _leave_groups() -> None:
    try:
        os.setgroups([])
    except PermissionError:  # Only root can; nothing that a group of the user's may open is in the cage.
        return


def _wait(keeper: int, hold: int) -> None:
    """Until the keeper has ended; it is ended when nobody holds the pipe any more."""
    watched = select.poll()
    process = os.pidfd_open(keeper)
    watched.register(process, select.POLLIN)
    watched.register(hold, select.POLLIN | select.POLLHUP)
    if process not in dict(watched.poll()):
        os.kill(keeper, _KILL)
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
    ns.name_host(spec["host"])
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
    try:
        ns.mount("devpts", "/new/dev/pts", "devpts", ns.NO_SUID | ns.NO_EXEC, "newinstance,ptmxmode=0666,mode=620")
    except OSError:  # Then there are no terminals.
        return


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
    import shutil

    shutil.copytree(source, f"{space}/copy", symlinks=True)
    ns.bind(f"{space}/copy", target)


def _make_proc() -> None:
    os.mkdir("/new/proc")
    ns.mount("proc", "/new/proc", "proc", ns.NO_SUID | ns.NO_DEVICES | ns.NO_EXEC)
    with open("/new/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as file:
        file.write("0")
    for name in _HIDDEN:
        path = f"/new/proc/{name}"
        if os.path.isdir(path):
            ns.mount("tmpfs", path, "tmpfs", options="size=4k,mode=555")
        elif os.path.exists(path):
            ns.mount("/old/dev/null", path, flags=ns.BIND)


def _close(writable: set[str]) -> None:
    """Nothing can be written but the listed folders, and no file gives rights to who starts it."""
    for target, known in list(ns.mounts()):
        flags = known | ns.NO_SUID
        if not target.startswith("/dev/") or target == "/dev/shm":
            flags |= ns.NO_DEVICES
        ns.remount(target, flags if target in writable else flags | ns.READ_ONLY)


def _keep(spec: dict[str, Any], *, grouped: bool, launcher: int) -> NoReturn:
    """Run the program to its end, then hand out what was asked for. `launcher` is a pipe that ends with it."""
    limits.cap_processes(spec["limits"]["processes"])
    ns.drop_capabilities()
    ns.set_unreadable()
    ns.die_with_parent(_KILL)
    if select.select([launcher], [], [], 0)[0]:  # It was gone before it could take us along.
        os._exit(FORBIDDEN)
    ours, theirs = os.pipe()
    program = os.fork()
    if program == 0:
        _become(spec, theirs)
    os.close(theirs)
    with open(ours, encoding="ascii") as pipe:
        lines = [marshal.loads(bytes.fromhex(line)) for line in pipe]
    failed = next((line for line in lines if "error" in line), None)
    if failed is not None or not lines:
        _tell(spec, failed or {"error": "the program did not start"})
        os._exit(FORBIDDEN)
    for number in spec["pass"]:
        os.close(number)
    _tell(spec, {"held": {"filter": lines[0]["filter"], "group": grouped}})
    code = _reap(program)
    _kill_all()
    _tell(spec, {"code": code, "files": {path: _content(path) for path in spec["collect"]}})
    os._exit(0)


def _kill_all() -> None:
    """Every other process in here; the number of ours tells that it is in here that we are."""
    if os.getpid() > _INNERMOST:
        return
    try:
        os.kill(-1, _KILL)
    except ProcessLookupError:
        return


def _reap(program: int) -> int:
    while True:
        process, status = os.waitpid(-1, 0)
        if process == program:
            return os.waitstatus_to_exitcode(status)


def _content(path: str) -> bytes:
    """A file that the program wrote; empty if it is none, or something else stands in its place."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(file, "rb") as stream:
        return stream.read(_LARGEST) if stat.S_ISREG(os.fstat(file).st_mode) else b""


def _become(spec: dict[str, Any], theirs: int) -> NoReturn:
    """In the program's process: take the limits and turn into it."""
    try:
        os.setsid()
        os.chdir(spec["cwd"])
        kept = sorted({0, 1, 2, theirs, *spec["pass"]})
        for first, following in zip(kept, [*kept[1:], 1 << 16]):
            os.closerange(first + 1, following)
        path = _program(spec["words"][0], spec["env"].get("PATH", os.defpath))
        for number in spec["pass"]:
            os.set_inheritable(number, True)
        limits.apply(spec["limits"])
        _say(theirs, {"filter": limits.filter_calls()})
        os.execve(path, spec["words"], spec["env"])
    except BaseException as error:
        _say(theirs, {"error": str(error.args[-1]) if error.args else repr(error)})
    os._exit(FORBIDDEN)


def _program(name: str, path: str) -> str:
    places = [name] if "/" in name else [f"{folder}/{name}" for folder in path.split(":")]
    for place in places:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    raise FileNotFoundError(2, f"no such program in the sandbox: {name}")


if __name__ == "__main__":
    main()
