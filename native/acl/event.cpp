// Events: a point in a stream, and the time at which it was reached.
#include "acl/event.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>

#include "acl/capture.h"
#include "acl/queue.h"
#include "api.h"
#include "machine/error.h"

using namespace jumar;

struct aclrtIpcEventHandle {
  char bytes[64];
};

namespace {

constexpr uint32_t kBetweenProcesses = 0x40;
constexpr char kHandle[] = "jumar-event";

struct Event {
  std::mutex mutex;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Mark> mark;  // none when never recorded
  uint32_t capture = 0;        // in which it was recorded
  uint32_t number = 0;         // of that record
  bool shared = false;         // between processes
};

std::shared_ptr<Mark> mark_of(void* event) {
  std::lock_guard<std::mutex> guard(static_cast<Event*>(event)->mutex);
  return static_cast<Event*>(event)->mark;
}

uint64_t time_of(void* event) {
  const std::shared_ptr<Mark> mark = mark_of(event);
  return mark != nullptr ? mark->time.load() : 0;
}

int32_t put_mark(void* event, std::shared_ptr<Queue> queue, std::shared_ptr<Mark> mark, uint32_t capture = 0) {
  static std::atomic<uint32_t> records{0};
  std::lock_guard<std::mutex> guard(static_cast<Event*>(event)->mutex);
  static_cast<Event*>(event)->capture = capture;
  if (capture != 0) static_cast<Event*>(event)->number = ++records;
  static_cast<Event*>(event)->queue = std::move(queue);
  static_cast<Event*>(event)->mark = std::move(mark);
  return ACL_SUCCESS;
}

int32_t query(const char* function, void* event, int32_t* status, int32_t reached, int32_t pending) {
  if (event == nullptr || status == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no event or output", function);
  const std::shared_ptr<Mark> mark = mark_of(event);
  *status = mark == nullptr || mark->time != 0 ? reached : pending;
  return ACL_SUCCESS;
}

}  // namespace

namespace jumar {

int32_t finish_event(const char* function, void* event) {
  std::shared_ptr<Queue> queue;
  const std::shared_ptr<Mark> mark = mark_of(event);
  if (mark == nullptr) return ACL_SUCCESS;
  {
    std::lock_guard<std::mutex> guard(static_cast<Event*>(event)->mutex);
    queue = static_cast<Event*>(event)->queue;
  }
  const Failure failure = queue->wait(*mark);
  return failure.code == 0 ? ACL_SUCCESS : fail(failure.code, "%s: %s", function, failure.text.c_str());
}

uint32_t capture_of_event(void* event) {
  std::lock_guard<std::mutex> guard(static_cast<Event*>(event)->mutex);
  return static_cast<Event*>(event)->capture;
}

Task named(const char* type, void* event) {
  std::lock_guard<std::mutex> guard(static_cast<Event*>(event)->mutex);
  return {type, std::string(type) + "_" + std::to_string(static_cast<Event*>(event)->number)};
}

}  // namespace jumar

int32_t aclrtCreateEventExWithFlag(void** event, uint32_t flag) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateEventExWithFlag: no output");
  auto* made = new Event;
  made->shared = (flag & kBetweenProcesses) != 0;
  *event = made;
  return ACL_SUCCESS;
}

// Work is done before the record of such an event returns: whoever learns of the event later finds it reached.
int32_t aclrtIpcGetEventHandle(void* event, void* handle) {
  if (event == nullptr || handle == nullptr || !static_cast<Event*>(event)->shared)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcGetEventHandle: no output, or not an event between processes");
  if (int32_t code = finish_event("aclrtIpcGetEventHandle", event)) return code;
  *static_cast<aclrtIpcEventHandle*>(handle) = {};
  std::memcpy(handle, kHandle, sizeof kHandle);
  return ACL_SUCCESS;
}

int32_t aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, void** event) {
  if (event == nullptr || std::memcmp(handle.bytes, kHandle, sizeof kHandle) != 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcOpenEventHandle: no output, or not a handle of an event");
  return aclrtCreateEventExWithFlag(event, kBetweenProcesses);
}

int32_t aclrtCreateEvent(void** event) { return aclrtCreateEventExWithFlag(event, 0); }

int32_t aclrtCreateEventWithFlag(void** event, uint32_t flag) { return aclrtCreateEventExWithFlag(event, flag); }

int32_t aclrtDestroyEvent(void* event) {
  delete static_cast<Event*>(event);
  return ACL_SUCCESS;
}

int32_t aclrtRecordEvent(void* event, void* stream) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtRecordEvent: no event");
  if (static_cast<Event*>(event)->shared)
    if (int32_t code = finish_stream("aclrtRecordEvent", stream)) return code;
  std::shared_ptr<Queue> queue = queue_of(stream);
  std::shared_ptr<Mark> mark = queue->mark();
  put_mark(event, std::move(queue), std::move(mark), capture_of(stream));
  note(stream, named("EVENT_RECORD", event));
  return ACL_SUCCESS;
}

int32_t aclrtResetEvent(void* event, void* stream) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtResetEvent: no event");
  note(stream, named("EVENT_RESET", event));
  return put_mark(event, nullptr, nullptr);
}

int32_t aclrtSynchronizeEvent(void* event) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeEvent: no event");
  return finish_event("aclrtSynchronizeEvent", event);
}

int32_t aclrtSynchronizeEventWithTimeout(void* event, int32_t) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeEventWithTimeout: no event");
  return finish_event("aclrtSynchronizeEventWithTimeout", event);
}

int32_t aclrtEventElapsedTime(float* ms, void* start, void* end) {
  if (ms == nullptr || start == nullptr || end == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtEventElapsedTime: no event or output");
  const uint64_t from = time_of(start), to = time_of(end);
  if (from == 0 || to == 0)
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "aclrtEventElapsedTime: an event was never recorded");
  *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(to - from)) / 1e6);
  return ACL_SUCCESS;
}

int32_t aclrtEventGetTimestamp(void* event, uint64_t* time) {
  if (event == nullptr || time == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtEventGetTimestamp: no event or output");
  *time = time_of(event);
  if (*time == 0) return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "aclrtEventGetTimestamp: never recorded");
  return ACL_SUCCESS;
}

// The vendor's enums: recorded 1, not ready 0; waited for 0, not ready 1.
int32_t aclrtQueryEventStatus(void* event, int32_t* status) {
  return query("aclrtQueryEventStatus", event, status, 1, 0);
}

int32_t aclrtQueryEvent(void* event, int32_t* status) { return query("aclrtQueryEvent", event, status, 0, 1); }

int32_t aclrtQueryEventWaitStatus(void* event, int32_t* status) {
  return query("aclrtQueryEventWaitStatus", event, status, 0, 1);
}

uint64_t MsprofSysCycleTime() { return now(); }
