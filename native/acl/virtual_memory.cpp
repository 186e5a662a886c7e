// Reserved address ranges and physical blocks mapped into them: what expandable segments are made of.
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "acl/context.h"
#include "acl/memory.h"
#include "api.h"
#include "machine/error.h"
#include "machine/ledger.h"

using namespace jumar;

namespace {

struct Physical {
  int fd;
  size_t size;
  int32_t device;
};

constexpr size_t kHugePage = size_t{2} << 20;  // what a card maps at once

auto& mutex = *new std::mutex;
auto& ranges = *new std::map<void*, size_t>;  // reserved addresses

size_t take_range(void* address) {
  std::lock_guard<std::mutex> guard(mutex);
  const auto found = ranges.find(address);
  if (found == ranges.end()) return 0;
  const size_t size = found->second;
  ranges.erase(found);
  return size;
}

}  // namespace

int32_t aclrtMemGetAllocationGranularity(void*, int32_t, size_t* granularity) {
  if (granularity == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemGetAllocationGranularity: no output");
  *granularity = kHugePage;
  return ACL_SUCCESS;
}

int32_t aclrtReserveMemAddress(void** out, size_t size, size_t, void* wish, uint64_t) {
  if (out == nullptr || size == 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtReserveMemAddress: no output or zero bytes");
  void* range = mmap(wish, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtReserveMemAddress: no range of %zu bytes", size);
  std::lock_guard<std::mutex> guard(mutex);
  ranges[range] = size;
  *out = range;
  return ACL_SUCCESS;
}

int32_t aclrtReleaseMemAddress(void* range) {
  const size_t size = take_range(range);
  if (size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtReleaseMemAddress: not a reserved range");
  munmap(range, size);
  return ACL_SUCCESS;
}

int32_t aclrtMallocPhysical(void** handle, size_t size, const void*, uint64_t) {
  int32_t device = -1;
  if (int32_t code = reserve("aclrtMallocPhysical", size, &device)) return code;
  const int fd = memfd_create("jumar-device-memory", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) {
    if (fd >= 0) close(fd);
    ledger::give(card_of(device), size);
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMallocPhysical: the host has no %zu bytes left", size);
  }
  *handle = new Physical{fd, size, device};
  return ACL_SUCCESS;
}

int32_t aclrtFreePhysical(void* handle) {
  auto* physical = static_cast<Physical*>(handle);
  if (physical == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFreePhysical: no handle");
  close(physical->fd);
  ledger::give(card_of(physical->device), physical->size);
  delete physical;
  return ACL_SUCCESS;
}

int32_t aclrtMapMem(void* address, size_t size, size_t offset, void* handle, uint64_t) {
  auto* physical = static_cast<Physical*>(handle);
  if (physical == nullptr || offset + size > physical->size)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMapMem: the block is smaller than the mapping");
  void* mapped = mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->fd,
                      static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMapMem: the host refused the mapping");
  remember(address, size, physical->device);
  return ACL_SUCCESS;
}

int32_t aclrtUnmapMem(void* address) {
  size_t size = 0;
  int32_t device = -1;
  if (!forget(address, &size, &device))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtUnmapMem: nothing is mapped there");
  // The range stays reserved: it must not be handed out to somebody else.
  mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return ACL_SUCCESS;
}
