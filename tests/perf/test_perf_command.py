"""`jumar perf` as a user types it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import profiles
import pytest

CALLS = [*profiles.chain("silu", "mul", line=4), profiles.item(), *profiles.update()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return profiles.folder(tmp_path_factory.mktemp("profile"), CALLS * 3)


def test_report_says_modelled_and_ranks_advice(jumar: Callable[..., Any], place: Path) -> None:
    done = jumar("perf", "read", place)
    assert done.code == 1 and done.err == ""
    assert done.out.startswith("note: device times are modelled, not measured: a roofline of Ascend910B3")
    assert "rank 0: " in done.out and "idle: waiting for the host" in done.out
    assert "1. PF102 unfused-optimizer: AdamW: saves about" in done.out
    assert "train.py:4: PF101 fusible-operators: swiglu" in done.out
    assert "change: torch_npu.npu_swiglu(torch.cat([gate, up], dim=-1), dim=-1)" in done.out


def test_json_has_everything(jumar: Callable[..., Any], place: Path) -> None:
    done = jumar("perf", "read", place, "--json", "--only", "pf101")
    document = json.loads(done.out)
    assert document["modelled"].startswith("device times are modelled")
    assert {one["id"] for one in document["advice"]} == {"PF101"}
    one = document["advice"][0]
    assert one["where"] == "train.py:4" and one["basis"] == "modelled" and one["saved_us"] > 0
    split = document["ranks"][0]["split_us"]
    assert split["total"] == pytest.approx(
        sum(split[name] for name in ("computing", "communication", "host", "data", "unknown")), abs=0.01
    )


def test_page_is_self_contained_and_escapes_what_it_shows(jumar: Callable[..., Any], tmp_path: Path) -> None:
    events = profiles.vendor_events()
    events[0]["args"]["Call stack"] = "</script><b>(12): x"
    events[-4]["name"] = "<script>alert(1)</script>"
    profiles.vendor_folder(tmp_path, events)
    done = jumar("perf", "read", tmp_path, "--html", tmp_path / "page.html", "--skip", "PF106")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert done.err == f"wrote `{tmp_path / 'page.html'}`\n"
    assert "<svg" in page and "<rect" in page and "</html>" in page
    assert page.count("<script") == 2 and "alert(1)</script>" not in page
    assert set(re.findall(r'(?:src|href)="(.*?)"', page)) == {"#main"}
    assert "many-small-kernels" not in page


def test_difference(jumar: Callable[..., Any], place: Path, tmp_path: Path) -> None:
    after = profiles.folder(tmp_path, [*profiles.chain("mm", "add"), *profiles.update(kernels=2)] * 3)
    done = jumar("perf", "diff", place, after)
    assert done.code == 0
    assert re.search(r"^Addcmul +\S+ us +\S+ us +-\d+\.\d% +40 -> 2$", done.out, re.M)
    assert "no longer advised:" in done.out and "PF102 unfused-optimizer: AdamW" in done.out
    page = tmp_path / "diff.html"
    document = json.loads(jumar("perf", "diff", place, after, "--json", "--html", page).out)
    assert "AdamW" in page.read_text(encoding="utf-8")
    assert document["split_us"][1]["total"] < document["split_us"][0]["total"]


def test_fixed_trace_has_small_numbers(jumar: Callable[..., Any], tmp_path: Path) -> None:
    profiles.vendor_folder(tmp_path)
    done = jumar("perf", "fix-trace", tmp_path, "-o", tmp_path / "fixed.json")
    assert done.code == 0 and "wrote" in done.err and "12 events" in done.err
    events = json.loads((tmp_path / "fixed.json").read_text(encoding="utf-8"))["traceEvents"]
    times = [event["ts"] for event in events if "ts" in event]
    assert min(times) == 0 and max(times) < 1000 and all(isinstance(value, float) for value in times)
    assert [event["ts"] for event in events if event["name"].startswith("aclnnAddmm")] == [99.759]
    again = jumar("perf", "fix-trace", tmp_path / "fixed.json", "-o", tmp_path / "fixed.json")
    assert again.code == 2 and "the same file" in again.err


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["perf", "raed"], "no such command: `jumar perf raed`", "did you mean `read`?"),
        (["perf", "read", "nothing"], "no such file or folder: `nothing`", "check the path"),
        (["perf", "read", "."], "no profile in `.`", "`*_ascend_pt` folder"),
        (["perf", "read", "a.txt"], "not a trace: `a.txt`", "JSON list of events"),
        (["perf", "fix-trace", "a.txt", "-o", "b.json"], "not a trace: `a.txt`", "JSON list"),
        (["perf", "fix-trace", "empty.json", "-o", "b.json"], "no events with a time in `empty.json`", ""),
        (["perf", "lint", "--", "nothing.py"], "no such script or program: `nothing.py`", ""),
        (["perf", "lint"], "nothing to run", ""),
        (["perf", "lint", "--cpu", "--soc", "910B99", "a.txt"], "unknown SoC name: `910B99`", "did you mean"),
    ],
)
def test_mistakes_are_said_in_a_line(
    jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], message: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "empty.json").write_text("[]")
    done = jumar(*args)
    assert done.code == 2 and done.out == ""
    assert done.err.startswith(f"error: {message}") and hint in done.err
    assert not (tmp_path / "b.json").exists()


def test_unknown_advice_is_refused(jumar: Callable[..., Any], place: Path) -> None:
    done = jumar("perf", "read", place, "--only", "PF999", "--json")
    assert done.code == 2
    assert json.loads(done.out)["errors"][0]["message"] == "no such advice: `PF999`"


def test_explain_knows_the_advice(jumar: Callable[..., Any]) -> None:
    done = jumar("explain", "PF104")
    assert done.code == 0 and done.out.startswith("## PF104 host-synchronisation")


def test_folder_without_a_trace_has_nothing_to_fix(tmp_path: Path) -> None:
    from jumar.core.errors import UserError
    from jumar.perf import fix_trace

    (tmp_path / "out.json").write_text("old")
    with pytest.raises(UserError, match="no trace to fix"):
        fix_trace.fix(tmp_path / "trace_view.json", tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text() == "old"
