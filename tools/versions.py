"""Tries pairs of torch and torch_npu on the emulator, each in its own environment, and writes their state.

Usage: python tools/versions.py [TORCH | TORCH==TORCH_NPU]... [--tests CLONE] [--cache DIR] [--keep] [--wheel FILE]

Without pairs, every torch from 2.1.0 on that the table of releases has. CLONE is a clone of Ascend/op-plugin with the
branches of its releases: a sample of `test/test_base_ops` is taken from the branch of the pair's release; without it,
the figures of the row's last sample stay. The rows go to src/jumar/data/tested.toml, and `tools/generate.py` makes
docs/results/versions.md from them.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.version import Version

import tested as tested_file
import version_environment
from jumar.tables import tested, versions

ROOT = Path(__file__).parents[1]
CHECKS = ROOT / "tools" / "pair_checks"
PROFILED = ROOT / "examples" / "perf" / "train.py"
SINGLE = ("guide", "cnn", "gpt", "half", "fused")
BEGIN, END = "# Written by tools/versions.py, newest first.\n", "# Releases of MindSpore."
_ERROR = re.compile(r"\s*(error: |what\(\): |[\w.]*(Error|Exception): )")


def main() -> int:
    options = _options()
    cache = Path(options.cache)
    cache.mkdir(parents=True, exist_ok=True)
    jumar = Path(options.wheel) if options.wheel else version_environment.wheel(cache / "wheel", ROOT)
    for release in _wanted(options.pairs):
        row = try_pair(release, jumar, cache, options)
        write_row(row)
        failed = ", ".join(row["failed"]) or "nothing"
        print(f"torch {row['torch']} with torch_npu {row['torch_npu']}: {row['state']}; failed: {failed}", flush=True)
        if not options.keep:
            shutil.rmtree(cache / f"torch-{row['torch']}-npu-{row['torch_npu']}", ignore_errors=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pairs", nargs="*", help="TORCH or TORCH==TORCH_NPU")
    parser.add_argument("--tests", type=Path, help="a clone of op-plugin, for the sample of the vendor's tests")
    parser.add_argument("--files", type=int, default=12, help="files in the sample")
    parser.add_argument("--cache", default=Path.home() / ".cache" / "jumar-versions", help="folder of the environments")
    parser.add_argument("--wheel", help="a wheel of jumar; without it, one is built from this tree")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    return parser.parse_args()


def _wanted(names: list[str]) -> Iterator[versions.Release]:
    if not names:
        known = {row.torch for row in versions.releases() if row.published and Version(row.torch) >= Version("2.1.0")}
        names = sorted(known - {tested.pair().torch}, key=Version, reverse=True)
    for name in names:
        torch, _, npu = name.partition("==")
        rows = [row for row in versions.releases() if row.torch == torch and row.torch_npu == npu]
        found = rows[-1] if rows else versions.release_for(torch)
        if found is None or (npu and not rows):
            raise SystemExit(f"error: no release of torch_npu for `{name}`")
        yield found


def try_pair(release: versions.Release, jumar: Path, cache: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The row of a pair."""
    row: dict[str, Any] = {
        "torch": release.torch, "torch_npu": release.torch_npu, "cann": tested.pair().cann, "state": "fails",
        "python": "", "date": datetime.date.today().isoformat(), "passed": [], "failed": [], "sample": [],
        "sample_of": "",
    }  # fmt: skip
    usable = [name for name in tested.supported() if name in release.python and version_environment.python_of(name)]
    if not usable:
        return {**row, "failed": [f"environment: no Python of {', '.join(release.python)} here"]}
    row["python"] = tested.pythons()[0] if tested.pythons()[0] in usable else usable[-1]
    try:
        start = version_environment.python_of(row["python"]) or ""
        python = version_environment.make(cache, start, release.torch, release.torch_npu, jumar)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return {**row, "failed": [f"environment: {error}"[:200]]}
    row["python"] = version_environment.version_of(python)  # one that was kept may have another
    for name, problem in checks(python, cache):
        row["failed" if problem else "passed"].append(f"{name}: {problem}" if problem else name)
    if options.tests and "guide" in row["passed"]:
        row["sample"], row["sample_of"] = sample(python, release, options, cache)
    row["state"] = "fails" if "guide" not in row["passed"] else "basic checks" if row["failed"] else "runs"
    return row


