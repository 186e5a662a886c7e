import torch
import torch_npu


def attend(query, key, value, length):
    out, _ = torch_npu.npu_fused_infer_attention_score(
        query, key, value, num_heads=4, input_layout="BNSD", scale=0.125, actual_seq_lengths_kv=[length]
    )
    return out + 1


torch.manual_seed(0)
query, key, value = (torch.randn(1, 4, size, 64, dtype=torch.float16).npu() for size in (1, 48, 48))
compiled = torch.compile(attend, mode="reduce-overhead", dynamic=True)
with torch.no_grad():
    for length in (7, 48, 20, 21, 33, 7):
        wanted = attend(query, key, value, length)
        torch.compiler.cudagraph_mark_step_begin()
        print(length, torch.equal(compiled(query, key, value, length), wanted))
