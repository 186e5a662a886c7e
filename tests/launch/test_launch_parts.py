"""The small parts of a launch: time of day, log lines, throughput, scripts without a process group."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.launch import clock, local, logs, program

NOW = datetime(2026, 11, 16, 22, 0, 0)


def test_until_is_the_next_such_time() -> None:
    assert datetime.fromtimestamp(clock.moment("22:50", 30, NOW)) == datetime(2026, 11, 16, 22, 50)
    assert datetime.fromtimestamp(clock.moment("6:05:30", 30, NOW)) == datetime(2026, 11, 17, 6, 5, 30)


@pytest.mark.parametrize("text", ["", "22", "24:00", "22:60", "10pm", "22:50:61"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a time of day"):
        clock.moment(text, 30, NOW)


def test_a_job_that_would_stop_at_once_is_refused() -> None:
    with pytest.raises(UserError, match="is in 20 s, but the job gets its signal 30 s before"):
        clock.moment("22:00:20", 30, NOW)


def test_log_lines_come_once_and_whole(tmp_path: Path) -> None:
    tail = logs.Tail(tmp_path)
    assert list(tail.lines()) == []
    (tmp_path / "rank_10.log").write_bytes(b"ten\n")
    (tmp_path / "rank_2.log").write_bytes(b"one\ntw")
    assert list(tail.lines()) == [(2, "one"), (10, "ten")]
    with open(tmp_path / "rank_2.log", "ab") as file:
        file.write("o\n 10%\r 20%\r\nünd\xff".encode("latin-1"))
    assert list(tail.lines()) == [(2, "two"), (2, " 20%")]
    assert list(tail.lines(last=True)) == [(2, "\ufffdnd\ufffd")]
    assert logs.tail(tmp_path / "rank_2.log", 2) == (" 20%", "\ufffdnd\ufffd")
    assert logs.tail(tmp_path / "rank_3.log") == ()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("epoch 1 loss 0.3 1,234.5 samples/s", "1,234.5 samples/s"),
        (" 40%|####  | 8/20 [00:01<00:02, 7.50it/s]", "7.50 it/s"),
        ("tokens: 812.0 tokens / sec", "812.0 tokens/sec"),
        ("FPS: 33.1", "FPS 33.1"),
        ("throughput = 512 per card", "throughput 512"),
        ("loss 0.3 after 20 steps", None),
        ("5 it takes", None),
    ],
)
def test_throughput_is_read_as_it_is_written(line: str, found: str | None) -> None:
    assert logs.rate(line) == found


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("import torch", True),
        ("import torch, numpy\nfrom net import Net", True),
        ("import torch\nimport group", False),
        ("import torch\nfrom package.deep import x", False),
        ("import torch\ntorch.distributed.init_process_group('hccl')", False),
        ("import torch, os\nprint(os.environ['LOCAL_RANK'])", False),
        ("import torch\nfrom accelerate import Accelerator", False),
        ("import torch\nimport unknown_package", False),
        ("print('no torch at all')", False),
        ("import torch\nprint 'python 2'", False),
    ],
)
def test_only_a_clear_case_is_called_alone(tmp_path: Path, text: str, alone: bool) -> None:
    (tmp_path / "net.py").write_text("import torch.nn as nn\nimport net\n")
    (tmp_path / "group.py").write_text("from torch.distributed import init_process_group\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "deep.py").write_text("import deepspeed\n")
    script = tmp_path / "train.py"
    script.write_text(text)
    assert program.alone(script) is alone


def test_one_card_needs_no_group(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch")
    program.check(("train.py",), tmp_path, 1)
    with pytest.raises(UserError, match="makes no process group: each of 2 cards"):
        program.check(("train.py",), tmp_path, 2)


def test_cards_are_counted_or_named() -> None:
    there = [0, 1, 2, 5]
    assert local.pick(None, there, "cards") == (0, 1, 2, 5)
    assert local.pick("2", there, "cards") == (0, 1)
    assert local.pick("1-2,5", there, "cards") == (1, 2, 5)


@pytest.mark.parametrize("wish", ["0", "5", "0,3", "1,1", "a", "-1", ","])
def test_cards_that_do_not_exist_are_refused(wish: str) -> None:
    with pytest.raises(UserError, match="--cards"):
        local.pick(wish, [0, 1, 2, 5], "cards")
