"""C++ for the installed torch: what the wheel brings along, or built once for each torch into the user's cache."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple

from jumar.core.errors import UserError, cannot
from jumar.runtime import home, prebuilt, process, sealed, variables
from jumar.runtime.sealed import CACHE_NOTE
from jumar.runtime.tell import tell
from jumar.tables import tested

_HERE = Path(__file__).parent
_ROOM = f"free some space; {CACHE_NOTE}"


class Build(NamedTuple):
    """A library that is built when it is first needed, unless the wheel has it."""

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
    includes: Path | None = None
    """Headers of torch_npu, which a library of the wheel has to fit too."""


def library(build: Build, *, again: bool = True) -> Path:
    """The file that fits; builds it if there is none. What failed once is tried `again`, or refused at once."""
    return shipped(build) or _cached(build) or _built(build, again=again)


def shipped(build: Build) -> Path | None:
    """The library of the wheel that fits the installed torch and torch_npu."""
    if not prebuilt.rows():
        return None
    sources = prebuilt.digest(build.sources)
    wanted = prebuilt.Wanted(build.library, metadata.version("torch"), string_abi(), sources)
    return prebuilt.find(wanted, build.includes)


def _cached(build: Build) -> Path | None:
    """What another compiler built here before, where there is none now."""
    if shutil.which(_compiler_name()):
        return None
    places = sorted(path.parent for path in _folder(build).glob(f"*/{build.library}"))
    for place in places:
        sealed.folder(place, cache_dir())
    return next(filter(sealed.is_sound, (place / build.library for place in places)), None)


def _built(build: Build, *, again: bool) -> Path:
    compiler = _compiler(build)
    folder = _folder(build) / _digest_of_compiler(compiler)
    built, failed = folder / build.library, folder / "failed"
    sealed.folder(folder, cache_dir())
    if sealed.is_sound(built):
        return built
    if failed.exists() and not again:
        raise UserError(failed.read_text(encoding="utf-8"))
    try:
        with open(folder / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several processes start at once: one builds, the others wait
            if not sealed.is_sound(built):
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


def _compiler_name() -> str:
    return os.environ.get("CXX") or "g++"


def _compiler(build: Build) -> str:
    wanted = _compiler_name()
    found = shutil.which(wanted)
    if found is None:
        torch = metadata.version("torch")
        message = f"{build.what} needs a C++ compiler once for torch {torch}, but `{wanted}` was not found"
        raise UserError(message, hint=f"sudo apt install g++{_other_pair(build.library)}")
    return found


def _other_pair(name: str) -> str:
    """The releases that need no compiler: of torch_npu if this torch is among them. Nothing if Jumar has none."""
    rows = [row for row in prebuilt.rows() if row.library == name and row.machine == platform.machine()]
    torch = metadata.version("torch").split("+")[0]
    if near := [row.torch_npu for row in rows if row.torch == torch and row.torch_npu]:
        return f"; or take a torch_npu that needs none: {', '.join(near)}"
    known = dict.fromkeys(row.torch for row in rows)
    return f"; or take a torch that needs none: {', '.join(known)}" if known else ""


def _folder(build: Build) -> Path:
    """In the cache: for these sources, this torch and this machine."""
    parts = (*build.sources, platform.machine().encode(), str(package("torch")).encode())
    return cache_dir() / build.folder / f"{build.version}-{prebuilt.digest(parts)}"


def _digest_of_compiler(compiler: str) -> str:
    status = os.stat(os.path.realpath(compiler))
    return prebuilt.digest(str(part).encode() for part in (compiler, status.st_size, status.st_mtime_ns))


def _build(build: Build, compiler: str, folder: Path) -> None:
    version = metadata.version("torch")
    tell(f"building {build.what} for torch {version} (once, under a minute)")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        out = Path(scratch) / build.library
        build.prepare(Path(scratch))
        code, said = _compile(build.command(compiler, out), scratch)
        if code != 0:
            raise UserError(_reason(build.what, said), hint=_hint(said))
        sealed.seal(out)
        for made in (out.with_name(f"{out.name}.sha256"), out):
            os.replace(made, folder / made.name)


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