def checks(python: Path, cache: Path) -> Iterator[tuple[str, str]]:
    """Each check with what went wrong, or nothing."""
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        done = _jumar(python, scratch, "run", str(CHECKS / "single.py"))
        said = {line["check"]: line for line in _lines(done.stdout)}
        for name in SINGLE:
            line = said.get(name, {"passed": False, "said": _last(done)})
            yield name, "" if line["passed"] else version_environment.PATH.sub("…", line["said"])[:200]
        done = _jumar(python, scratch, "launch", "--cards", "2", "--bind", "none", str(CHECKS / "ddp.py"))
        yield "ddp", "" if done.returncode == 0 and "weights within" in done.stdout + done.stderr else _last(done)
        record = ["compare", "record", "--floor", "0", "-o", "record", "--", str(python), str(CHECKS / "recorded.py")]
        done = _jumar(python, scratch, *record)
        yield "compare", "" if done.returncode == 0 and list(Path(scratch, "record").rglob("step-*")) else _last(done)
        yield "recorder", version_environment.recorder(Path(scratch, "record"))
        lint = ["perf", "lint", "--json", "--steps", "2", "--", str(python), str(PROFILED)]
        yield "perf", _profiled(_jumar(python, scratch, *lint))


def _profiled(done: subprocess.CompletedProcess[str]) -> str:
    """What is wrong with a profile: the program ended well and used a card. Code 1 says that there is advice."""
    if done.returncode not in (0, 1):
        return _last(done)
    used = [rank for rank in json.loads(done.stdout)["ranks"] if rank["kernels"] and rank["memory_mb"]]
    return "" if used else "no kernel of a card was recorded"


def _jumar(python: Path, folder: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**version_environment.variables(python, os.environ["PATH"]), "JUMAR_EXPLAIN": "0"}
    return version_environment.run([str(python), "-m", "jumar", *words], Path(folder), env)


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"check"')]


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that names an error, otherwise how the process ended."""
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if _ERROR.match(line)]
    return version_environment.PATH.sub("…", lines[-1] if lines else f"ended with code {done.returncode}")[:200]


def sample(python: Path, release: versions.Release, options: argparse.Namespace, cache: Path) -> tuple[list[int], str]:
    """Passed and counted cases of every n-th file of the vendor's tests, and the branch they are from."""
    branch = _branch(options.tests, release)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        archive = _git(options.tests, "archive", branch, "test/test_base_ops")
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(scratch, filter="data")
        folder = Path(scratch, "test", "test_base_ops")
        found = sorted(folder.rglob("test*.py"))
        for path in set(found) - set(found[:: max(1, len(found) // options.files)][: options.files]):
            path.unlink()
        report = Path(scratch, "report.json")
        words = [str(ROOT / "tools" / "conformance.py"), str(folder), "--jobs", "1", "--json", str(report)]
        subprocess.run(
            [str(python), *words], cwd=scratch, capture_output=True, check=False, timeout=4 * version_environment.LIMIT
        )
        cases = json.loads(report.read_text(encoding="utf-8")) if report.exists() else []
    counted = [case for case in cases if case["state"] != "skipped"]
    return [sum(case["state"] == "passed" for case in counted), len(counted)], branch


def _branch(clone: Path, release: versions.Release) -> str:
    """op-plugin's branch of a release (`v2.7.1-7.3.0` → `7.3.0`); the main one where it has none."""
    wanted = (release.branch or "").rpartition("-")[2]
    known = _git(clone, "branch", "--format=%(refname:short)").decode().split()
    return wanted if wanted in known else "master"


def _git(clone: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(clone), *words], capture_output=True, check=True).stdout


def write_row(row: dict[str, Any]) -> None:
    """Put the row in its place in tested.toml; the first pair and all else stay as they are."""
    text = tested_file.FILE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    rows = {(item["torch"], item["torch_npu"]): item for item in tomllib.loads(old).get("pairs", [])}
    before = rows.get((row["torch"], row["torch_npu"]), {})
    kept = {name: before[name] for name in ("sample", "sample_of") if name in before}
    rows[row["torch"], row["torch_npu"]] = {**row, **kept} if not row.get("sample") and row["state"] != "fails" else row
    newest = sorted(rows.values(), key=lambda item: Version(item["torch_npu"]), reverse=True)
    body = "\n".join(_toml(item) for item in newest)
    tested_file.FILE.write_text(f"{head}{BEGIN}{body}\n{END}{tail}", encoding="utf-8")


def _toml(row: dict[str, Any]) -> str:
    cells = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in row.items() if value not in ("", [])
    ]
    return "\n".join(["[[pairs]]", *cells, ""])


if __name__ == "__main__":
    sys.exit(main())
