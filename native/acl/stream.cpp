// Streams. Work is done when the call that asks for it returns, so a stream has no queue and is always idle.
#include <atomic>

#include "acl/context.h"
#include "api.h"
#include "machine/error.h"

using namespace jumar;

namespace {

struct Stream {
  int32_t id;
  int32_t device;
  std::atomic<uint32_t> overflow_switch{0};
};

std::atomic<int32_t> next_id{1};

int32_t create(const char* function, void** stream) {
  if (stream == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no output", function);
  if (current_device() < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: the thread has no device yet", function);
  *stream = new Stream{next_id++, current_device()};
  return ACL_SUCCESS;
}

int32_t synchronize(const char* function) {
  if (current_device() < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: the thread has no device yet", function);
  return ACL_SUCCESS;
}

}  // namespace

int32_t aclrtCreateStream(void** stream) { return create("aclrtCreateStream", stream); }

int32_t aclrtCreateStreamWithConfig(void** stream, uint32_t, uint32_t) {
  return create("aclrtCreateStreamWithConfig", stream);
}

int32_t aclrtDestroyStream(void* stream) {
  delete static_cast<Stream*>(stream);
  return ACL_SUCCESS;
}

int32_t aclrtDestroyStreamForce(void* stream) { return aclrtDestroyStream(stream); }

int32_t aclrtSynchronizeStream(void*) { return synchronize("aclrtSynchronizeStream"); }
int32_t aclrtSynchronizeStreamWithTimeout(void*, int32_t) { return synchronize("aclrtSynchronizeStreamWithTimeout"); }
int32_t aclrtSynchronizeDevice() { return synchronize("aclrtSynchronizeDevice"); }
int32_t aclrtSynchronizeDeviceWithTimeout(int32_t) { return synchronize("aclrtSynchronizeDeviceWithTimeout"); }

int32_t aclrtStreamQuery(void*, int32_t* status) {
  if (status == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamQuery: no output");
  *status = 0;  // complete
  return ACL_SUCCESS;
}

int32_t aclrtStreamGetId(void* stream, int32_t* id) {
  if (id == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamGetId: no output");
  *id = stream != nullptr ? static_cast<Stream*>(stream)->id : 0;
  return ACL_SUCCESS;
}

int32_t aclrtStreamWaitEvent(void*, void* event) {
  if (event == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamWaitEvent: no event");
  return ACL_SUCCESS;
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

// Host functions run at once, in the order of the calls: everything before them on the stream is done already.
int32_t aclrtLaunchCallback(void* function, void* data, int32_t, void*) {
  if (function == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtLaunchCallback: no function");
  reinterpret_cast<void (*)(void*)>(function)(data);
  return ACL_SUCCESS;
}

int32_t aclrtLaunchHostFunc(void* stream, void* function, void* data) {
  return aclrtLaunchCallback(function, data, 0, stream);
}

int32_t aclrtSubscribeReport(uint64_t, void*) { return ACL_SUCCESS; }
int32_t aclrtUnSubscribeReport(uint64_t, void*) { return ACL_SUCCESS; }
int32_t aclrtProcessReport(int32_t) { return ACL_SUCCESS; }

// Operators are never timed out; the time asked for is the one reported back.
int32_t aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actual) {
  if (actual != nullptr) *actual = timeout;
  return ACL_SUCCESS;
}

// Graph capture refuses to begin, so no stream is ever capturing; the question itself has an answer.
int32_t aclmdlRICaptureGetInfo(void*, int32_t* status, void** model) {
  if (status != nullptr) *status = 0;
  if (model != nullptr) *model = nullptr;
  return ACL_SUCCESS;
}

int32_t aclmdlRICaptureThreadExchangeMode(int32_t* mode) {
  thread_local int32_t kept = 0;
  if (mode == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureThreadExchangeMode: no mode");
  const int32_t before = kept;
  kept = *mode;
  *mode = before;
  return ACL_SUCCESS;
}
