"""The tables of torch names and of packages hold together."""

from __future__ import annotations

import re

from jumar.core.finding import State
from jumar.tables.apis import npu_names
from jumar.tables.load import table
from jumar.tables.third_party import recipe, recipes
from jumar.tables.torch_names import torch_name, torch_names

# Names that torch_npu adds to torch.distributed, or that belong to its objects: the introspection lists modules only.
ADDED = {"torch.distributed.is_hccl_available", "torch.distributed.Backend.HCCL"}
ADDED |= {"torch.distributed.distributed_c10d.Backend.HCCL", "torch.npu.matmul.allow_hf32", "torch.npu.conv.allow_hf32"}
ADDED |= {"torch.contiguous_format"}  # of torch itself


def test_rows_of_torch_names_are_sorted_and_complete() -> None:
    rows = table("torch_names.toml")["names"]
    assert list(rows) == sorted(rows)
    for name, row in rows.items():
        assert set(row) <= {"npu", "state", "note", "fix", "at_run_time"}, name
        assert row["note"] and ("npu" in row) != ("state" in row), name
        assert row.get("state") != "hand" or row.get("fix"), f"{name}: say what to do"


def test_no_name_is_invented() -> None:
    for row in torch_names().values():
        assert row.npu is None or row.npu in npu_names() or row.npu in ADDED, row.npu


def test_the_longest_name_wins() -> None:
    special, general = torch_name("torch.backends.cudnn.allow_tf32"), torch_name("torch.backends.cudnn.flags")
    assert special and special.npu and general and general.state is State.BENIGN
    assert torch_name("torch._C._cuda_getDevice") and torch_name("torch.nn.Linear") is None


def test_rows_of_packages_are_sorted_and_complete() -> None:
    raw = table("third_party.toml")
    assert list(raw["packages"]) == sorted(raw["packages"])
    assert set(raw["sources"]) == {row["source"] for row in raw["packages"].values()}
    for name, row in recipes().items():
        assert row.state in (State.UNSUPPORTED, State.HAND, State.BENIGN), name
        assert row.note and (row.fix or row.state is State.BENIGN), name


def test_recipes_name_only_what_torch_npu_has() -> None:
    for row in recipes().values():
        for name in re.findall(r"`(torch_npu\.[\w.]+)", row.fix or ""):
            assert name in npu_names(), f"{row.name}: {name}"


def test_a_function_has_its_own_recipe() -> None:
    function, package = recipe("flash_attn.flash_attn_varlen_func"), recipe("flash_attn.utils.testing")
    assert function and package and function.fix != package.fix and recipe("numpy") is None
