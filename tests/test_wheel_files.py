"""The tools that make the published files: the same bytes twice, nothing of a compiler, files out of a far wheel."""

from __future__ import annotations

import http.server
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import bare
import image
import prebuilt_pair
import version_environment
import wheel_files
import wheels
from jumar.core import compat
from jumar.runtime import compiled

ROOT = Path(__file__).parents[1]
BUILDER = Path(f"{sys.prefix}-dist") / "bin" / "python"
"""Made by `make wheels` and `make slow`."""


def _zip(path: Path, names: tuple[str, ...], year: int) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), name * 50)
    return path


def test_a_wheel_is_evened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    names = ("a-1.dist-info/RECORD", "a/lib.so", "a/lib.so.1", "a/b.py")
    made = []
    for folder, order, year in (("one", names, 1999), ("two", names[::-1], 2020)):
        (tmp_path / folder / "out").mkdir(parents=True)
        made.append(wheels.even(_zip(tmp_path / folder / "a.whl", order, year), tmp_path / folder / "out"))
    assert made[0].read_bytes() == made[1].read_bytes()
    with zipfile.ZipFile(made[0]) as wheel:
        modes = {member.filename: oct(member.external_attr >> 16) for member in wheel.infolist()}
    assert modes == {
        "a/b.py": "0o100644", "a/lib.so": "0o100755", "a/lib.so.1": "0o100755", "a-1.dist-info/RECORD": "0o100644",
    }  # fmt: skip
    assert list(modes)[-1] == "a-1.dist-info/RECORD"


def test_a_bare_machine_has_programs_and_no_compiler(tmp_path: Path) -> None:
    env = bare.environment(Path("/nowhere/bin/python"), tmp_path)
    assert shutil.which("sh", path=env["PATH"])
    compiler = re.compile(r"(.*-)?(g\+\+|gcc|cc|c\+\+|clang|clang\+\+)(-[\d.]+)?")
    assert not [name for name in os.listdir(tmp_path / "bin") if compiler.fullmatch(name)]


def test_programs_of_an_environment_keep_compiled_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    found = version_environment.variables(Path("/nowhere/bin/python"), "/programs")
    assert "PYTHONDONTWRITEBYTECODE" not in found
    assert found["PATH"] == "/nowhere/bin:/programs"


def test_a_program_without_an_end_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_environment, "LIMIT", 0.5)
    command = ["sh", "-c", "echo begun; sleep 60 & echo $! > child; wait"]
    done = version_environment.run(command, tmp_path, dict(os.environ))
    assert (done.returncode, done.stdout) == (1, "begun\n")
    assert done.stderr.endswith("Error: no end after 0.5 s")
    state = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    for _ in range(200):  # a killed process may still wait for its last turn
        if not state.exists() or state.read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    assert not state.exists() or state.read_text().split()[2] == "Z"


@pytest.mark.parametrize(
    ("check", "code", "said", "fine"),
    [
        ("record", 1, "", False),
        ("doctor", 3, "DR503 warning", True),
        ("migrate", 1, "PT101", True),
        ("migrate", 2, "error: no file", False),
        ("two cards", 0, "Traceback (most recent call last):", False),
        ("guide, cnn, gpt, half, fused", 0, '{"check": "cnn", "passed": false}', False),
    ],
)
def test_what_a_check_on_a_bare_machine_accepts(check: str, code: int, said: str, fine: bool) -> None:
    done: subprocess.CompletedProcess[str] = subprocess.CompletedProcess([], code, said, "")
    assert (bare.problem(check, done) == "") is fine


def test_the_steps_of_the_image_are_read_whole() -> None:
    steps = list(image.instructions(image.RECIPE.read_text(encoding="utf-8")))
    assert [word for word, _ in steps if word not in ("ARG", "RUN")] == ["FROM", "FROM", "ENV", "WORKDIR", "CMD"]
    installs = next(value for word, value in steps if word == "RUN" and "pip install" in value)
    assert installs.startswith("--mount=type=cache") and installs.endswith("pytest pytest-xdist")


def test_wheels_of_this_tree_are_where_the_image_looks(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "a.whl").touch()
    words = "--mount=type=cache,target=/c --mount=type=bind,from=wheels,target=/wheels  pip install a"
    assert image._mounts(words, tmp_path / "root", tmp_path / "dist") == "pip install a"
    assert (tmp_path / "root" / "wheels" / "a.whl").exists()


def test_the_source_archive_has_every_program_of_its_build() -> None:
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("CMakeLists.txt", "native/CMakeLists.txt"))
    programs = {f"/{name}" for name in re.findall(r"tools/\w+\.py", text) if "prebuilt" not in name}
    settings = compat.tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert programs and programs <= set(settings["tool"]["scikit-build"]["sdist"]["include"])


