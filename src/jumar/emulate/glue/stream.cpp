#include "stream.h"

#include <atomic>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" {
const std::atomic<int>* jumar_queued_work();
int32_t jumar_finish_stream(void* stream);
}

namespace jumar {

void finish_current_stream(c10::Device device) {
  static const std::atomic<int>& queued = *jumar_queued_work();
  if (queued.load(std::memory_order_acquire) == 0) return;
  const int32_t code = jumar_finish_stream(c10_npu::getCurrentNPUStream(device.index()).stream(false));
  TORCH_CHECK(code == 0, aclGetRecentErrMsg());
}

}  // namespace jumar
