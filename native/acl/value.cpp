// Numbers in device memory that streams write and wait for. torch_npu's external events are made of them.
#include <chrono>
#include <string>
#include <thread>

#include "acl/capture.h"
#include "api.h"
#include "machine/error.h"

using namespace jumar;

namespace {

bool is_over(const uint64_t* at, uint64_t value, uint32_t flag) {
  const uint64_t seen = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  return flag == 0   ? static_cast<int64_t>(seen - value) >= 0
         : flag == 1 ? seen == value
         : flag == 2 ? (seen & value) != 0
                     : ~(seen | value) != 0;
}

// Arm processors stop a program at an atomic access that is not aligned.
int32_t check(const char* function, const void* at) {
  if (at != nullptr && reinterpret_cast<uintptr_t>(at) % sizeof(uint64_t) == 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the address is null or no multiple of 8", function);
}

// Whoever writes and whoever waits meet at the address.
Task named(const char* type, const void* at) {
  return {type, std::string(type) + "_" + std::to_string(reinterpret_cast<uintptr_t>(at))};
}

}  // namespace

int32_t aclrtValueWrite(void* at, uint64_t value, uint32_t, void* stream) {
  if (int32_t code = check("aclrtValueWrite", at)) return code;
  const auto write = [at, value] {
    __atomic_store_n(static_cast<uint64_t*>(at), value, __ATOMIC_SEQ_CST);
    return static_cast<int32_t>(ACL_SUCCESS);
  };
  return record(stream, named("MEM_WRITE_VALUE", at), write) ? static_cast<int32_t>(ACL_SUCCESS) : write();
}

int32_t aclrtValueWait(void* at, uint64_t value, uint32_t flag, void* stream) {
  if (int32_t code = check("aclrtValueWait", at)) return code;
  const auto wait = [=] {
    while (!is_over(static_cast<uint64_t*>(at), value, flag)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    return static_cast<int32_t>(ACL_SUCCESS);
  };
  if (record(stream, named("MEM_WAIT_VALUE", at), wait, /*waits=*/true)) return ACL_SUCCESS;
  // Outside of a graph, a wait that is not over now would wait in the caller for ever.
  return is_over(static_cast<uint64_t*>(at), value, flag)
             ? static_cast<int32_t>(ACL_SUCCESS)
             : refuse("aclrtValueWait", ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}
