"""Logs: real ones from public issues, logs of many ranks, and everything that is not quite a log."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.machine.explain import log, native, place, scan, source
from jumar.machine.explain.result import Explanation, Moment

Run = Callable[..., Any]
LOGS = Path(__file__).parent / "logs"
BEST = {
    "aicore_timeout": "ACL_507014",
    "device_id": "RT_REASON",
    "ge_memory": "EL0004",
    "hccl_buffsize": "HCCL_BUFFSIZE_SMALL",
    "hccl_socket": "HCCL_EI0006",
    "hccl_watchdog": "HCCL_WATCHDOG",
    "hccp": "HCCL_EJ0001",
    "kernel_package": "KERNEL_PACKAGE",
    "mindspore_aicpu": "DEVICE_AICPU_EXCEPTION",
    "mindspore_getnext": "MS_GETNEXT_SLOW",
    "oom_8_cards": "NPU_OOM",
    "oom_corrupt": "NPU_OOM_CORRUPT",
    "oom_fragmented": "NPU_OOM_FRAGMENTED",
    "oom_full": "NPU_OOM",
    "oom_other_process": "NPU_OOM_OTHERS",
    "python_too_new": "PY_SSIZE_T",
    "stream_sync": "EE1002",
    "vector_core": "ACL_507035",
    "vllm_mte": "MTE_OUT_OF_RANGE",
}
EI0006 = "EI0006: [PID: 7] 2025-04-08-18:07:20.444.436 Getting socket times out."
OOM = "torch.OutOfMemoryError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB total capacity"


def _ids(result: Explanation) -> list[str]:
    return [cause.signature.id for cause in result.causes]


@pytest.mark.parametrize("name", BEST)
def test_real_logs_lead_with_the_reason(name: str) -> None:
    result = log.explain([LOGS / f"{name}.log"])
    assert _ids(result)[0] == BEST[name]
    assert result.is_known


def test_every_real_log_names_its_source() -> None:
    for path in LOGS.glob("*.log"):
        assert path.read_text().startswith("# https://github.com/"), path


def test_torchrun_names_the_rank_even_where_the_reason_is_elsewhere() -> None:
    result = log.explain([LOGS / "elastic.log"])
    assert (result.is_known, result.first_rank) == (False, 1)


def test_first_rank_by_time_over_files(tmp_path: Path) -> None:
    (tmp_path / "worker_0.log").write_text(f"2025-04-08 18:40:00,100 ERROR {EI0006.replace('18:07', '18:40')}\n")
    (tmp_path / "worker_3.log").write_text(f"2025-04-08 18:07:20,000 step 7\nTraceback:\n{OOM}\n")
    (tmp_path / "worker_1.log").write_text(f"2025-04-08 18:41:00,100 ERROR {EI0006.replace('18:07', '18:41')}\n")
    result = log.explain([tmp_path])
    assert _ids(result)[0] == "NPU_OOM"
    assert result.first_rank == 3
    assert result.causes[0].first.time == Moment(2025, 4, 8, 65240.0)


def test_same_error_on_all_ranks_is_ordered_by_time() -> None:
    lines = [f"[rank{rank}]: 2025-04-08 18:07:{20 - rank} {OOM}" for rank in range(4)]
    result = log.explain_text(lines)
    assert result.first_rank == 3
    assert [item.rank for item in result.causes[0].occurrences] == [3, 2, 1, 0]


def test_rank_without_a_report_is_named_where_others_waited(tmp_path: Path) -> None:
    for rank in (0, 1, 3):
        (tmp_path / f"rank_{rank}.log").write_text(EI0006 + "\n")
    (tmp_path / "rank_2.log").write_text("all well so far\n")
    assert log.explain([tmp_path]).silent_ranks == (2,)


def test_what_happens_long_after_the_failure_is_another_story() -> None:
    result = log.explain_text(
        [EI0006, "2025-04-08 19:00:00 RuntimeError: The server socket has failed: Address already in use"]
    )
    assert _ids(result) == ["HCCL_EI0006", "ADDR_IN_USE"]


def test_restart_that_fails_at_once_does_not_hide_the_failure() -> None:
    first = "2025-04-08 18:07:20 RuntimeError: NPU function error: f, error code is 507015"
    then = "2025-04-08 18:07:30 RuntimeError: The server socket has failed to bind: Address already in use"
    assert _ids(log.explain_text([first, then]))[0] == "ACL_507015"
    assert _ids(log.explain_text([EI0006, then]))[0] == "HCCL_EI0006"
    assert _ids(log.explain_text([then, first]))[0] == "ADDR_IN_USE"
    assert _ids(log.explain_text([first, "Inference server exited with code 137"]))[0] == "ACL_507015"


def test_inner_error_codes_are_only_wrappers() -> None:
    lines = [
        "EI9999: Inner Error!",
        "EI9999: 2024-10-21-10:42:00.358.410  hccl fftsplus task timeout occurred during task",
    ]
    assert _ids(log.explain_text(lines)) == ["HCCL_FFTS_TIMEOUT", "E9999_INNER"]


def test_cause_wins_over_consequence_also_when_printed_later() -> None:
    assert _ids(log.explain_text([EI0006, "2025-04-08 18:07:25 " + OOM]))[0] == "NPU_OOM"


def test_catch_all_rows_stand_back() -> None:
    assert _ids(log.explain_text(["RuntimeError: NPU function error: f, error code is 507015"])) == ["ACL_507015"]
    assert _ids(log.explain_text(["RuntimeError: NPU function error: f, error code is 107027"])) == ["ACL_CODE"]


def test_code_without_a_row_gets_its_name(jumar: Run) -> None:
    done = jumar("explain", "NPU function error: f, error code is 100032")
    assert done.out.startswith("error: a call into CANN failed with a number: 100032 (ACL_ERROR_INVALID_QUEUE_ID)")


@pytest.mark.parametrize(
    "line",
    [
        "loss 507015 at step 1",
        "sample EI00061 done",
        "ModelEI0006",
        "the error codes of 2024 are in 507015.txt",
        "Error",
    ],
)
def test_words_that_only_look_alike(line: str) -> None:
    assert not log.explain_text([line]).is_known


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_packed_logs(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(pack(f"fine\n{OOM}\n".encode()))
    result = log.explain([path])
    assert _ids(result) == ["NPU_OOM"]
    assert (result.causes[0].first.line, result.files[0].lines) == (2, 2)


def test_truncated_gzip_counts_up_to_the_break(tmp_path: Path) -> None:
    path = tmp_path / "run.log.gz"
    text = f"{OOM}\n".encode() + bytes(str(list(range(200_000))), "ascii")
    path.write_bytes(gzip.compress(text)[:-4000])
    result = log.explain([path])
    assert "broken after this point" in result.files[0].problem or _ids(result) == ["NPU_OOM"]


def test_binary_file_is_said_to_be_one(tmp_path: Path, jumar: Run) -> None:
    path = tmp_path / "core.1"
    path.write_bytes(bytes(range(256)) * 400)
    done = jumar("explain", path)
    assert done.code == 0
    assert f"note: `{path}`: not a text file" in done.out


def test_log_with_holes_colours_and_broken_characters_is_read() -> None:
    raw = b"\0" * 20 + b"\x1b[31m" + OOM.encode() + b"\x1b[0m \xe4\xb8" + b"\r\n" + b"ok \xff\xfe\n" * 200
    result = log.explain([source.Source("x", io.BytesIO(raw))])
    assert _ids(result) == ["NPU_OOM"]
    assert result.causes[0].first.text.startswith("torch.OutOfMemoryError")
    assert "\x1b" not in result.causes[0].first.text


def test_utf16_log(tmp_path: Path) -> None:
    path = tmp_path / "powershell.txt"
    path.write_text(f"fein\n{OOM}\n", encoding="utf-16")
    assert _ids(log.explain([path])) == ["NPU_OOM"]


def test_progress_bar_before_the_error_is_cut_off() -> None:
    result = log.explain_text(["10%|#| 1/10\r20%|##| 2/10\r" + OOM])
    assert result.causes[0].first.text == OOM


def test_gigantic_line_is_searched_in_little_memory() -> None:
    def blocks() -> Iterator[bytes]:
        for number in range(64):
            yield b"x" * (1 << 20) + (OOM.encode() if number == 40 else b"")

    tracemalloc.start()
    found = list(scan.candidates(blocks(), scan.Counter()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {row.id for item in found for tier in item.tiers for row in tier} >= {"NPU_OOM"}
    assert {item.line for item in found} == {1}
    assert peak < 30 << 20


def test_literal_across_blocks_is_found() -> None:
    text = f"{'a' * 3000}\nnothing\n{OOM}\n".encode()
    for size in (7, 100, 3010):
        blocks = [text[at : at + size] for at in range(0, len(text), size)]
        counter = scan.Counter()
        assert [item.line for item in scan.candidates(blocks, counter)] == [3]
        assert counter.lines == 3


@pytest.mark.slow
def test_many_ranks_do_not_fill_memory() -> None:
    result = log.explain_text(f"[rank{number}]: {OOM}" for number in range(6_000))
    assert result.causes[0].times == 6_000
    assert len(result.causes[0].occurrences) <= 5_001


def test_native_search_finds_the_same() -> None:
    if not native.LIBRARY.exists():
        pytest.skip("libjumar_scan.so is not built: pip install .")
    literals = scan._literals()
    text = b"".join(path.read_bytes() for path in sorted(LOGS.glob("*.log"))) * 50 + literals[0] + literals[-1][:-1]
    fast = native.searcher(literals)
    assert fast is not None
    assert sorted(fast(text)) == scan._slow(literals)(text)
    assert fast(b"") == fast(b"abc") == []


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[rank3]: RuntimeError", 3),
        ("(NPURayWorkerWrapper pid=44419) [rank7]:[W609 06:57:47.8 x.ts:877] Warning", 7),
        ("[ERROR] 2024-05-21-11:57:54 (PID:927000, Device:3, RankID:5) ERR02200", 5),
        ("[ERROR] 2024-05-21-11:57:54 (PID:927000, Device:3, RankID:-1) ERR02200", None),
        ("(Worker_DP0_TP4_EP4 pid=9988) ERROR 12-03 06:21:44 [x.py:671]", 4),
        ("(VllmWorker TP0 pid=35532) ERROR 08-26", 0),
        ("[1,12]<stderr>:boom", 12),
        ("6: Traceback", 6),
        ("[default2]:boom", 2),
        ("step 6: loss", None),
    ],
)
def test_rank_of_a_line(line: str, rank: int | None) -> None:
    assert place.rank_of_line(line) == rank


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("logs/worker_3.log", 3),
        ("logs/none_ab12/attempt_0/5/stderr.log", 5),
        ("rank_2/train.log", 2),
        ("train_log7.txt", 7),
        ("device-0/device-0_2024.log", 0),
        ("train.log", None),
        ("plog-12345_20240101.log", None),
        ("train_rank_2.log", 2),
        ("forum-device-100.log", None),
        ("issue-npu-333.log", None),
        ("build-log-7.txt", None),
        ("frank3.log", None),
    ],
)
def test_rank_of_a_file(name: str, rank: int | None) -> None:
    assert place.rank_of_file(name) == rank


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("EI0002: [PID: 7277] 2024-11-28-11:59:30.645.648 The wait", "2024-11-28 11:59:30.646"),
        ("2024-11-28 11:59:30,123 ERROR", "2024-11-28 11:59:30.123"),
        ("[E324 13:00:25.428029551 compiler_depend.ts:574]", "03-24 13:00:25.428"),
        ("[E1212 12:10:10.131512730 x]", "12-12 12:10:10.132"),
        ("ERROR 09-17 04:55:13 [core.py:718]", "09-17 04:55:13.000"),
        ("Arrival Time:[Thu Oct 23 17:25:58 2025]", "2025-10-23 17:25:58.000"),
        ("  time      : 2026-09-07_13:02:58", "2026-09-07 13:02:58.000"),
        ("2024-13-41-99:99:99", "None"),
        ("no time", "None"),
    ],
)
def test_time_of_a_line(line: str, time: str) -> None:
    assert str(place.time_of(line, "")) == time


def test_time_above_the_line_counts() -> None:
    assert str(place.time_of("boom", "2024-01-02 03:04:05 a\n2024-01-02 03:04:06 b\n")) == "2024-01-02 03:04:06.000"


def test_command_prints_what_why_and_what_to_do(jumar: Run) -> None:
    path = LOGS / "hccp.log"
    done = jumar("explain", path)
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("error: the device's network process could not start (EJ0001)\n\n")
    assert f"  {path}:4: EJ0001: 2024-05-21-11:57:54.167.645 Failed to initialize the HCCP process." in done.out
    assert "\nwhy: a process of the last job is left over" in done.out
    assert "\nwhat to do:\n  - " in done.out
    assert f"  {path}:8: ACL_507899 error, the kind of failure: " in done.out


def test_command_in_json(jumar: Run) -> None:
    done = jumar("explain", "--json", LOGS / "oom_8_cards.log")
    found = json.loads(done.out)
    assert done.code == 1
    assert [cause["id"] for cause in found["causes"]] == ["NPU_OOM", "ELASTIC_CHILD"]
    assert found["causes"][0]["lines"][0]["line"] == 3
    assert found["files"][0]["lines"] == 5


def test_unknown_log_says_so_and_what_to_collect(jumar: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text('all is well\n  File "x.py", line 1\nValueError: too many values to unpack\n')
    done = jumar("explain", path)
    assert done.code == 1
    assert done.out.startswith("unknown error: nothing in 3 lines fits a known Ascend error\n")
    assert f"  {path}:3: ValueError: too many values to unpack" in done.out
    assert "to find the reason, collect:" in done.out
    assert "ASCEND_LAUNCH_BLOCKING=1" in done.out


def test_empty_log(jumar: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"")
    done = jumar("explain", path)
    assert (done.code, done.out) == (0, "no error found in 0 lines\n")


def test_standard_input(jumar: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OOM.encode())))
    done = jumar("explain", "-")
    assert done.code == 1
    assert "  -:1: torch.OutOfMemoryError" in done.out


def test_folder_without_logs(jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    done = jumar("explain", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: no logs in `{tmp_path}`\n")


def test_unreadable_file_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        log.explain([tmp_path / "missing.log"])


def test_standard_input_twice(jumar: Run) -> None:
    hint = "hint: `jumar explain --help` shows how it is used\n"
    assert jumar("explain", "-", "-").err == f"error: `-` can be given only once\n\n{hint}"


def test_what_vllm_says_at_every_start_is_no_reason() -> None:
    usual = [
        "jumar: no NPU found, emulating 8 x Ascend910B3 with 65536 MiB each",
        "ERROR 11-18 01:14:02 [config.py:29] Failed to import Triton kernels. Please make sure your triton version is "
        "compatible. Error: No module named 'triton.language.target_info'",
        "(APIServer pid=7) WARNING 11-18 01:14:06 [system_utils.py:289] Found ulimit of 20000 and failed to "
        "automatically increase with error current limit exceeds maximum limit. This can cause fd limit errors like "
        "`OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n",
    ]
    assert not log.explain_text(usual).has_error
    said = "(APIServer pid=7) huggingface_hub.errors.HFValidationError: Repo id must use alphanumeric chars: './modle'."
    assert _ids(log.explain_text([*usual, "Traceback (most recent call last):", said]))[0] == "PROGRAM_SAID"
    triton = "ModuleNotFoundError: No module named 'triton'"
    files = "OSError: [Errno 24] Too many open files"
    assert {"TRITON_NO_DRIVER", "OPEN_FILES"} <= set(_ids(log.explain_text([*usual, triton, files])))
