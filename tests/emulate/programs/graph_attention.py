import torch
import torch_npu

torch.manual_seed(0)
q, k, v = (torch.randn(1, 2, n, 16).half().npu() for n in (1, 8, 8))
options = {"num_heads": 2, "input_layout": "BNSD", "scale": 0.25}
call = torch_npu.npu_fused_infer_attention_score
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph, auto_dispatch_capture=True):
    out, _ = call(q, k, v, actual_seq_lengths_kv=[8], **options)
for length in (3, 8, 5):
    graph.replay()  # waits in the background for the lengths
    graph.update(cpu_update_input=[{"actual_seq_lengths_kv": [length]}])
    torch.npu.synchronize()
    assert torch.equal(out, call(q, k, v, actual_seq_lengths_kv=[length], **options)[0])
