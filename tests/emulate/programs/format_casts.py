import io

import torch
import torch_npu

off = torch_npu.npu_format_cast(torch.ones(3, 4).npu(), 29)
assert "NZ" not in str(torch_npu.get_npu_format(off))  # torch_npu's own default: no private formats
torch.npu.config.allow_internal_format = True
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
        file = io.BytesIO()
        torch.save(y, file)
        for place in (None, "cpu"):
            file.seek(0)
            assert torch.equal(torch.load(file, map_location=place).cpu(), x)
print(torch_npu.npu_format_cast(torch.ones(3, 4).npu(), 29).untyped_storage().nbytes())
