import torch
import torch_npu

torch.manual_seed(0)
x, h, c = torch.randn(4, 2, 3), torch.randn(1, 2, 5), torch.randn(1, 2, 5)
lstm, gru = torch.nn.LSTM(3, 5), torch.nn.GRU(3, 5)
weight = torch.cat([lstm.weight_ih_l0.t(), lstm.weight_hh_l0.t()])
bias = lstm.bias_ih_l0 + lstm.bias_hh_l0
npu = [t.detach().npu() for t in (x, weight, bias, torch.empty(0), h, c)]
results = torch_npu.npu_lstm(*npu, True, 1, 0.0, True, False, False, False, False)
y, (hn, cn) = lstm(x, (h, c))
assert len(results) == 8 and torch.allclose(results[0].cpu(), y, atol=1e-6)
assert torch.allclose(results[1][-1:].cpu(), hn, atol=1e-6) and torch.allclose(results[2][-1:].cpu(), cn, atol=1e-6)
back = torch_npu.npu_lstm(*npu, True, 1, 0.0, True, False, False, False, True)
assert torch.allclose(back[0].cpu(), lstm(x.flip(0), (h, c))[0].flip(0), atol=1e-6)
parts = (x, h, gru.weight_ih_l0.t(), gru.weight_hh_l0.t(), gru.bias_ih_l0, gru.bias_hh_l0, torch.empty(0))
results = torch_npu.npu_gru(*(t.detach().npu() for t in parts), True, 1, 0.0, True, False, False)
assert torch.allclose(results[0].cpu(), gru(x, h)[0], atol=1e-6)
try:
    torch_npu.npu_lstm(*npu, True, 1, 0.0, True, False, False, True, False)
except NotImplementedError as error:
    print(error)
