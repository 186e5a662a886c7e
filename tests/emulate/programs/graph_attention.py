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

# Without `softmax_lse_flag` there are no sums, captured or not (FusedInferAttentionScoreKernelNpuOpApi.cpp:356), and
# what the caller gives for them stays as it is.
for name, words in (
    ("", options),
    ("_v2", {"num_query_heads": 2, "input_layout": "BNSD", "softmax_scale": 0.25}),
):
    attend = getattr(torch_npu, f"npu_fused_infer_attention_score{name}")
    infer = getattr(torch.ops.npu, f"_npu_fused_infer_attention_score{name}_infer_output")
    heads = {key: value for key, value in words.items() if "scale" not in key}
    flag = "return_softmax_lse" if name else "softmax_lse_flag"
    for asked in (False, True):
        eager = attend(q, k, v, **words, **{flag: asked})
        assert infer(q, v, **heads, **{flag: asked})[1].shape == eager[1].shape == ((1, 2, 1, 1) if asked else (0,))
    results = [torch.empty_like(eager[0]), torch.full((1,), 7.0, device="npu")]
    attend.out(q, k, v, **words, out=results)
    assert torch.equal(results[0], eager[0]) and results[1].tolist() == [7.0]

# The update that calls its kernel past the dispatcher (torch_npu/csrc/npu/Graph.cpp).
graph, event, side = torch.npu.NPUGraph(), torch.npu.ExternalEvent(), torch.npu.Stream()
results = [torch.empty_like(eager[0]), torch.empty(0, device="npu")]
with torch.npu.graph(graph):
    stream = torch.npu.current_stream()
    event.wait(stream)
    event.reset(stream)
    torch.npu.graph_task_group_begin(stream)
    call.out(q, k, v, actual_seq_lengths_kv=[8], **options, out=results)
    handle = torch.npu.graph_task_group_end(stream)
for length in (3, 8):
    with torch.npu.stream(side):
        updated = torch_npu._C._npu_fused_infer_attention_score_out_graph(
            side, handle, event, q, k, v, actual_seq_lengths_kv=[length], **options, out=results
        )
    graph.replay()
    torch.npu.synchronize()
    assert torch.equal(results[0], call(q, k, v, actual_seq_lengths_kv=[length], **options)[0])
    assert updated[0].data_ptr() == results[0].data_ptr()
