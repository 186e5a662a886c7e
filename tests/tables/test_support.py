"""The support tables hold together, and the verdict follows the table, the kernels and the wheel."""

from __future__ import annotations

import re

import pytest

from jumar.tables.load import table
from jumar.tables.support import Outcome, Run, Support, judge, nearest, product


def test_api_table_is_well_formed() -> None:
    raw = table("api_support.json")
    assert list(raw["apis"]) == sorted(raw["apis"]) and raw["source"] and raw["date"] and raw["tool"]
    assert len(set(raw["dtypes"])) == len(raw["dtypes"])
    for name, row in raw["apis"].items():
        assert isinstance(row, str) or set(row) <= set(raw["versions"]), name
        for text in [row] if isinstance(row, str) else row.values():
            match = re.fullmatch(r"[01-]{3}c?l?(\d*)", text)
            assert match and (not match.group(1) or int(match.group(1)) < len(raw["dtypes"])), name


def test_operator_table_is_well_formed() -> None:
    raw = table("op_support.json")
    assert list(raw["operators"]) == sorted(raw["operators"]) and raw["source"] and raw["date"] and raw["tool"]
    for name, spans in raw["operators"].items():
        assert len(spans) == 2 and all(re.fullmatch(r"(\*|\d\.\d+-\d\.\d+)?", span) for span in spans), name


@pytest.mark.parametrize(
    ("chip", "expected"),
    [
        ("910B3", "A2"), ("Ascend910B4", "A2"), ("910B", "other"), ("Ascend910ProB", "other"), ("910A", "other"),
        ("Ascend910_9391", "A3"), ("910C", "A3"), ("Ascend950DT_9573", "950"), ("310P3", "other"),
    ],
)  # fmt: skip
def test_product_of_a_chip(chip: str, expected: str) -> None:
    assert product(chip) == expected


@pytest.mark.parametrize(
    ("torch", "expected"),
    [("2.1.0", "2.7.1"), ("2.7", "2.7.1"), ("2.9.0", "2.7.1"), ("2.10.0", "2.11.0"), ("2.14.0", "2.13.0")],
)
def test_nearest_table(torch: str, expected: str) -> None:
    assert nearest(torch) == expected


@pytest.mark.parametrize(
    ("name", "chip", "expected"),
    [
        ("torch.nn.Linear", "910B3", Support.FULL),
        ("torch.nn.RNN", "910B3", Support.DISPUTED),
        ("torch.func.jvp", "910B3", Support.DISPUTED),
        ("torch.Tensor.smm", "910B3", Support.UNSUPPORTED),
        ("torch.distributed.tensor.parallel.parallelize_module", "910B3", Support.UNSUPPORTED),
        ("torch.sgn", "910B3", Support.FALLBACK),
        ("torch.linalg.solve", "910B3", Support.FALLBACK),
        ("torch.nn.GRU", "910B3", Support.LIMITED),
        ("torch.lgamma", "910B3", Support.FALLBACK),
        ("torch.distributions.Gamma", "910B3", Support.FALLBACK),
        ("torch.std", "910B3", Support.PARTLY),
        ("torch.optim.Adam", "910B3", Support.PARTLY),
        ("torch.nn.functional.adaptive_max_pool2d", "910B3", Support.DISPUTED),
        ("torch.nn.MaxUnpool3d", "910B3", Support.UNTRIED),
        ("torch.Tensor.to_sparse_csr", "910B3", Support.FALLBACK),
        ("torch.scatter_reduce", "310P3", Support.UNSUPPORTED),
        ("torch.lgamma", "310P3", Support.FALLBACK),
    ],
)
def test_verdict(name: str, chip: str, expected: Support) -> None:
    verdict = judge(name, "2.13.0", chip)
    assert verdict is not None and verdict.support is expected


@pytest.mark.parametrize(
    ("name", "chip"),
    [("torch.optim.Adam.step", "910B3"), ("torch.nn.RNN", "310P3"), ("torch.relu", "310P3"), ("torch.no", "910B3")],
)
def test_nothing_is_known_against_it(name: str, chip: str) -> None:
    assert judge(name, "2.13.0", chip) is None


def test_the_table_that_spoke_is_named() -> None:
    verdict = judge("torch.nn.RNN", "2.8.0", "910B3")
    assert verdict is not None and verdict.table == "the vendor's table for torch 2.7.1 on A2"
    assert verdict.claim == "says unsupported"


EVIDENCE = table("api_evidence.json")


def test_every_run_is_recorded_with_its_versions() -> None:
    assert list(EVIDENCE["apis"]) == sorted(EVIDENCE["apis"])
    assert EVIDENCE["source"] and EVIDENCE["tool"] and re.fullmatch(r"\d{4}-\d\d-\d\d", EVIDENCE["date"])
    assert re.fullmatch(r"2\.\d+\.\d+", EVIDENCE["torch_npu"]) and EVIDENCE["torch"] == EVIDENCE["torch_npu"]
    for name, text in EVIDENCE["apis"].items():
        outcome, _, words = text.partition(": ")
        assert outcome in list(Outcome) and bool(words) == (outcome in ("refused", "failed")), name


@pytest.mark.parametrize(
    "name",
    [
        "torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pad_packed_sequence", "torch.nn.MaxPool1d",
        "torch.nn.functional.gumbel_softmax", "torch.nn.TransformerDecoder", "torch.func.jvp", "torch.export.export",
    ],
)  # fmt: skip
def test_what_ran_is_not_called_unsupported(name: str) -> None:
    """The vendor's table says no to all of these, and the emulator runs them: the verdict holds both."""
    verdict = judge(name, EVIDENCE["torch"], "910B3")
    assert verdict is not None and verdict.support is Support.DISPUTED
    assert verdict.claim == "says unsupported" and verdict.run == Run(Outcome.RAN, EVIDENCE["torch_npu"])


def test_no_claim_of_unsupported_contradicts_a_run() -> None:
    for name, text in EVIDENCE["apis"].items():
        verdict = judge(name, EVIDENCE["torch"], "910B3")
        if verdict is not None and text in ("ran", "fell back"):
            assert verdict.support is not Support.UNSUPPORTED, name


def test_a_run_on_one_chip_says_nothing_of_an_older_one() -> None:
    verdict = judge("torch.scatter_reduce", "2.13.0", "310P3")
    assert verdict is not None and verdict.support is Support.UNSUPPORTED and verdict.run is None
