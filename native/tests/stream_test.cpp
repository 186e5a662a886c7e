// Streams and events: order, times, and what an event that was never recorded says.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

int main() {
  setenv("JUMAR_MACHINE", "stream-test", 1);
  void *stream = nullptr, *start = nullptr, *end = nullptr;
  CHECK(aclrtCreateStream(&stream) == ACL_ERROR_RT_CONTEXT_NULL);
  CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  CHECK(aclrtCreateEventExWithFlag(&start, 8) == ACL_SUCCESS && aclrtCreateEventExWithFlag(&end, 8) == ACL_SUCCESS);

  float ms = -1;
  CHECK(aclrtEventElapsedTime(&ms, start, end) == ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  CHECK(aclrtRecordEvent(start, stream) == ACL_SUCCESS);
  int called = 0;
  auto count = [](void* data) { ++*static_cast<int*>(data); };
  CHECK(aclrtLaunchHostFunc(stream, reinterpret_cast<void*>(+count), &called) == ACL_SUCCESS);
  CHECK(called == 1);
  CHECK(aclrtRecordEvent(end, stream) == ACL_SUCCESS);
  CHECK(aclrtEventElapsedTime(&ms, start, end) == ACL_SUCCESS && ms >= 0);

  const auto before = std::chrono::steady_clock::now();
  CHECK(aclrtProcessReport(20) == ACL_SUCCESS);  // nothing to process: a thread that asks in a loop must not spin
  CHECK(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(20));

  int32_t status = -1, id = -1;
  CHECK(aclrtStreamQuery(stream, &status) == ACL_SUCCESS && status == 0);
  CHECK(aclrtStreamGetId(stream, &id) == ACL_SUCCESS && id > 0);
  std::thread([] {
    int32_t device = -1;
    CHECK(aclrtGetDevice(&device) == ACL_ERROR_RT_CONTEXT_NULL);
  }).join();
  CHECK(aclrtDestroyEvent(start) == ACL_SUCCESS && aclrtDestroyEvent(end) == ACL_SUCCESS);
  CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  return 0;
}
