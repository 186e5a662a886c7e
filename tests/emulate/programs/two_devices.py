import torch

x = torch.ones(3).npu()
print((x + torch.tensor(1.0)).device)
for other in (torch.ones(3), torch.ones(3, device="npu:1")):
    try:
        x + other
    except RuntimeError as error:
        print("Expected all tensors to be on the same device" in str(error))
