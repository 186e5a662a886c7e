import torch
import torch.nn.functional as F

classes = torch.tensor([1, 0, 2], dtype=torch.int32).npu()
assert F.one_hot(classes, 3).dtype == torch.int32 and F.one_hot(classes.long(), 3).dtype == torch.int64
assert F.one_hot(classes, 3).cpu().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
scores = torch.randn(3, 4)
loss = F.nll_loss(scores.npu(), classes)
assert torch.equal(loss.cpu(), F.nll_loss(scores, classes.cpu().long()))
