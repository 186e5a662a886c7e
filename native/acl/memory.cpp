#include "acl/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "acl/capture.h"
#include "acl/context.h"
#include "acl/ipc.h"
#include "acl/queue.h"
#include "api.h"
#include "machine/error.h"
#include "machine/ledger.h"
#include "machine/page.h"
#include "machine/profile.h"

namespace jumar {
namespace {

struct Block {
  size_t size;
  int32_t device;
};

// Never destroyed: clients free memory while the process is on its way out.
auto& blocks = *new std::map<const char*, Block>;
auto& mutex = *new std::mutex;

constexpr size_t kPage = 4096;  // of the card: what it counts in; the host's has as many bytes or more
constexpr size_t kDryCopy = 4 << 20;  // bytes from which a dry run leaves copies out
constexpr int32_t kPinned = -1;  // the device of memory of aclrtMallocHost

size_t rounded(size_t size) { return (size + kPage - 1) / kPage * kPage; }

int32_t allocate(const char* function, void** out, size_t size) {
  if (out == nullptr || size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no output or zero bytes", function);
  int32_t device = -1;
  if (int32_t code = reserve(function, rounded(size), &device)) return code;
  // Pages nobody touches cost nothing: a pool of the caching allocator takes only what tensors really use.
  void* memory = mmap(nullptr, whole_pages(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    ledger::give(card_of(device), rounded(size));
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: the host has no %zu bytes left", function, size);
  }
  remember(memory, rounded(size), device);
  *out = memory;
  return ACL_SUCCESS;
}

int32_t copy(const char* function, void* to, size_t room, const void* from, size_t count) {
  if (count == 0) return ACL_SUCCESS;
  if (to == nullptr || from == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: null address", function);
  if (count > room)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes do not fit into %zu", function, count, room);
  if (profile().dry && count > kDryCopy) return ACL_SUCCESS;
  std::memmove(to, from, count);
  return ACL_SUCCESS;
}

int32_t copy_rows(const char* function, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                  size_t height) {
  if (width > to_pitch || width > from_pitch)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: rows of %zu bytes are wider than a pitch", function, width);
  for (size_t row = 0; row < height; ++row) {
    const int32_t code = copy(function, static_cast<char*>(to) + row * to_pitch, to_pitch,
                              static_cast<const char*>(from) + row * from_pitch, width);
    if (code != ACL_SUCCESS) return code;
  }
  return ACL_SUCCESS;
}

int32_t copy_in_stream(const char* function, void* to, size_t room, const void* from, size_t count, void* stream) {
  if (int32_t code = finish_stream(function, stream)) return code;
  if (count <= room) keep_contents(stream, to, count);
  record(stream, {"MEMCPY_ASYNC", ""}, [=] { return copy(function, to, room, from, count); });
  return copy(function, to, room, from, count);
}

int32_t set(const char* function, void* at, size_t room, int32_t value, size_t count) {
  if (at == nullptr || count > room) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: null address or no room", function);
  if (!profile().dry || count <= kDryCopy) std::memset(at, value, count);
  return ACL_SUCCESS;
}

}  // namespace

void remember(const void* address, size_t bytes, int32_t device) {
  std::lock_guard<std::mutex> guard(mutex);
  blocks[static_cast<const char*>(address)] = Block{bytes, device};
}

bool find_block(const void* address, char** block, size_t* bytes) {
  std::lock_guard<std::mutex> guard(mutex);
  const auto* at = static_cast<const char*>(address);
  auto next = blocks.upper_bound(at);
  if (next == blocks.begin()) return false;
  --next;
  if (next->second.device == kPinned || at >= next->first + next->second.size) return false;
  *block = const_cast<char*>(next->first);
  *bytes = next->second.size;
  return true;
}

bool forget(const void* address, size_t* bytes, int32_t* device) {
  std::lock_guard<std::mutex> guard(mutex);
  const auto found = blocks.find(static_cast<const char*>(address));
  if (found == blocks.end()) return false;
  *bytes = found->second.size;
  *device = found->second.device;
  blocks.erase(found);
  return true;
}

int32_t reserve(const char* function, size_t bytes, int32_t* device) {
  *device = current_device();
  if (*device < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: the thread has no device yet", function);
  if (ledger::take(card_of(*device), bytes)) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: card %d has no %zu bytes left of %zu", function, card_of(*device),
              bytes, profile().memory);
}

}  // namespace jumar

using namespace jumar;

int32_t aclrtMalloc(void** out, size_t size, int32_t) { return allocate("aclrtMalloc", out, size); }
int32_t aclrtMallocCached(void** out, size_t size, int32_t) { return allocate("aclrtMallocCached", out, size); }
int32_t aclrtMallocAlign32(void** out, size_t size, int32_t) { return allocate("aclrtMallocAlign32", out, size); }

int32_t aclrtFree(void* memory) {
  size_t bytes = 0;
  int32_t device = -1;
  if (!forget(memory, &bytes, &device))
    return fail(ACL_ERROR_RT_MEMORY_FREE, "aclrtFree: not an address of aclrtMalloc");
  if (device == kPinned) {
    remember(memory, bytes, kPinned);
    return fail(ACL_ERROR_RT_MEMORY_FREE, "aclrtFree: an address of aclrtMallocHost");
  }
  if (queued_work != 0) finish_all("aclrtFree");  // as on a device: nothing may still use it
  end_export(memory);
  munmap(memory, whole_pages(bytes));
  ledger::give(card_of(device), bytes);
  return ACL_SUCCESS;
}

int32_t aclrtMallocHost(void** out, size_t size) {
  if (out == nullptr || size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMallocHost: no output or zero bytes");
  if (posix_memalign(out, kPage, size) != 0)
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMallocHost: the host has no %zu bytes left", size);
  remember(*out, size, kPinned);
  return ACL_SUCCESS;
}

int32_t aclrtMallocHostWithCfg(void** out, uint64_t size, void*) { return aclrtMallocHost(out, size); }

int32_t aclrtFreeHost(void* memory) {
  size_t bytes = 0;
  int32_t device = -1;
  forget(memory, &bytes, &device);
  std::free(memory);
  return ACL_SUCCESS;
}

int32_t aclrtMemcpy(void* to, size_t room, const void* from, size_t count, int32_t) {
  return copy("aclrtMemcpy", to, room, from, count);
}

int32_t aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t count, int32_t, void* stream) {
  return copy_in_stream("aclrtMemcpyAsync", to, room, from, count, stream);
}

int32_t aclrtMemcpy2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      int32_t) {
  return copy_rows("aclrtMemcpy2d", to, to_pitch, from, from_pitch, width, height);
}

int32_t aclrtMemcpy2dAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                           int32_t, void* stream) {
  constexpr auto kName = "aclrtMemcpy2dAsync";
  if (int32_t code = finish_stream(kName, stream)) return code;
  if (is_captured(stream)) return refuse(kName, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  return copy_rows(kName, to, to_pitch, from, from_pitch, width, height);
}

int32_t aclrtMemcpyAsyncWithCondition(void* to, size_t room, const void* from, size_t count, int32_t, void* stream) {
  return copy_in_stream("aclrtMemcpyAsyncWithCondition", to, room, from, count, stream);
}

int32_t aclrtMemcpyBatch(void** to, size_t* room, void** from, size_t* size, size_t count, void*, size_t*, size_t,
                         size_t* failed) {
  for (size_t index = 0; index < count; ++index) {
    if (int32_t code = copy("aclrtMemcpyBatch", to[index], room[index], from[index], size[index])) {
      if (failed != nullptr) *failed = index;
      return code;
    }
  }
  return ACL_SUCCESS;
}

int32_t aclrtMemcpyBatchAsync(void** to, size_t* room, void** from, size_t* size, size_t count, void* attrs,
                              size_t* indexes, size_t attr_count, size_t* failed, void* stream) {
  if (int32_t code = finish_stream("aclrtMemcpyBatchAsync", stream)) return code;
  if (is_captured(stream)) return refuse("aclrtMemcpyBatchAsync", ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  return aclrtMemcpyBatch(to, room, from, size, count, attrs, indexes, attr_count, failed);
}

int32_t aclrtMemset(void* at, size_t room, int32_t value, size_t count) {
  return set("aclrtMemset", at, room, value, count);
}

int32_t aclrtMemsetAsync(void* at, size_t room, int32_t value, size_t count, void* stream) {
  if (int32_t code = finish_stream("aclrtMemsetAsync", stream)) return code;
  if (count <= room) keep_contents(stream, at, count);
  record(stream, {"MEMSET_ASYNC", ""}, [=] { return set("aclrtMemsetAsync", at, room, value, count); });
  return set("aclrtMemsetAsync", at, room, value, count);
}

int32_t aclrtGetMemInfo(int32_t, size_t* free, size_t* total) {
  const int32_t device = current_device();
  if (device < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtGetMemInfo: the thread has no device yet");
  const size_t used = ledger::used(card_of(device));
  *total = profile().memory;
  *free = used < *total ? *total - used : 0;
  return ACL_SUCCESS;
}

int32_t aclrtGetMemUsageInfo(int32_t device, void* info, size_t room, size_t* count) {
  struct Usage {
    char name[32];
    uint64_t now, peak;
    size_t reserved[8];
  };
  if (!is_device(device)) return bad_device("aclrtGetMemUsageInfo", device);
  *count = 0;
  if (room == 0) return ACL_SUCCESS;
  auto* usage = static_cast<Usage*>(info);
  *usage = Usage{"APP", ledger::used(card_of(device)), ledger::used(card_of(device)), {}};
  *count = 1;
  return ACL_SUCCESS;
}

int32_t aclrtPointerGetAttributes(const void* address, void* attributes) {
  struct Place {
    uint32_t device;
    int32_t kind;  // 0: pinned on the host, 1: on a device, 2: memory the runtime does not know
    uint32_t page, reserved[4];
  };
  std::lock_guard<std::mutex> guard(mutex);
  const auto* at = static_cast<const char*>(address);
  auto next = blocks.upper_bound(at);
  Place place{0, 2, kPage, {}};
  if (next != blocks.begin()) {
    --next;
    const auto& [size, device] = next->second;
    if (at < next->first + size)
      place = device == kPinned ? Place{0, 0, kPage, {}} : Place{static_cast<uint32_t>(device), 1, kPage, {}};
  }
  *static_cast<Place*>(attributes) = place;
  return ACL_SUCCESS;
}

int32_t aclrtHostRegister(void* memory, uint64_t size, int32_t, void** device_address) {
  if (device_address == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtHostRegister: no output");
  if (const int32_t failed = aclrtHostRegisterV2(memory, size, 0)) return failed;
  *device_address = memory;
  return ACL_SUCCESS;
}

int32_t aclrtHostRegisterV2(void* memory, uint64_t size, uint32_t) {
  if (memory == nullptr || size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtHostRegister: null address or zero bytes");
  return ACL_SUCCESS;
}
int32_t aclrtHostUnregister(void*) { return ACL_SUCCESS; }
