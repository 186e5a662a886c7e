import torch
import torch_npu

torch.manual_seed(0)
tokens, logits = torch.randn(6, 8), torch.randn(6, 4)
weights = torch.randn(4, 8, 5)
probs, chosen, _ = torch_npu.npu_moe_gating_top_k_softmax(logits.npu(), k=2)
rows, places = torch_npu.npu_moe_token_permute(tokens.npu(), chosen)
counts = torch.bincount(chosen.cpu().reshape(-1), minlength=4)
out = torch_npu.npu_grouped_matmul(
    [rows], [weights.npu()], group_list=counts.cumsum(0).npu(), split_item=3, group_type=0
)[0]
joined = torch_npu.npu_moe_token_unpermute(out, places, probs)
values, experts = logits.softmax(-1).topk(2)
expected = torch.einsum("th,tkhd,tk->td", tokens, weights[experts], values)
torch.testing.assert_close(joined.cpu(), expected)

# Releases without an operator below it have this one in its place.
from jumar.emulate.torch_ops import moe_permute  # noqa: E402

alone = moe_permute.npu_moe_token_unpermute(out.cpu(), places.cpu(), probs.cpu())
torch.testing.assert_close(alone, expected)
