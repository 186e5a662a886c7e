import os

import mindspore as ms
from mindspore import context, device_manager
from mindspore.communication import init, management
from mindspore.dataset import Dataset

context.set_context(mode=0, device_target="Ascend", device_id=3)
ms.set_device("Ascend", 1)
init("hccl")
print(
    context.said["device_target"],
    context.said["device_id"],
    device_manager.said,
    management.calls,
    Dataset(num_parallel_workers=64).num_parallel_workers == (os.cpu_count() or 1),
    os.environ.get("MS_ROLE"),
)
