"""Jumar from Python: what the commands do, as functions for notebooks, scripts and CI.

Every function takes keyword arguments and returns a frozen value. `to_json()` of a value is the document that the
command prints with `--json`; `findings` is a tuple of `Finding`. Nothing is printed, no signal handler is installed,
and the working directory and `os.environ` stay as they are.

A user's mistake (a missing file, an unknown name, options that contradict each other) raises `UserError`, with the
`message` and the `hint` that the command line would have shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Union

from jumar.app.compare import CompareRequest, CompareResult
from jumar.app.doctor import DoctorRequest, DoctorResult
from jumar.app.explain import Answer, ExplainRequest, ExplainResult
from jumar.app.migrate import MigrateRequest, MigrateResult
from jumar.app.parallel import ParallelRequest, ParallelResult
from jumar.app.perf import PerfResult
from jumar.app.plan import PlanResult
from jumar.core.errors import UserError
from jumar.core.finding import Finding

__all__ = [
    "Answer", "CompareResult", "DoctorResult", "ExplainResult", "Finding", "MigrateResult", "ParallelResult",
    "PerfResult", "PlanResult", "UserError", "analyze", "compare", "doctor", "explain", "migrate", "parallel", "perf",
    "plan",
]  # fmt: skip

AnyPath = Union[str, "PathLike[str]"]


def migrate(
    *paths: AnyPath,
    to: str | None = None,
    torch: str | None = None,
    chip: str | None = None,
    multi_card: bool | str = False,
    unsafe: bool = False,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    write: bool = False,
    out: AnyPath | None = None,
    force: bool = False,
    prove: bool = False,
    tests: bool = False,
    limit: float = 60.0,
    total_limit: float = 900.0,
    read: Sequence[AnyPath] = (),
    sandbox: bool = True,
    baseline: AnyPath | None = None,
    jobs: int | None = None,
    cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> MigrateResult:
    """Find what must change below each path; nothing is written unless `write` or `out` says so.

    `to` is `npu`, `agnostic` or `import`, `multi_card` is `ddp` (or True) or `fsdp`. `only` and `skip` take ids or
    names of rules. `write` edits in place, `out` names a folder for a migrated copy. `prove` imports every module
    before and after on the emulator, `tests` also runs the project's tests; `limit` is the number of seconds for one
    of them, `total_limit` for all of one side. The project runs in a sandbox and may read the paths in `read`, unless
    `sandbox` is False.
    `baseline` is a file of known findings: `checked.new` are the others. What is not given is read from the nearest
    `jumar.toml`. `progress` is called with the number of files done and of all.
    """
    from jumar.app.migrate import migrate as run

    if write and out is not None:
        raise UserError("`write` and `out` cannot go together", "choose one of them")
    if tests and not prove:
        raise UserError("`tests` goes with `prove`", "set `prove=True` as well")
    request = MigrateRequest(
        paths=_texts(paths), to=to, torch=torch, chip=chip, multi_card=multi_card, unsafe=unsafe, only=tuple(only),
        skip=tuple(skip), write=write, out=_path(out), force=force, prove=prove, tests=tests,
        limit=limit, total_limit=total_limit, read=tuple(fspath(path) for path in read), sandbox=sandbox,
        baseline=_path(baseline), jobs=jobs, cache=cache,
    )  # fmt: skip
    return run(request, progress)


def analyze(
    *paths: AnyPath,
    to: str | None = None,
    torch: str | None = None,
    chip: str | None = None,
    multi_card: bool | str = False,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    baseline: AnyPath | None = None,
    jobs: int | None = None,
    cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> MigrateResult:
    """Report every site below each path that depends on CUDA, and what would become of it.

    `roadmap` of the result is the plan: causes in the order of the work, with effort. `baseline` is a file of known
    findings: `checked.new` are the others.
    """
    from jumar.app.migrate import analyze as run

    request = MigrateRequest(
        paths=_texts(paths), to=to, torch=torch, chip=chip, multi_card=multi_card, only=tuple(only), skip=tuple(skip),
        baseline=_path(baseline), jobs=jobs, cache=cache,
    )  # fmt: skip
    return run(request, progress)


def doctor(
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    folder: AnyPath | None = None,
    host: str | None = None,
    python: str | None = None,
    timeout: float = 15.0,
    share: bool = False,
) -> DoctorResult:
    """Check this machine, another one over ssh (`host`), or one that `jumar doctor --collect` wrote into `folder`.

    `only` and `skip` take ids or names of checks. `timeout` is in seconds, for one vendor command. `share` takes out
    names of users and hosts, addresses and tokens.
    """
    from jumar.app.doctor import doctor as run

    place = None if folder is None else Path(folder)
    return run(
        DoctorRequest(
            only=tuple(only), skip=tuple(skip), folder=place, host=host, python=python, timeout=timeout, share=share
        )
    )


def plan(
    *,
    chip: str | None = None,
    os: str | None = None,
    arch: str | None = None,
    python: str | None = None,
    framework: str | None = None,
    cann: str | None = None,
    driver: str | None = None,
    no_root: bool = False,
    overwrite: bool = False,
    container: bool = False,
    extra: Sequence[str] = (),
    without: Sequence[str] = (),
    packages: AnyPath | None = None,
    prefix: str | None = None,
) -> PlanResult:
    """Find versions of driver, firmware, CANN, Python and framework that fit together, and the steps to install them.

    What is left out is read from this machine, or chosen. `container` plans an image, for `dockerfile()`. Nothing is
    installed. Where nothing fits, the result has a `conflict` instead of a `plan`.
    """
    from jumar.app import plan as app
    from jumar.machine.plan.build import PlanOptions
    from jumar.machine.plan.request import PlanRequest

    request = PlanRequest(chip, os, arch, python, framework, cann, driver, no_root)
    options = PlanOptions(
        app.extras(tuple(extra), tuple(without)), overwrite, container, None if packages is None else Path(packages),
        prefix,
    )  # fmt: skip
    return app.plan(request, options)


def explain(*names: AnyPath) -> ExplainResult:
    """Say what logs, error codes, findings, environment variables or messages mean.

    A name is a log file or a folder of logs, a code such as `507015` or `EI0006`, the id of a finding, a variable, or
    a message with spaces. Several logs are one job, such as the logs of its ranks.
    """
    from jumar.app.explain import explain as run

    if not names:
        raise UserError("nothing to explain", 'explain("507015"), or the path of a log')
    return run(ExplainRequest(_texts(names)))


def compare(
    first: AnyPath,
    second: AnyPath,
    *,
    floors: Sequence[AnyPath] = (),
    precision: str | None = None,
    limit: float = 4.0,
) -> CompareResult:
    """Compare two records of `jumar compare record` or `jumar.record`; the first is the reference.

    `floors` are further runs of the reference: what they differ by is noise. `limit` is the error over that noise
    that counts as a difference.
    """
    from jumar.app.compare import compare as run

    others = tuple(map(Path, floors))
    return run(CompareRequest(first=Path(first), second=Path(second), floors=others, precision=precision, limit=limit))


def perf(path: AnyPath, *, jobs: int | None = None, only: Sequence[str] = (), skip: Sequence[str] = ()) -> PerfResult:
    """Report on a profile: a `*_ascend_pt` folder, a folder of several, or a Kineto trace.

    `only` and `skip` take ids of advice. `jobs` ranks are read at the same time.
    """
    from jumar.app.perf import read

    return read(Path(path), jobs=jobs, only=tuple(only), skip=tuple(skip))


def parallel(
    model: str,
    *,
    cards: int = 8,
    chip: str = "910B3",
    global_batch: int | None = None,
    seq: int | None = None,
    dtype: str | None = None,
    params: str | None = None,
    optimizer: str = "adam",
    attention: str | None = None,
    framework: str | None = None,
    dp: int | None = None,
    tp: int | None = None,
    pp: int | None = None,
    ep: int | None = None,
    micro_batches: int | None = None,
    shard: int | None = None,
    recompute: str | None = None,
    schedule: str | None = None,
    sequence: bool | None = None,
    layers: Sequence[int] | None = None,
    memory: str | None = None,
    constants: Mapping[str, float] | None = None,
    top: int = 5,
) -> ParallelResult:
    """Find how to share a network over cards: a preset, a config.json, or `file.py:make_model`.

    `dp`, `tp`, `pp`, `ep`, `micro_batches`, `shard`, `recompute`, `schedule`, `sequence` and `layers` fix a part of the
    plan; None leaves it free. `constants` replaces numbers of the hardware, `memory` is that of a card, such as `32G`.
    """
    from jumar.app.parallel import parallel as run

    return run(
        ParallelRequest(
            model=model, cards=cards, chip=chip, global_batch=global_batch, seq=seq, dtype=dtype, params=params,
            optimizer=optimizer, attention=attention, framework=framework, dp=dp, tp=tp, pp=pp, ep=ep,
            micro_batches=micro_batches, shard=shard, recompute=recompute, schedule=schedule, sequence=sequence,
            layers=None if layers is None else tuple(layers), memory=memory, constants=constants or {}, top=top,
        )
    )  # fmt: skip


def _path(path: AnyPath | None) -> Path | None:
    return None if path is None else Path(path)


def _texts(paths: Sequence[AnyPath]) -> tuple[str, ...]:
    return tuple(fspath(path) for path in paths)
