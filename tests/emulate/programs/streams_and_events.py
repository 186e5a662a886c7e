import torch

x = torch.randn(64, 64).npu()
start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
side = torch.npu.Stream()
with torch.npu.stream(side):
    start.record()
    y = x @ x
    end.record()
y.record_stream(torch.npu.current_stream())
torch.npu.current_stream().wait_stream(side)
torch.npu.synchronize()
print(start.elapsed_time(end) > 0, side.query(), end.query())
