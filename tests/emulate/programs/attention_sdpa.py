import torch
from torch.nn import functional as F

torch.manual_seed(0)
for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 2e-3)):
    for arguments in ({}, {"is_causal": True}, {"attn_mask": torch.rand(6, 6) > 0.2}):
        leaves = [torch.randn(2, 3, 6, 16).requires_grad_() for _ in range(3)]
        if "attn_mask" in arguments:
            arguments["attn_mask"][:, 0] = True
        ours = [t.detach().to(dtype).npu().requires_grad_() for t in leaves]
        reference = F.scaled_dot_product_attention(*leaves, **arguments)
        moved = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in arguments.items()}
        out = F.scaled_dot_product_attention(*ours, **moved)
        torch.testing.assert_close(out.cpu().float(), reference, rtol=tolerance, atol=tolerance)
        reference.sum().backward()
        out.sum().backward()
        for own, leaf in zip(ours, leaves, strict=True):
            torch.testing.assert_close(own.grad.cpu().float(), leaf.grad, rtol=10 * tolerance, atol=tolerance)