@pytest.mark.parametrize("spec", [prebuilt_pair.glue.spec(), prebuilt_pair.dry.spec()], ids=lambda spec: spec.folder)
def test_every_header_of_torch_npu_that_a_library_asks_for_is_looked_at(spec: compiled.Build) -> None:
    sources = b"\n".join(spec.sources)
    asked = re.findall(rb'#\s*include\s*[<"]([^>"]*(?:npu|acl|hccl|third_party)[^>"]*)', sources, re.I)
    stable = {"acl/acl.h"}  # the C interface of CANN
    assert asked and {name.decode() for name in asked} - stable == prebuilt_pair._names(spec.sources)


def test_a_library_is_kept_under_everything_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(*words: str, torch: str = "/one", sources: tuple[bytes, ...] = (b"a.cpp",)) -> str:
        monkeypatch.setattr(compiled, "package", lambda name: Path(torch, name))
        command = lambda compiler, out: [compiler, *words, f"-I{torch}/torch/include", "-o", str(out)]  # noqa: E731
        spec = compiled.Build("it", "it", "libit.so", "1", sources, command)
        return prebuilt_pair._digest(spec, sys.executable)

    assert digest("-O2", torch="/other") == digest("-O2"), "folders do not count"
    assert len({digest("-O2"), digest("-O1"), digest("-O2", sources=(b"b.cpp",))}) == 3


class _Ranges(http.server.BaseHTTPRequestHandler):
    content = b""
    asked = 0

    def do_GET(self) -> None:
        first, last = (int(part) for part in self.headers["Range"].removeprefix("bytes=").split("-"))
        part = self.content[first : last + 1]
        type(self).asked += len(part)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(self.content)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Ranges) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/torch.whl"
        server.shutdown()
        thread.join()


def test_some_files_come_out_of_a_far_wheel(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel_files, "_BLOCK", 1000)
    with zipfile.ZipFile(tmp_path / "torch.whl", "w") as wheel:
        wheel.writestr("torch/lib/large.so", bytes(300_000))
        wheel.writestr("torch/include/a.h", "int a;\n" * 400)
    _Ranges.content, _Ranges.asked = (tmp_path / "torch.whl").read_bytes(), 0
    wheel_files.extract(address, tmp_path / "out", lambda name: "/include/" in name)
    assert [path.name for path in (tmp_path / "out").rglob("*.*")] == ["a.h"]
    assert (tmp_path / "out" / "torch" / "include" / "a.h").read_text() == "int a;\n" * 400
    assert _Ranges.asked < 10_000


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        words = ["--out", str(tmp_path / name), "--machine", platform.machine(), "--torch", "none"]
        subprocess.run([str(BUILDER), str(ROOT / "tools" / "wheels.py"), *words], check=True)
    found = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert [Path(name).suffix for name in found] == [".whl", ".gz"]
    for name in found:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    _look_into(tmp_path / "one" / found[0])


def _look_into(wheel: Path) -> None:
    tag = re.search(rf"-py3-none-manylinux_2_(\d+)_{platform.machine()}\.whl$", wheel.name)
    assert tag and int(tag[1]) <= wheels.FLOOR
    with zipfile.ZipFile(wheel) as files:
        tops = {name.split("/")[0] for name in files.namelist()}
    assert {re.sub(r"-\d+(\.\d+)*", "", name) for name in tops} == {"jumar", "jumar.pth", "jumar.dist-info"}


@pytest.mark.slow
def test_two_builds_of_the_libraries_give_the_same_bytes(tmp_path: Path) -> None:
    """Against the installed torch, in two folders."""
    made = []
    for name in ("one", "other"):
        command = [sys.executable, str(ROOT / "tools" / "prebuilt_pair.py"), "g++", platform.machine()]
        done = subprocess.run([*command, str(tmp_path / name)], stdout=subprocess.PIPE, text=True, check=True)
        made.append([next(Path(line).glob("*.so")).read_bytes() for line in done.stdout.splitlines()])
    assert made[0] == made[1]
    assert len(made[0]) == 3
    assert not any(str(place).encode() in library for place in (ROOT, tmp_path) for library in made[0])


@pytest.mark.slow
def test_a_wheel_runs_where_there_is_no_compiler(tmp_path: Path) -> None:
    """The default pair on this Python; `tools/bare.py` alone tries all of them."""
    own = "{}.{}".format(*sys.version_info)
    tools, out = ROOT / "tools", tmp_path / "dist"
    torch = bare.tested.pair().torch
    build = [str(BUILDER), str(tools / "wheels.py"), "--out", str(out), "--machine", platform.machine()]
    subprocess.run([*build, "--torch", torch], check=True)
    wheel = next(out.glob("*.whl"))
    command = [sys.executable, str(tools / "bare.py"), str(wheel), "--python", own, "--cache", str(tmp_path / "cache")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "nothing was built: passed" in done.stdout
