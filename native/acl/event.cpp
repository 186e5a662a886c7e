// Events: a time stamp taken when they are recorded. The work before them is done by then.
#include <atomic>
#include <chrono>

#include "api.h"
#include "machine/error.h"

using namespace jumar;

namespace {

struct Event {
  std::atomic<uint64_t> time{0};  // nanoseconds; 0 when never recorded
};

uint64_t now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

int32_t complete(const char* function, void* event, int32_t* status, int32_t value) {
  if (event == nullptr || status == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no event or output", function);
  *status = value;
  return ACL_SUCCESS;
}

}  // namespace

int32_t aclrtCreateEventExWithFlag(void** event, uint32_t) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateEventExWithFlag: no output");
  *event = new Event;
  return ACL_SUCCESS;
}

int32_t aclrtCreateEvent(void** event) { return aclrtCreateEventExWithFlag(event, 0); }

int32_t aclrtCreateEventWithFlag(void** event, uint32_t flag) { return aclrtCreateEventExWithFlag(event, flag); }

int32_t aclrtDestroyEvent(void* event) {
  delete static_cast<Event*>(event);
  return ACL_SUCCESS;
}

int32_t aclrtRecordEvent(void* event, void*) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtRecordEvent: no event");
  static_cast<Event*>(event)->time = now();
  return ACL_SUCCESS;
}

int32_t aclrtResetEvent(void* event, void*) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtResetEvent: no event");
  static_cast<Event*>(event)->time = 0;
  return ACL_SUCCESS;
}

int32_t aclrtSynchronizeEvent(void* event) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeEvent: no event");
  return ACL_SUCCESS;
}

int32_t aclrtEventElapsedTime(float* ms, void* start, void* end) {
  if (ms == nullptr || start == nullptr || end == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtEventElapsedTime: no event or output");
  const uint64_t from = static_cast<Event*>(start)->time, to = static_cast<Event*>(end)->time;
  if (from == 0 || to == 0)
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "aclrtEventElapsedTime: an event was never recorded");
  *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(to - from)) / 1e6);
  return ACL_SUCCESS;
}

int32_t aclrtEventGetTimestamp(void* event, uint64_t* time) {
  if (event == nullptr || time == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtEventGetTimestamp: no event or output");
  *time = static_cast<Event*>(event)->time;
  if (*time == 0) return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "aclrtEventGetTimestamp: never recorded");
  return ACL_SUCCESS;
}

// "Recorded" is 1 in the vendor's enum of recorded states, "waited for" is 0 in that of wait states.
int32_t aclrtQueryEventStatus(void* event, int32_t* status) {
  return complete("aclrtQueryEventStatus", event, status, 1);
}

int32_t aclrtQueryEventWaitStatus(void* event, int32_t* status) {
  return complete("aclrtQueryEventWaitStatus", event, status, 0);
}

uint64_t MsprofSysCycleTime() { return now(); }
