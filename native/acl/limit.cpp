// Core limits per device, stream and thread: kept and reported; the CPU does the work whatever they say.
#include <array>
#include <map>
#include <mutex>

#include "acl/context.h"
#include "api.h"
#include "machine/error.h"
#include "machine/profile.h"

using namespace jumar;

namespace {

using Limits = std::array<uint32_t, 2>;  // cube cores, vector cores

std::mutex mutex;
std::map<int32_t, Limits> of_device;
std::map<void*, Limits> of_stream;
thread_local void* in_use = nullptr;

Limits whole_chip() {
  return {static_cast<uint32_t>(profile().chip.cube_core), static_cast<uint32_t>(profile().chip.vector_core)};
}

Limits device_limits(int32_t device) {
  const auto found = of_device.find(device);
  return found != of_device.end() ? found->second : whole_chip();
}

Limits stream_limits(void* stream) {
  const auto found = of_stream.find(stream);
  return found != of_stream.end() ? found->second : device_limits(current_device());
}

int32_t check(const char* function, int32_t kind) {
  if (kind == 0 || kind == 1) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown kind of core %d", function, kind);
}

}  // namespace

int32_t aclrtGetDeviceResLimit(int32_t device, int32_t kind, uint32_t* value) {
  if (!is_device(device)) return bad_device("aclrtGetDeviceResLimit", device);
  if (int32_t code = check("aclrtGetDeviceResLimit", kind)) return code;
  std::lock_guard<std::mutex> guard(mutex);
  *value = device_limits(device)[static_cast<size_t>(kind)];
  return ACL_SUCCESS;
}

int32_t aclrtSetDeviceResLimit(int32_t device, int32_t kind, uint32_t value) {
  if (!is_device(device)) return bad_device("aclrtSetDeviceResLimit", device);
  if (int32_t code = check("aclrtSetDeviceResLimit", kind)) return code;
  std::lock_guard<std::mutex> guard(mutex);
  Limits limits = device_limits(device);
  limits[static_cast<size_t>(kind)] = value;
  of_device[device] = limits;
  return ACL_SUCCESS;
}

int32_t aclrtResetDeviceResLimit(int32_t device) {
  std::lock_guard<std::mutex> guard(mutex);
  of_device.erase(device);
  return ACL_SUCCESS;
}

int32_t aclrtGetStreamResLimit(void* stream, int32_t kind, uint32_t* value) {
  if (int32_t code = check("aclrtGetStreamResLimit", kind)) return code;
  std::lock_guard<std::mutex> guard(mutex);
  *value = stream_limits(stream)[static_cast<size_t>(kind)];
  return ACL_SUCCESS;
}

int32_t aclrtSetStreamResLimit(void* stream, int32_t kind, uint32_t value) {
  if (int32_t code = check("aclrtSetStreamResLimit", kind)) return code;
  std::lock_guard<std::mutex> guard(mutex);
  Limits limits = stream_limits(stream);
  limits[static_cast<size_t>(kind)] = value;
  of_stream[stream] = limits;
  return ACL_SUCCESS;
}

int32_t aclrtResetStreamResLimit(void* stream) {
  std::lock_guard<std::mutex> guard(mutex);
  of_stream.erase(stream);
  return ACL_SUCCESS;
}

int32_t aclrtUseStreamResInCurrentThread(void* stream) {
  in_use = stream;
  return ACL_SUCCESS;
}

int32_t aclrtUnuseStreamResInCurrentThread(void*) {
  in_use = nullptr;
  return ACL_SUCCESS;
}

int32_t aclrtGetResInCurrentThread(int32_t kind, uint32_t* value) { return aclrtGetStreamResLimit(in_use, kind, value); }
