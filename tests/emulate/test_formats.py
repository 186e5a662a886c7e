"""Private formats: the data stays right and the format asked for is reported."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_casts_keep_the_data_and_report_the_format(run: Run) -> None:
    program = program_text(__file__, "format_casts")
    assert run(program).stdout == "1024\n"  # 3 x 4 numbers, padded to 16 x 16
