"""The headers of the emulated CANN: they compile, agree with those in torch_npu's wheel, and programs run with them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import generate_headers
from jumar.emulate import env, prefix
from native_types import read_headers

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")


def _compile(source: Path, *options: str, compiler: str = "g++") -> None:
    done = subprocess.run([compiler, *options, str(source)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[:5000]


@pytest.fixture(scope="module")
def include(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("include")
    generate_headers.main(str(folder))
    return folder


@pytest.mark.parametrize(("compiler", "suffix"), [("gcc", "c"), ("g++", "cpp")])
def test_all_headers_compile_in_one_unit(include: Path, tmp_path: Path, compiler: str, suffix: str) -> None:
    names = sorted(path.relative_to(include) for path in include.rglob("*.h"))
    if suffix == "c":
        names = [name for name in names if name.parts[0] not in ("ge", "graph")]
    assert len(names) > 300
    source = tmp_path / f"all.{suffix}"
    source.write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
    _compile(source, "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused-variable", f"-I{include}", compiler=compiler)


def test_each_header_stands_alone(include: Path, tmp_path: Path) -> None:
    for table in read_headers().values():
        if "header" in table:
            source = tmp_path / "one.c"
            source.write_text(f'#include "{table["header"]}"\n', encoding="utf-8")
            _compile(source, "-fsyntax-only", f"-I{include}", compiler="gcc")


def test_numbers_sizes_and_signatures_are_those_of_the_vendor(include: Path, tmp_path: Path) -> None:
    found = importlib.util.find_spec("torch_npu")
    if found is None or found.origin is None:
        pytest.skip("torch_npu, whose wheel has the vendor's headers, is not installed")
    theirs = Path(found.origin).parent / "include"
    folders = [theirs, theirs / "third_party/acl/inc", theirs / "third_party/hccl/inc"]
    text = "".join(path.read_text("utf-8", "replace") for folder in folders[1:] for path in folder.rglob("*.h"))
    known = set(re.findall(r"\w+", re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)))
    program = tmp_path / "facts.cpp"
    asked = _asked(known)
    assert len(asked) > 700
    program.write_text(_program(asked), encoding="utf-8")
    ours = _run(program, tmp_path / "ours", [include])
    vendor = _run(program, tmp_path / "theirs", folders)
    assert [pair for pair in zip(ours, vendor, strict=True) if pair[0] != pair[1]] == []


def _asked(known: set[str]) -> list[str]:
    """Expressions in C++ whose values must agree: numbers, sizes of structures, and the types of functions."""
    asked = []
    tables = read_headers()
    for table in tables.values():
        if not table.get("header", "").startswith(("acl/", "hccl/")):
            continue
        words = [*table.get("macros", {}), *table.get("constants", {})]
        words += [word for values in table.get("enums", {}).values() for word in values]
        asked += [f"(long long){word}" for word in words if word in known and not _is_text(table, word)]
        asked += [f"(long long)sizeof({name})" for name in table.get("structs", {}) if name in known]
    tables.pop("aclnnop")
    declared = generate_headers.headers(tables, generate_headers.read_functions())
    for path, text in declared.items():
        if path.startswith(("acl/", "hccl/")):
            names = re.findall(r"^ACL_FUNC_VISIBILITY .*?(\w+)\(", text, re.M)
            asked += [f"typeid(&{name}).name()" for name in names if name in known]
    return asked


def _is_text(table: dict[str, dict[str, str]], word: str) -> bool:
    return str(table.get("macros", {}).get(word, "")).startswith('"')


def _program(asked: list[str]) -> str:
    acl = ("acl", "acl_dump", "acl_op_compiler", "acl_tdt", "acl_prof", "acl_rt_allocator")
    names = [*(f"acl/{name}.h" for name in acl), "hccl/hccl.h"]
    lines = ["#include <cstdio>", "#include <typeinfo>", *(f'#include "{name}"' for name in names), "int main() {"]
    for one in asked:
        mark = "%s" if one.startswith("typeid") else "%lld"
        lines.append(f'  std::printf("%s {mark}\\n", R"({one})", {one});')
    return "\n".join([*lines, "}", ""])


def _run(source: Path, program: Path, folders: list[Path]) -> list[str]:
    """Functions are only asked for their types: nothing is linked."""
    _compile(source, "-std=c++17", "-O0", "-w", *(f"-I{folder}" for folder in folders), "-o", str(program))
    return subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An emulated CANN as `jumar emulate prefix` writes it, with the headers of this build."""
    place = tmp_path_factory.mktemp("machine") / "Ascend"
    prefix.write(place, prefix.build(place, env.environment(soc="910B3", cards=2, base={})))
    return place


def _shell(home: Path, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("JUMAR_", "ASCEND", "LD_"))}
    text = f"source {home}/ascend-toolkit/set_env.sh\n{command}"
    return subprocess.run(
        ["bash", "-ec", text], cwd=folder, env={**clean, "JUMAR_QUIET": "1"}, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip


BUILD = "gcc -I$ASCEND_HOME_PATH/include {source} -L$ASCEND_HOME_PATH/lib64 -lopapi -lnnopbase -lascendcl -o program"


def test_a_program_in_c_adds_on_the_card(home: Path, tmp_path: Path) -> None:
    done = _shell(home, f"{BUILD.format(source=PROGRAMS / 'add.c')}\n./program", tmp_path)
    assert done.stdout == "Ascend910B3 host\n2 3 4 7 8 9 12 13\ntype 0, 2 dims\n", done.stderr
    assert done.returncode == 0


def test_build_files_of_older_releases_find_headers_and_libraries(home: Path, tmp_path: Path) -> None:
    places = ("runtime/include", "runtime/lib64/stub"), ("aarch64-linux/include", "aarch64-linux/devlib")
    for headers, libraries in places:
        command = BUILD.format(source=PROGRAMS / "add.c")
        command = command.replace("PATH/include", f"PATH/{headers}").replace("PATH/lib64", f"PATH/{libraries}")
        done = _shell(home, f"{command}\n./program", tmp_path)
        assert done.returncode == 0, done.stderr


def test_an_operator_that_needs_python_refuses_by_name(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "glu.c"
    source.write_text(
        '#include <stdio.h>\n#include "acl/acl.h"\n#include "aclnnop/aclnn_glu.h"\n'
        "int main(void) {\n  uint64_t bytes;\n  aclOpExecutor *executor;\n"
        '  printf("%d\\n", aclnnGluGetWorkspaceSize(NULL, 0, NULL, &bytes, &executor));\n'
        '  printf("%s\\n", aclGetRecentErrMsg());\n}\n',
        encoding="utf-8",
    )
    done = _shell(home, f"{BUILD.format(source=source)}\n./program", tmp_path)
    assert done.stdout == (
        "561112\njumar: `aclnnGluGetWorkspaceSize` is not emulated (state: refused) in a process without MindSpore, "
        "whose Python computes it; `jumar emulate coverage` lists what is\n"
    )


def test_collectives_of_a_program_in_cpp(home: Path, tmp_path: Path) -> None:
    command = (
        f"g++ -std=c++17 -I$ASCEND_HOME_PATH/include {PROGRAMS / 'all_reduce.cpp'} -L$ASCEND_HOME_PATH/lib64 "
        "-lhccl -lascendcl -pthread -o program\n./program"
    )
    done = _shell(home, command, tmp_path)
    assert done.stdout == "rank 0: 3 5\nrank 1: 3 5\n", done.stderr
