import torch
import torch_npu

x = torch.randn(4, 4).npu()
for call in (
    lambda: torch_npu.npu_fused_attention_layernorm_qkv_fwd(x, x, x, x, x, x),
    lambda: torch.ops.npu.npu_quant_matmul_all_to_all(x, x, "group", 2),
):
    try:
        call()
    except NotImplementedError as error:
        print(error)
try:
    torch_npu.npu_gelu(torch.randn(4))
except NotImplementedError as error:
    print("Could not run" in str(error))
