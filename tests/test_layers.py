"""Who may import whom: STYLE section 3, read from the import statements themselves."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "jumar"
FEATURES = {"migrate", "machine", "emulate", "launch", "cloud", "compare", "perf", "export", "parallel", "selftest"}
PLUGIN = ("pytest_plugin", "pytest_suite", "pytest_fixtures")
"""The plugin of pytest: like `cli` it asks `app`, and like `start` it works in the user's process."""
LOWER = {
    "core": {"core"},
    "data": {"data"},
    "tables": {"tables", "core", "data"},
    "runtime": {"runtime", "tables", "core", "data"},
    "report": {"report", "tables", "core"},
    "app": {"app", "report", "runtime", "tables", "core", "data", *FEATURES},
    "cli": {"cli", "app", "report", "runtime", "tables", "core", "data", *FEATURES},
    "api": {"app", "core", *FEATURES},
    **{part: {"start", "app", "report", "runtime", "core", *PLUGIN} for part in PLUGIN},
    "lightning": set(),
    "start": {"runtime", "core", "emulate", "export", "compare", "perf"},
    "vendor": {"core", "emulate", "export"},
    "pth": {"start", "runtime"},
    "__main__": {"cli"},
    "__init__": {"compare", "runtime"},
    **{feature: {feature, "runtime", "tables", "core", "data"} for feature in FEATURES},
}
"""What each part may import."""
TERMINAL = {"click", "rich"}
"""For people at a terminal: loaded by `cli`, and by the reports that draw tables."""
VALUES = tuple(
    f"jumar.{name}.result."
    for name in (
        "compare",
        "emulate.proof",
        "migrate",
        "migrate.roadmap",
        "machine.explain",
        "machine.smi",
        "parallel",
        "perf",
        "selftest",
    )
)
"""Modules of features with nothing but values, which reports may read."""
STARTERS = {
    "runtime/process.py": "the place for it",
    "runtime/compiler.py": "keeps the compiler, run with `-I -S`: nothing of jumar is there",
    "launch/backends/rank.py": "each rank's first program, run with `-I -S`: nothing of jumar is there",
    "cloud/standin/enter.py": "enters the job's folders, run with `-I -S`: nothing of jumar is there",
    "runtime/cage/enter.py": "shuts a program off, run with `-I -S`: nothing of jumar is there",
    "emulate/proof/importer.py": "forks for each module inside the cage: nothing of jumar is there",
    "runtime/hooks/mindspore.py": "runs in an interpreter of the user's, without jumar",
}
"""Modules that may start processes, and why."""
STARTS = ("subprocess", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.system", "os.popen")
HEAVY = {"torch", "torch_npu", "numpy", "mindspore", "obs", "boto3", "onnx", "onnxruntime"}
HEAVY_PLACES = (
    "emulate", "migrate/copied", "compare", "cloud/store", "launch/backends", "export", "perf/record",
    "parallel/programs", "pytest_fixtures", "lightning", "selftest", "runtime/arrays",
)  # fmt: skip
ALONE = (SOURCES / "emulate" / "formulas", SOURCES / "emulate" / "mindspore_ops")
"""Packages that interpreters without jumar load by their path: they name modules, own and each other's, from there."""


def _modules() -> list[Path]:
    return sorted(SOURCES.rglob("*.py"))


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


@functools.cache
def _names() -> dict[str, Path]:
    """Every module of ours by its name."""
    return {".".join(("jumar", *path.relative_to(SOURCES).with_suffix("").parts)).removesuffix(".__init__"): path
            for path in _modules()}  # fmt: skip


def _imports(path: Path, *, types_too: bool) -> Iterator[tuple[int, str]]:
    tree = _tree(path)
    only_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in only_types and not types_too:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if path.parent in ALONE and node.level:
                start = path.parents[node.level - 1].relative_to(SOURCES).parts
                module = ".".join(("jumar", *start, *filter(None, [module])))
            else:
                assert node.level == 0, f"{path}:{node.lineno}: write absolute imports"
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def _named(path: Path) -> Iterator[tuple[int, str]]:
    """Texts that are the name of a module of ours: it is imported later, here or in another process."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            yield from [(node.lineno, f"{node.value}.")] if node.value in _names() else []


def _part(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_imports_point_down(path: Path) -> None:
    part = _part(path)
    assert part in LOWER, f"`{part}` has no place in the layers: add it to tests/test_layers.py and STYLE"
    for line, name in (*_imports(path, types_too=part != "report"), *_named(path)):
        words = name.split(".")
        if words[0] != "jumar" or len(words) < 2 or words[1] == "__version__":
            continue
        allowed = words[1] in LOWER[part] or (part == "report" and name.startswith(VALUES))
        assert allowed, f"{path}:{line}: `{part}` must not import `{name}`"


@pytest.mark.parametrize("folder", ALONE, ids=lambda folder: folder.name)
def test_what_runs_without_jumar_imports_nothing_of_it(folder: Path) -> None:
    """Bindings use formulas; formulas know neither their callers nor, but for one file, torch."""
    own = tuple(f"jumar.emulate.{one.name}." for one in (ALONE if folder.name == "mindspore_ops" else [folder]))
    for path in folder.glob("*.py"):
        for line, name in _imports(path, types_too=False):
            first = name.split(".")[0]
            allowed = name.startswith(own) if first == "jumar" else first != "torch" or path.name == "torch_names.py"
            assert allowed, f"{path}:{line}: `{name}` is not for `{folder.name}`"


@pytest.mark.parametrize("path", sorted((SOURCES / "core").rglob("*.py")), ids=lambda path: path.name)
def test_core_needs_only_the_standard_library(path: Path) -> None:
    for line, name in _imports(path, types_too=True):
        first = name.split(".")[0]
        allowed = first in ("jumar", *sys.stdlib_module_names) or (path.name, first) == ("compat.py", "tomli")
        assert allowed, f"{path}:{line}: core must not import `{name}`"


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_heavy_packages_stay_where_they_are_needed(path: Path) -> None:
    inside = path.relative_to(SOURCES).as_posix().startswith(HEAVY_PLACES)
    for line, name in _imports(path, types_too=False):
        assert inside or name.split(".")[0] not in HEAVY, f"{path}:{line}: `{name}` is not for this place"


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_only_the_command_line_prints(path: Path) -> None:
    if _part(path) in ("cli", "emulate"):
        return
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"{path}:{node.lineno}: only `cli` prints"


def test_only_the_command_line_knows_a_terminal() -> None:
    for path in _modules():
        if _part(path) not in ("cli", "report"):
            for line, name in _imports(path, types_too=False):
                assert name.split(".")[0] not in TERMINAL, f"{path}:{line}: `{name}` is for `cli`"


def test_commands_leave_the_work_to_app() -> None:
    """Of a feature a command builds the request and nothing else."""
    for path in sorted((SOURCES / "cli").glob("*.py")):
        for line, name in _imports(path, types_too=False):
            words = name.split(".")
            request = words[-1].endswith(("Request", "Options"))
            feature = words[0] == "jumar" and words[1] in FEATURES
            assert request or not feature, f"{path}:{line}: ask `app`, not `{name}`"


def test_tables_name_no_modules() -> None:
    for path in sorted((SOURCES / "data").rglob("*.toml")):
        named = set(re.findall(r"\bjumar(?:\.\w+)+", path.read_text(encoding="utf-8"))) & set(_names())
        assert not named, f"{path}: names {sorted(named)}"


def test_imports_do_not_go_in_circles() -> None:
    """At module level and in functions; what only a type checker reads does not count."""
    found = list(_groups({name: _needs(name) for name in _names()}))
    assert not found, "\n".join(" ".join(sorted(group)) for group in found)


def _needs(name: str) -> set[str]:
    """The modules that one imports; the package `jumar` itself has nothing but the version and a lazy name."""
    found = set()
    for _, target in _imports(_names()[name], types_too=False):
        words = target.split(".")
        while words and ".".join(words) not in _names():
            words.pop()
        found.add(".".join(words))
    return found - {name, "", "jumar"}


def _groups(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Modules that reach each other: what is left when those that need none of the rest are taken away, both ways."""
    left = dict(graph)
    while left:
        names = set(left)
        needed = set().union(*left.values())
        ends = {name for name in names if not left[name] & names} | (names - needed)
        if not ends:
            break
        left = {name: needs for name, needs in left.items() if name not in ends}
    reach = {name: _reached(left, name) for name in left}
    seen: set[str] = set()
    for name in left:
        group = {other for other in reach[name] if name in reach[other]}
        if group and name not in seen:
            seen |= group
            yield group


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] & set(graph) - found
        found |= new
        todo += new
    return found


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_only_runtime_starts_processes(path: Path) -> None:
    starts = sorted(_starts(ast.parse(path.read_bytes())))
    if path.relative_to(SOURCES).as_posix() in STARTERS:
        assert starts, f"{path} starts no process any more: take it out of STARTERS"
    else:
        assert not starts, f"{path}:{starts[0][0]}: `{starts[0][1]}`: start processes through jumar.runtime.process"


def _starts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        for name in names:
            if name.startswith(STARTS):
                yield node.lineno, name
