"""Which part of a project a file belongs to: by its path, its name, and who imports it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from jumar.migrate.roadmap.result import Area

_TESTS = {"test", "tests", "testing", "unittest", "unittests", "unit_tests"}
_CI = {".github", ".gitlab", ".circleci", "ci", ".ci", ".buildkite", ".azure", "docker", "dockerfiles", ".devcontainer",
       "workflows"}  # fmt: skip
_OPTIONAL = {"example", "examples", "benchmark", "benchmarks", "bench", "doc", "docs", "scripts", "tools", "notebooks",
             "contrib", "experimental", "experiments", "demo", "demos", "tutorials", "recipes", "research",
             "applications", "samples", "third_party", "projects"}  # fmt: skip
_CI_NAMES = re.compile(
    r"^(Dockerfile.*|.*\.dockerfile|docker-compose.*|Jenkinsfile|tox\.ini|noxfile\.py|\.?gitlab-ci\.ya?ml|"
    r"azure-pipelines.*|\.travis\.yml)$",
    re.I,
)
_TEST_NAMES = re.compile(r"^(test_.*|.*_test|conftest|tests?)\.py$")
_IMPORT = re.compile(
    r"^([ \t]*)(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^#\n\\(]*\(?[^)\n]*)|import[ \t]+([\w., \t]+))", re.M
)


def areas(texts: Mapping[str, bytes], paths: Iterable[str]) -> dict[str, Area]:
    """The area of each path; `texts` are the Python files of the project, all paths from its top.

    A file under `tools/` that the product imports is part of the product; one that only tests import is part of them.
    """
    found = {path: by_path(path) for path in {*texts, *paths}}
    users: dict[str, set[str]] = {}
    modules = _modules(texts)
    for path, text in texts.items():
        for name in _imported(path, text, modules):
            if name != path:
                users.setdefault(name, set()).add(path)
    for _ in range(3):
        moved = {path: area for path, by in users.items() if (area := _by_users(path, found, by)) is not found[path]}
        if not moved:
            break
        found |= moved
    return found


def by_path(path: str) -> Area:
    """What folders and name say."""
    parts = [part.lower() for part in PurePosixPath(path).parts]
    folders, name = parts[:-1], PurePosixPath(path).name
    if _CI.intersection(folders) or _CI_NAMES.match(name):
        return Area.CI
    if _TESTS.intersection(folders) or _TEST_NAMES.match(name):
        return Area.TESTS
    if _OPTIONAL.intersection(folders) or name.endswith((".ipynb", ".md", ".rst")):
        return Area.OPTIONAL
    return Area.PRODUCT


def _by_users(path: str, known: Mapping[str, Area], users: set[str]) -> Area:
    own = known[path]
    by = {known[user] for user in users}
    if own in (Area.OPTIONAL, Area.TESTS) and Area.PRODUCT in by:
        outside = any(known[user] is Area.PRODUCT and not _same_package(user, path) for user in users)
        return Area.PRODUCT if outside else own
    if own is Area.PRODUCT and by == {Area.TESTS} and not path.endswith("__init__.py"):
        return Area.TESTS
    return own


def _same_package(one: str, other: str) -> bool:
    """An `__init__.py` that imports what is below it does not make that a part of the product."""
    return one.endswith("__init__.py") and other.startswith(one.removesuffix("__init__.py"))


def _modules(texts: Iterable[str]) -> dict[str, str]:
    """Files by every dotted name that could mean them; a name that several have means none."""
    found: dict[str, str] = {}
    for path in texts:
        parts = PurePosixPath(path).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        for start in range(len(parts)):
            name = ".".join(parts[start:])
            found[name] = "" if name in found and start else path
    return found


def _imported(path: str, text: bytes, modules: Mapping[str, str]) -> Iterable[str]:
    for match in _IMPORT.finditer(text.decode("utf-8", "replace")):
        _, source, names, plain = match.groups()
        wanted = [name.split(" as ")[0].strip() for name in (plain or names or "").strip("( ").split(",")]
        if plain:
            candidates = wanted
        else:
            base = _absolute(path, source)
            candidates = [base, *(f"{base}.{name}" for name in wanted if name)]
        yield from {modules[name] for name in candidates if modules.get(name)}


def _absolute(path: str, source: str) -> str:
    """A relative import as the dotted path from the top of the project."""
    dots = len(source) - len(source.lstrip("."))
    if not dots:
        return source
    parts = PurePosixPath(path).parent.parts
    kept = parts[: len(parts) - dots + 1]
    return ".".join([*kept, *filter(None, [source.lstrip(".")])])
