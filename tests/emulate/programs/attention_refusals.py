import torch
import torch_npu

x = torch.randn(1, 2, 4, 8).npu()
for change in ({"keep_prob": 0.0}, {"sparse_mode": 9}, {"head_num": 0}, {"input_layout": "XYZ"}):
    arguments = {"head_num": 2, "input_layout": "BNSD", **change}
    try:
        torch_npu.npu_fusion_attention(x, x, x, **arguments)
    except RuntimeError as error:
        print(error)
