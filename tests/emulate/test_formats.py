"""Private formats: the data stays right and the format asked for is reported."""

from __future__ import annotations

from conftest import Run

_CASTS = """
import torch, torch_npu
torch.npu.config.allow_internal_format = True
"""


def test_casts_keep_the_data_and_report_the_format(run: Run) -> None:
    program = (
        _CASTS
        + """
for shape in ((3, 4), (4, 3, 5, 5)):
    x = torch.randn(shape)
    for number, name in ((2, "ND"), (29, "FRACTAL_NZ"), (3, "NC1HWC0"), (4, "FRACTAL_Z")):
        y = torch_npu.npu_format_cast(x.npu(), number)
        assert str(torch_npu.get_npu_format(y)).endswith(name), (number, torch_npu.get_npu_format(y))
        assert torch.equal(y.cpu(), x) and torch.equal((y + 1).cpu(), x + 1)
        assert torch.equal(y[1:].cpu(), x[1:]) and torch.equal(torch_npu.npu_format_cast(y, 2).cpu(), x)
        y.mul_(2)
        assert torch.equal(y.cpu(), x * 2)
        y.copy_(x)
        assert torch.equal(y.cpu(), x)
"""
    )
    run(program)


def test_padded_formats_take_their_memory(run: Run) -> None:
    program = _CASTS + (
        "y = torch_npu.npu_format_cast(torch.ones(3, 4).npu(), 29); print(y.untyped_storage().nbytes())"
    )
    assert run(program).stdout == "1024\n"


def test_saved_tensors_come_back(run: Run) -> None:
    program = (
        _CASTS
        + """
import io
x = torch.randn(4, 3, 5, 5)
file = io.BytesIO()
torch.save(torch_npu.npu_format_cast(x.npu(), 3), file)
file.seek(0)
assert torch.equal(torch.load(file).cpu(), x)
file.seek(0)
assert torch.equal(torch.load(file, map_location="cpu"), x)
"""
    )
    run(program)


def test_formats_are_off_by_default_as_in_torch_npu(run: Run) -> None:
    program = """
import torch, torch_npu
y = torch_npu.npu_format_cast(torch.ones(3, 4).npu(), 29)
print(torch_npu.get_npu_format(y))
"""
    assert "FRACTAL_NZ" not in run(program).stdout
