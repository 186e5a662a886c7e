import torch

torch.manual_seed(0)
x = torch.randn(3, 4, 5)
for dtype in (torch.qint8, torch.quint8, torch.qint32):
    ours, theirs = (torch.quantize_per_tensor(t, 0.1, 3, dtype) for t in (x.npu(), x))
    assert (ours.q_scale(), ours.q_zero_point(), ours.device.type) == (0.1, 3, "npu")
    assert torch.equal(ours.int_repr().cpu(), theirs.int_repr())
    assert torch.equal(ours.dequantize().cpu(), theirs.dequantize())
    scales, zeros = torch.rand(4) + 0.1, torch.arange(4)
    theirs = torch.quantize_per_channel(x, scales, zeros, 1, dtype)
    ours = torch.quantize_per_channel(x.npu(), scales.npu(), zeros.npu(), 1, dtype)
    assert ours.q_per_channel_axis() == 1
    assert torch.equal(ours.q_per_channel_scales().cpu(), theirs.q_per_channel_scales())
    assert torch.equal(ours.int_repr().cpu(), theirs.int_repr())
    torch.testing.assert_close(ours.dequantize().cpu().float(), theirs.dequantize())
