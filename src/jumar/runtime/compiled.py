"""Builds C++ against the installed torch, once for each torch and compiler, into the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple

from jumar.core.errors import UserError, cannot
from jumar.runtime import home, process, variables
from jumar.tables import tested

_HERE = Path(__file__).parent
CACHE_NOTE = "`JUMAR_CACHE` or `XDG_CACHE_HOME` names another folder for the cache"
_ROOM = f"free some space; {CACHE_NOTE}"


class Build(NamedTuple):
    """A library that is built when it is first needed."""

    what: str
    """Its name in messages, such as `the emulator`."""
    folder: str
    """Of the cache."""
    library: str
    version: str
    """The packages that it is built for."""
    sources: tuple[bytes, ...]
    """Everything that makes another library when it changes."""
    command: Callable[[str, Path], list[str]]
    """The words that compile it, of the compiler and the file to write."""
    prepare: Callable[[Path], None] = lambda scratch: None
    """Writes generated headers into the folder of the file to write."""


def library(build: Build, *, again: bool = True) -> Path:
    """The built file; builds it if the cache has none. What failed once is tried `again`, or refused at once."""
    compiler = _compiler(build.what)
    folder = cache_dir() / build.folder / f"{build.version}-{_digest(compiler, build.sources)}"
    built, failed = folder / build.library, folder / "failed"
    if built.exists():
        return built
    if failed.exists() and not again:
        raise UserError(failed.read_text(encoding="utf-8"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several processes start at once: one builds, the others wait
            if not built.exists():
                for killed in folder.glob("tmp*"):
                    shutil.rmtree(killed, ignore_errors=True)
                _build(build, compiler, folder)
    except UserError as error:
        if not again and error.hint != _ROOM:
            failed.write_text(error.message, encoding="utf-8")
        raise
    except OSError as error:
        raise cannot(f"write {build.what}'s cache `{folder}`", error, CACHE_NOTE) from error
    return built


def cache_dir() -> Path:
    if own := variables.CACHE.read():
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or f"{home.path()}/.cache") / "jumar"


def package(name: str) -> Path:
    """The folder of an installed package, which need not be imported."""
    spec = util.find_spec(name)
    if spec is None or spec.origin is None:
        raise UserError(f"`{name}` is not installed", hint="pip install 'jumar[emulator]'")
    return Path(spec.origin).parent


def string_abi() -> str:
    """The compiler's word for the std::string that torch was built with: its x86 wheels have the new one since 2.7."""
    old = b"torchCheckFailEPKcS2_jRKSs\0" in (package("torch") / "lib" / "libc10.so").read_bytes()
    return f"-D_GLIBCXX_USE_CXX11_ABI={0 if old else 1}"


def _compiler(what: str) -> str:
    wanted = os.environ.get("CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        raise UserError(f"{what} needs a C++ compiler once, but `{wanted}` was not found", hint="sudo apt install g++")
    return found


def _digest(compiler: str, sources: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for content in sources:
        digest.update(content)
    status = os.stat(os.path.realpath(compiler))
    parts = (compiler, str(status.st_size), str(status.st_mtime_ns), platform.machine(), str(package("torch")))
    digest.update("\0".join(parts).encode())
    return digest.hexdigest()[:16]


def _build(build: Build, compiler: str, folder: Path) -> None:
    version = metadata.version("torch")
    sys.stderr.write(f"jumar: building {build.what} for torch {version} (once, under a minute)\n")
    sys.stderr.flush()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        out = Path(scratch) / build.library
        build.prepare(Path(scratch))
        code, said = _compile(build.command(compiler, out), scratch)
        if code != 0:
            raise UserError(_reason(build.what, said), hint=_hint(said))
        os.replace(out, folder / build.library)


def _compile(command: list[str], scratch: str) -> tuple[int, str]:
    """Exit code and stderr of the compiler, which ends with this process even if that is killed."""
    held, ours = os.pipe()
    with process.start(
        [sys.executable, "-I", "-S", str(_HERE / "compiler.py"), *command],
        stdin=held,
        stdout=process.DEVNULL,
        stderr=process.PIPE,
        env={**os.environ, "TMPDIR": scratch},
    ) as keeper:
        os.close(held)
        try:
            _, said = keeper.communicate()
        except BaseException:
            process.kill(keeper)
            raise
        finally:
            os.close(ours)
    return keeper.returncode, said.decode(errors="replace")


def _reason(what: str, output: str) -> str:
    first = next((line for line in output.splitlines() if "rror" in line), "the compiler failed")
    return f"{what} cannot be built: {first.strip()}"


def _hint(output: str) -> str:
    return _ROOM if "No space left" in output else f"{tested.pair_hint()}, built with g++ 12"
