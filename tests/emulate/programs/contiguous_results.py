import torch

predicted, target = torch.rand(8, 10).npu().topk(5).indices.t(), torch.arange(8).npu()
correct = predicted.eq(target.view(1, -1).expand_as(predicted))
assert correct[:2].view(-1).shape == (16,)
x = torch.randn(2, 3, 4).npu()
assert x.transpose(0, 2).clone(memory_format=torch.contiguous_format).is_contiguous()
# torch_npu 2.13's own `clone` keeps the strides of a dense tensor (CloneKernelOpApi.cpp:29).
assert x.transpose(0, 2).clone().stride() == x.transpose(0, 2).stride()
assert torch.equal((x.transpose(0, 2) + 1).cpu(), x.cpu().transpose(0, 2) + 1)
assert x.transpose(0, 2).data_ptr() == x.data_ptr()
