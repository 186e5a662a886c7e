"""The report of a dry run: text, JSON and page of one recorded rank."""

from __future__ import annotations

import json
from typing import Any

from jumar.app import dry, dry_hints, dry_time
from jumar.emulate.dry.result import DryRun, RankRun
from jumar.report import dry as report
from jumar.report.pages import dry as pages

MIB = 1 << 20


def _found(**changes: Any) -> dict[str, Any]:
    memory = {
        "peak": 900 * MIB, "reserved": 1200 * MIB, "requested": 890 * MIB, "retries": 0, "step": 1,
        "phase": "backward", "site": "train.py:12", "operator": "aten::mm",
        "owners": {"activations": 500 * MIB, "parameters": 200 * MIB, "optimizer state": 190 * MIB},
        "holders": [
            {"owner": "activations", "module": "blocks.*.mlp", "op": "aten::gelu", "bytes": 400 * MIB, "tensors": 4},
            {"owner": "activations", "module": "", "op": "aten::_log_softmax", "bytes": 100 * MIB, "tensors": 1},
        ],
        "picture": {"parameters": [2, 2, 2], "activations": [0, 4, 1]},
    }  # fmt: skip
    operators = [{"name": "aten::mm", "inputs": [["bfloat16", [4096, 4096]]] * 2,
                  "outputs": [["bfloat16", [4096, 4096]]], "calls": 10}]  # fmt: skip
    collectives = [
        {"name": "allreduce", "bytes": 64 * MIB, "group": list(range(16)), "ranks": 16, "waits": False,
         "site": "train.py:9", "calls": 2},
        {"name": "allreduce", "bytes": 8 * MIB, "group": [0, 1], "ranks": 2, "waits": True, "site": "", "calls": 1},
    ]  # fmt: skip
    looks = [
        {"site": "train.py:14", "operation": "aten::_local_scalar_dense", "type": "float32", "calls": 3, "answer": 0.0}
    ]
    return {"rank": 3, "world": 16, "soc": "Ascend910B3", "capacity": 64 << 30, "steps": 3, "memory": memory,
            "operators": operators, "collectives": collectives, "looks": looks, "computed": {"npu::x": 2},
            "assumed": {"all_gather_object": 1}, "exact": 65536, "out_of_memory": 0, "seconds": 1.0, "host_bytes": 1,
            **changes}  # fmt: skip


def _run(found: dict[str, Any]) -> DryRun:
    links = dry_time.links(found)
    rank = RankRun(found, dry_time.step_time(found, links), links, dry_hints.hints(found), dry_time.buffers(found), 0)
    return DryRun("train.py", 16, [rank], dry.LIMITS)


def test_the_text_says_who_holds_the_peak_and_what_to_change() -> None:
    lines = "\n".join(report.text(_run(_found())))
    assert "peak 900.00 MiB allocated, 1.17 GiB reserved, 800.00 MiB of HCCL (modelled): fits in 64.00 GiB" in lines
    assert "reached in the backward of step 2 by aten::mm at train.py:12" in lines
    assert "value not computed: aten::_local_scalar_dense (float32) at train.py:14, 3 times, answered 0" in lines
    assert "computed, because it has no shape function: npu::x, 2 times" in lines
    assert "answered for absent ranks: all_gather_object, 1 times" in lines
    assert "assumed: absent ranks hold what this one holds" in lines
    first = next(line for line in lines.splitlines() if "change first" in line)
    assert "FSDP2" in first


def test_a_step_waits_only_for_what_is_waited_for() -> None:
    run = _run(_found())
    time = run.ranks[0].time
    assert time is not None
    assert time.operations == 10 * 2 * 4096**3
    assert time.exposed < time.hidden
    assert time.low <= time.total <= time.high
    assert [link.group for link in run.ranks[0].links] == ["all 16", "0, 1"]


def test_memory_beyond_the_card_does_not_fit() -> None:
    rank = _run(_found(capacity=1 << 30)).ranks[0]
    assert not rank.fits
    empty = _run(_found(memory=None, operators=[])).ranks[0]
    assert empty.fits and empty.time is None and empty.hints == []


def test_json_and_page_have_the_same_figures() -> None:
    run = _run(_found())
    data = json.loads(json.dumps(report.to_json(run)))
    assert data["ranks"][0]["memory"]["peak"] == 900 * MIB
    assert data["ranks"][0]["step"]["total"] > 0
    page = pages.page(data).html()
    assert "Who holds the peak" in page and "900.00 MiB" in page and "modelled" in page
    assert page.count("<polyline") == 2
