#include "acl/context.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "api.h"
#include "machine/announce.h"
#include "machine/error.h"
#include "machine/ledger.h"
#include "machine/profile.h"

namespace jumar {
namespace {

// One context per device, and those that clients make; its address is the handle that they keep.
struct Context {
  std::atomic<bool> active{false};
  int32_t device = -1;  // of one that a client made
};
constexpr int kContexts = 64;
Context contexts[kContexts];
std::mutex mutex;
// Whether each still exists. Destroyed ones stay in memory, as another thread may be in one, and the map outlives the
// threads of a process that ends.
std::map<Context*, bool>& made = *new std::map<Context*, bool>;

std::atomic<bool> is_initialized{false};
std::atomic<bool> has_default_device{false};
thread_local Context* current = nullptr;

// "defaultDevice" in the file given to aclInit lets a thread start on device 0 without a call.
bool names_default_device(const char* path) {
  FILE* file = path != nullptr ? std::fopen(path, "re") : nullptr;
  if (file == nullptr) return false;
  char text[4096];
  const size_t size = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  return std::string(text, size).find("\"defaultDevice\"") != std::string::npos;
}

bool is_primary(const Context* context) { return context >= contexts && context < contexts + kContexts; }

bool exists(Context* context) {
  std::lock_guard<std::mutex> guard(mutex);
  const auto found = made.find(context);
  return found != made.end() && found->second;
}

}  // namespace

bool initialized() { return is_initialized; }

bool is_device(int32_t device) { return device >= 0 && device < static_cast<int32_t>(visible().size()); }

int card_of(int32_t device) { return visible()[static_cast<size_t>(device)]; }

int32_t current_device() {
  if (is_primary(current)) return static_cast<int32_t>(current - contexts);
  if (current != nullptr) return current->device;
  return has_default_device && is_device(0) ? 0 : -1;
}

int32_t bad_device(const char* function, int32_t device) {
  return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: device %d does not exist, the machine has %zu", function, device,
              visible().size());
}

}  // namespace jumar

using namespace jumar;

int32_t aclInit(const char* config) {
  if (!profile().problem.empty()) return fail(ACL_ERROR_INVALID_PARAM, "jumar: %s", profile().problem.c_str());
  if (is_initialized.exchange(true))
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: called before without aclFinalize");
  has_default_device = names_default_device(config);
  return ACL_SUCCESS;
}

int32_t aclFinalize() {
  if (!is_initialized.exchange(false)) return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: aclInit was not called");
  ledger::detach();
  for (Context& context : contexts) context.active = false;  // a device that is set again shows up again
  return ACL_SUCCESS;
}

int32_t aclrtSetDevice(int32_t device) {
  if (!is_device(device)) return bad_device("aclrtSetDevice", device);
  current = &contexts[device];
  if (!current->active.exchange(true)) {
    announce();
    ledger::attach(card_of(device));
  }
  return ACL_SUCCESS;
}

int32_t aclrtResetDevice(int32_t device) {
  if (!is_device(device)) return bad_device("aclrtResetDevice", device);
  if (current == &contexts[device]) current = nullptr;
  contexts[device].active = false;
  return ACL_SUCCESS;
}

int32_t aclrtResetDeviceForce(int32_t device) {
  return is_device(device) ? aclrtResetDevice(device) : bad_device("aclrtResetDeviceForce", device);
}

int32_t aclrtGetDevice(int32_t* device) {
  if (device == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDevice: no output");
  const int32_t number = current_device();
  if (number < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtGetDevice: the thread has no device yet");
  *device = number;
  return ACL_SUCCESS;
}

int32_t aclrtGetCurrentContext(void** context) {
  if (context == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetCurrentContext: no output");
  if (current == nullptr && current_device() >= 0) aclrtSetDevice(current_device());
  if (current == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtGetCurrentContext: the thread has none yet");
  *context = current;
  return ACL_SUCCESS;
}

int32_t aclrtSetCurrentContext(void* context) {
  auto* wanted = static_cast<Context*>(context);
  if (!is_primary(wanted) && !exists(wanted))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSetCurrentContext: not a context");
  current = wanted;
  return ACL_SUCCESS;
}

int32_t aclrtCreateContext(void** context, int32_t device) {
  if (context == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateContext: no output");
  if (!is_device(device)) return bad_device("aclrtCreateContext", device);
  if (int32_t code = aclrtSetDevice(device)) return code;
  auto* fresh = new Context;
  fresh->device = device;
  std::lock_guard<std::mutex> guard(mutex);
  made[fresh] = true;
  *context = current = fresh;
  return ACL_SUCCESS;
}

int32_t aclrtDestroyContext(void* context) {
  auto* gone = static_cast<Context*>(context);
  {
    std::lock_guard<std::mutex> guard(mutex);
    const auto found = made.find(gone);
    if (found == made.end() || !found->second)
      return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDestroyContext: not a context of aclrtCreateContext");
    found->second = false;
  }
  if (current == gone) current = nullptr;
  return ACL_SUCCESS;
}

int32_t aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
  if (!is_device(device)) return bad_device("aclrtGetPrimaryCtxState", device);
  if (flags != nullptr) *flags = 0;
  if (active != nullptr) *active = contexts[device].active ? 1 : 0;
  return ACL_SUCCESS;
}
