"""Builds the glue against the installed torch, once, into the user's cache."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from importlib import metadata, util
from pathlib import Path

from jumar.core.errors import UserError
from jumar.emulate.glue import generate
from jumar.runtime import process, variables
from jumar.tables import tested

_HERE = Path(__file__).parent
_NAME = "libjumar_glue.so"


@functools.cache
def library() -> Path:
    """The glue for this torch, torch_npu and compiler; builds it if the cache has none."""
    compiler = _compiler()
    folder = cache_dir() / "glue" / _key(compiler)
    built = folder / _NAME
    if built.exists():
        return built
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several processes start at once: one builds, the others wait
            if not built.exists():
                for killed in folder.glob("tmp*"):
                    shutil.rmtree(killed, ignore_errors=True)
                _build(compiler, folder, built)
    except OSError as error:
        raise UserError(
            f"cannot write the emulator's cache: {error}",
            hint="free some space or set `JUMAR_CACHE` to another folder",
        ) from error
    return built


def cache_dir() -> Path:
    if own := variables.CACHE.read():
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jumar"


def _compiler() -> str:
    wanted = os.environ.get("CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        raise UserError(
            f"the emulator needs a C++ compiler once, but `{wanted}` was not found",
            hint="sudo apt install g++",
        )
    return found


def _key(compiler: str) -> str:
    digest = hashlib.sha256()
    for source in sorted([*_HERE.glob("*.cpp"), *_HERE.glob("*.h")]):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    for content in generate.sources():
        digest.update(content)
    status = os.stat(os.path.realpath(compiler))
    parts = (
        compiler,
        str(status.st_size),
        str(status.st_mtime_ns),
        platform.machine(),
        str(_package("torch")),
    )
    digest.update("\0".join(parts).encode())
    torch, torch_npu = metadata.version("torch"), metadata.version("torch_npu")
    return f"torch-{torch}-npu-{torch_npu}-{digest.hexdigest()[:16]}"


def _build(compiler: str, folder: Path, built: Path) -> None:
    version = metadata.version("torch")
    print(
        f"jumar: building the emulator for torch {version} (once, under a minute)",
        file=sys.stderr,
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        out = Path(scratch) / _NAME
        (Path(scratch) / generate.HEADER).write_text(generate.header(), encoding="utf-8")
        code, said = _compile(_command(compiler, out), scratch)
        if code != 0:
            raise UserError(_reason(said), hint=_hint(said))
        os.replace(out, built)


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


def _command(compiler: str, out: Path) -> list[str]:
    torch, npu = _package("torch"), _package("torch_npu")
    includes = [
        torch / "include",
        torch / "include" / "torch" / "csrc" / "api" / "include",
        npu / "include",
        npu / "include" / "third_party" / "acl" / "inc",
    ]
    return [
        compiler,
        f"-D_GLIBCXX_USE_CXX11_ABI={_string_abi(torch)}",
        *("-std=c++20", "-O2", "-g0", "-w", "-fPIC", "-shared", "-fvisibility=hidden"),
        *(f"-I{path}" for path in (out.parent, *includes)),
        str(_HERE / "glue.cpp"),
        *("-o", str(out)),
        *(f"-L{torch / 'lib'}", "-ltorch_cpu", "-lc10", f"-L{npu / 'lib'}", "-ltorch_npu"),
        # torch_npu's own needs are met by the stand-ins, which are loaded already.
        "-Wl,--allow-shlib-undefined",
    ]


def _string_abi(torch: Path) -> int:
    """Which std::string torch was built with: its x86 wheels have had the new one since 2.7."""
    return 0 if b"torchCheckFailEPKcS2_jRKSs\0" in (torch / "lib" / "libc10.so").read_bytes() else 1


def _package(name: str) -> Path:
    spec = util.find_spec(name)
    if spec is None or spec.origin is None:
        raise UserError(f"`{name}` is not installed", hint="pip install 'jumar[emulator]'")
    return Path(spec.origin).parent


def _reason(output: str) -> str:
    first = next((line for line in output.splitlines() if "rror" in line), "the compiler failed")
    return f"the emulator cannot be built: {first.strip()}"


def _hint(output: str) -> str:
    if "No space left" in output:
        return "free some space or set `JUMAR_CACHE` to another folder"
    return f"{tested.pair_hint()}, built with g++ 12"
