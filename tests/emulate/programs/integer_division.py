import torch  # the row of DivKernelNpuOpApi.cpp:206

for kind in (torch.int8, torch.uint8, torch.int32, torch.int64):
    x = torch.tensor([7, 9, 4], dtype=kind).npu()
    same = x
    x /= 2
    assert x is same and x.dtype == kind and x.tolist() == [3, 4, 2], x
    assert x.div_(torch.tensor([2, 3, 2], dtype=torch.int32).npu()).tolist() == [1, 1, 1]
x = torch.tensor([[-7, 7], [5, -5]]).npu()
x[:, 0].div_(2.5)
assert x.tolist() == [[-2, 7], [2, -5]], x  # towards zero, and nothing but the view
assert x.div_(2, rounding_mode="floor").tolist() == [[-1, 3], [1, -3]]
assert x.div_(2, rounding_mode=None).tolist() == [[0, 1], [0, -1]]
assert torch.tensor([2**24 + 1]).npu().div_(1).item() == 2**24  # through float32
for tensor, by in ((x, torch.tensor([2.0, 2.0]).npu()), (x, torch.tensor(2.0).npu()), (x > 0, 2)):
    try:
        tensor.div_(by)
    except RuntimeError as error:
        assert "can't be cast" in str(error), error
    else:
        raise AssertionError("divided")
half = torch.tensor([3.0], dtype=torch.float16).npu()
assert half.div_(2).item() == 1.5 and half.dtype == torch.float16
graph = torch.npu.NPUGraph()
counts = torch.tensor([8, 9]).npu()
with torch.npu.graph(graph):
    counts.div_(2)
graph.replay()
torch.npu.synchronize()
assert counts.tolist() == [4, 4], counts
