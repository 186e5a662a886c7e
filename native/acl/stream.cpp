// Streams. Work is done when the call that asks for it returns; only collectives are queued (acl/queue.h).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "acl/capture.h"
#include "acl/context.h"
#include "acl/event.h"
#include "acl/queue.h"
#include "api.h"
#include "machine/error.h"

using namespace jumar;

namespace {

struct Stream {
  int32_t id;
  int32_t device;
  std::atomic<uint32_t> overflow_switch{0};
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
};

std::atomic<int32_t> next_id{1};

int32_t create(const char* function, void** stream) {
  if (stream == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no output", function);
  if (current_device() < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: the thread has no device yet", function);
  *stream = new Stream{next_id++, current_device()};
  return ACL_SUCCESS;
}

int32_t synchronize_stream(const char* function, void* stream) {
  if (current_device() < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: the thread has no device yet", function);
  if (is_captured(stream)) return refuse_captured(function);
  return finish_stream(function, stream);
}

int32_t synchronize_device(const char* function) {
  if (current_device() < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: the thread has no device yet", function);
  return finish_all(function);
}

}  // namespace

namespace jumar {

std::shared_ptr<Queue> queue_of(void* stream) {
  static auto& of_default_stream = *new std::shared_ptr<Queue>(std::make_shared<Queue>());
  return stream != nullptr ? static_cast<Stream*>(stream)->queue : of_default_stream;
}

}  // namespace jumar

int32_t aclrtCreateStream(void** stream) { return create("aclrtCreateStream", stream); }

int32_t aclrtCreateStreamWithConfig(void** stream, uint32_t, uint32_t) {
  return create("aclrtCreateStreamWithConfig", stream);
}

int32_t aclrtCtxGetCurrentDefaultStream(void** stream) {
  if (stream == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCtxGetCurrentDefaultStream: no output");
  *stream = nullptr;  // every function takes it for the default one
  return ACL_SUCCESS;
}

int32_t aclrtDestroyStream(void* stream) {
  if (stream != nullptr) queue_of(stream)->drain();
  delete static_cast<Stream*>(stream);
  return ACL_SUCCESS;
}

int32_t aclrtDestroyStreamForce(void* stream) {
  delete static_cast<Stream*>(stream);  // the thread that works its queue off keeps that
  return ACL_SUCCESS;
}

int32_t aclrtSynchronizeStream(void* stream) { return synchronize_stream("aclrtSynchronizeStream", stream); }
int32_t aclrtSynchronizeStreamWithTimeout(void* stream, int32_t) {
  return synchronize_stream("aclrtSynchronizeStreamWithTimeout", stream);
}
int32_t aclrtSynchronizeDevice() { return synchronize_device("aclrtSynchronizeDevice"); }
int32_t aclrtSynchronizeDeviceWithTimeout(int32_t) { return synchronize_device("aclrtSynchronizeDeviceWithTimeout"); }

int32_t aclrtStreamQuery(void* stream, int32_t* status) {
  if (status == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamQuery: no output");
  *status = queue_of(stream)->idle() ? 0 : 1;  // complete, not ready
  return ACL_SUCCESS;
}

int32_t aclrtStreamGetId(void* stream, int32_t* id) {
  if (id == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamGetId: no output");
  *id = stream != nullptr ? static_cast<Stream*>(stream)->id : 0;
  return ACL_SUCCESS;
}

// The host waits in the stream's place: what it does on that stream next is done at once.
int32_t aclrtStreamWaitEvent(void* stream, void* event) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamWaitEvent: no event");
  if (const uint32_t capture = capture_of_event(event)) join_capture(stream, capture);
  note(stream, named("EVENT_WAIT", event));
  return finish_event("aclrtStreamWaitEvent", event);
}

int32_t aclrtStreamWaitEventWithTimeout(void* stream, void* event, int32_t) {
  return aclrtStreamWaitEvent(stream, event);
}

int32_t aclrtSetStreamOverflowSwitch(void* stream, uint32_t flag) {
  if (stream == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSetStreamOverflowSwitch: no stream");
  static_cast<Stream*>(stream)->overflow_switch = flag;
  return ACL_SUCCESS;
}

int32_t aclrtGetStreamOverflowSwitch(void* stream, uint32_t* flag) {
  if (stream == nullptr || flag == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetStreamOverflowSwitch: no stream or output");
  *flag = static_cast<Stream*>(stream)->overflow_switch;
  return ACL_SUCCESS;
}

// Host functions run at once, in the order of the calls.
int32_t aclrtLaunchCallback(void* function, void* data, int32_t, void* stream) {
  if (function == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtLaunchCallback: no function");
  const auto call = [function, data] {
    reinterpret_cast<void (*)(void*)>(function)(data);
    return static_cast<int32_t>(ACL_SUCCESS);
  };
  if (record(stream, {"HOSTFUNC_CALLBACK", ""}, call)) return ACL_SUCCESS;
  if (int32_t code = finish_stream("aclrtLaunchCallback", stream)) return code;
  return call();
}

int32_t aclrtLaunchHostFunc(void* stream, void* function, void* data) {
  return aclrtLaunchCallback(function, data, 0, stream);
}

int32_t aclrtSubscribeReport(uint64_t, void*) { return ACL_SUCCESS; }
int32_t aclrtUnSubscribeReport(uint64_t, void*) { return ACL_SUCCESS; }

// Callbacks run where they are launched, so there is never one to wait for. Clients call this in a loop of a thread of
// its own: without the pause, MindSpore's two threads would take two cores.
int32_t aclrtProcessReport(int32_t timeout) {
  constexpr int32_t kLongest = 100;  // milliseconds: a thread that shall end must not wait long
  std::this_thread::sleep_for(std::chrono::milliseconds(timeout < 0 ? kLongest : std::min(timeout, kLongest)));
  return ACL_SUCCESS;
}

// Operators are never timed out; the time asked for is the one reported back.
int32_t aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actual) {
  if (actual != nullptr) *actual = timeout;
  return ACL_SUCCESS;
}
