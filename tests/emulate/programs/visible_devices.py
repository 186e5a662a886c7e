import os

import torch
import torch_npu

found = [torch.npu.device_count()]
for text in ("0", "2,5,7", "1,0", "0,0", "0, 1", "0,32,1", "npu0", ""):
    os.environ["ASCEND_RT_VISIBLE_DEVICES"] = text
    found.append(torch.npu.device_count())
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "2,5,7"
torch.ones(1, device="npu:2")
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0"
print(*found, torch_npu._C._npu_getDeviceCount())
