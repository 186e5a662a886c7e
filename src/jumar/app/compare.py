"""`jumar compare`: record two runs, find the first operator that computes something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.app.talk import Tell, silent
from jumar.core.compat import dataclass
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.compare.ladder import Rung
    from jumar.compare.overflow import Overflow
    from jumar.compare.result import Comparison, Verdict
    from jumar.compare.runs import RecordRequest

PRECISIONS = ("float32", "hf32", "float16", "bfloat16")
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Two records: the reference and what is compared with it."""

    first: Path
    second: Path
    floors: tuple[Path, ...] = ()
    """Further runs of the reference; the floor is what base runs differ by."""
    precision: str | None = None
    """Rounding to expect; found out from the second record if not given."""
    limit: float = 4.0
    """Error over floor that counts as a difference."""


@dataclass(frozen=True, slots=True, repr=False)
class CompareResult:
    """Whether two runs compute the same, and if not, where they part."""

    comparison: Comparison

    @property
    def verdict(self) -> Verdict:
        """The first thing that differs."""
        return self.comparison.verdict

    @property
    def answer(self) -> str:
        """`SAME`, `DIFFERENT` or `INCONCLUSIVE`."""
        return self.verdict.answer

    @property
    def differs(self) -> bool:
        """Do they differ by more than rounding?"""
        return self.verdict.differs

    @property
    def reproducer(self) -> str:
        """A script that runs only the operator that the verdict names."""
        if not self.comparison.reproducer:
            raise UserError("there is no operator to reproduce", f"the verdict is: {self.verdict.message}")
        return self.comparison.reproducer

    def html(self) -> str:
        """One self-contained page with plots."""
        from jumar.report.pages import compare

        return compare.page(self.to_json()).html()

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import compare

        return compare.document(self.comparison)

    def __repr__(self) -> str:
        return f"<CompareResult {self.verdict.kind}: {self.verdict.message}>"


@dataclass(frozen=True, slots=True)
class OverflowResult:
    """The first operator of each rank that makes inf or nan."""

    found: tuple[Overflow, ...]
    ranks: int
    code: int = 0
    """Exit code of the program that was watched."""


def compare(request: CompareRequest) -> CompareResult:
    """Compare two records; dumps of the vendor's tool are read too."""
    from jumar.compare import compare as compares

    precision = _precision(request.precision)
    return CompareResult(compares.compare(request.first, request.second, request.floors, precision, request.limit))


def record(words: Sequence[str], output: Path, request: RecordRequest, *, overwrite: bool = False,
           tell: Tell = silent) -> int:  # fmt: skip
    """Run a program and record its operators; the exit code is that of the program."""
    from jumar.compare import folder, runs

    folder.prepare(output, overwrite)
    code = runs.record(words, output, request, tell)
    tell(f"recorded `{output}`: {folder.summary(output)}")
    return code


def ladder(
    words: Sequence[str], base: Path | None, output: Path | None, steps: int, seed: int | None
) -> Iterator[Rung]:
    """From the environment to the loss curve, rung by rung, until one fails."""
    from jumar.compare import ladder as ladders

    return ladders.climb(words, base, output, steps, seed)


def overflow(words: Sequence[str]) -> OverflowResult:
    """The first operator that makes inf or nan: of a record or dump, or of a program that is run."""
    from jumar.compare import overflow as overflows
    from jumar.compare import reader, runs

    if len(words) == 1 and not Path(words[0]).is_file():
        ranks = reader.ranks(Path(words[0]))
        return OverflowResult(tuple(overflows.first(ranks)), len(ranks))
    found, ranks, code = runs.watch(words)
    return OverflowResult(tuple(found), len(ranks), code)


def dump(path: Path, folder: Path) -> Iterator[Path]:
    """Write a record as the vendor's tool would have dumped it; the files, one after the other."""
    from jumar.compare import reader, vendor_write

    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise UserError(f"`{folder}` is not empty", "name a new folder")
    for rank in reader.ranks(path):
        yield from vendor_write.write(rank, folder, reader.read_step)


def _precision(name: str | None) -> str:
    if name is None:
        return ""
    full = _SHORT.get(name, name)
    if full not in PRECISIONS:
        from jumar.core.nearest import did_you_mean

        raise UserError(f"`--precision {name}` is not known", did_you_mean(name, PRECISIONS, f"one of {PRECISIONS}"))
    return full
