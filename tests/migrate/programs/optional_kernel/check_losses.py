import pytest
import torch
from fast.losses import fused_loss


@pytest.mark.skipif(torch.cuda.device_count() < 1, reason="needs a card")
def check_fused_loss():
    logits = torch.randn(2, 3).cuda()
    assert fused_loss(logits, logits)
