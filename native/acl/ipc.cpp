// Device memory of one process in another. A block that is exported moves, at its address, into a memory file without a
// name; others open it through /proc of the process that exported it, and keep what is in it when that process ends.
#include "acl/ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "acl/context.h"
#include "acl/memory.h"
#include "acl/queue.h"
#include "api.h"
#include "machine/error.h"
#include "machine/page.h"

namespace jumar {
namespace {

struct Import {
  void* address;
  size_t bytes;
  int count;
};

// Never destroyed: clients free memory while the process is on its way out.
struct State {
  std::mutex mutex;
  std::map<const void*, int> files;  // of exported blocks, by address
  std::map<std::string, Import> imports;
};

State& state() {
  static State* value = new State;
  return *value;
}

bool fill(int file, const char* from, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t written = pwrite(file, from + done, bytes - done, static_cast<off_t>(done));
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

// The memory file that holds the block from now on; -1 when the system has none left.
int moved(char* block, size_t bytes) {
  const int file = memfd_create("jumar-ipc", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (ftruncate(file, static_cast<off_t>(whole_pages(bytes))) == 0 && fill(file, block, bytes) &&
      mmap(block, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == block)
    return file;
  close(file);
  return -1;
}

uint64_t number_of(int file) {
  struct stat about {};
  return fstat(file, &about) == 0 ? static_cast<uint64_t>(about.st_ino) : 0;
}

// Opens what a key names, and makes sure that the number of the file has not gone to another one.
int open_key(const char* key, size_t* bytes) {
  int process = 0, file = -1;
  uint64_t size = 0, number = 0;
  if (std::sscanf(key, "jumar-%d-%d-%" SCNu64 "-%" SCNu64, &process, &file, &size, &number) != 4) return -1;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, file);
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  if (opened >= 0 && number_of(opened) != number) {
    close(opened);
    return -1;
  }
  *bytes = size;
  return opened;
}

}  // namespace

void end_export(const void* block) {
  std::lock_guard<std::mutex> guard(state().mutex);
  const auto found = state().files.find(block);
  if (found == state().files.end()) return;
  close(found->second);
  state().files.erase(found);
}

}  // namespace jumar

using namespace jumar;

int32_t aclrtIpcMemGetExportKey(void* address, size_t size, char* key, size_t room, uint64_t) {
  char* block = nullptr;
  size_t bytes = 0;
  if (key == nullptr || !find_block(address, &block, &bytes) || block != address || size > bytes)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemGetExportKey: not the start of device memory, or no key");
  if (int32_t code = finish_all("aclrtIpcMemGetExportKey")) return code;
  std::lock_guard<std::mutex> guard(state().mutex);
  auto found = state().files.find(block);
  if (found == state().files.end()) {
    const int file = moved(block, bytes);
    if (file < 0) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtIpcMemGetExportKey: no memory to share");
    found = state().files.emplace(block, file).first;
  }
  const int length = std::snprintf(key, room, "jumar-%d-%d-%zu-%" PRIu64, getpid(), found->second, bytes,
                                   number_of(found->second));
  if (length < 0 || static_cast<size_t>(length) >= room)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemGetExportKey: %zu bytes are too few for a key", room);
  return ACL_SUCCESS;
}

int32_t aclrtIpcMemImportByKey(void** out, const char* key, uint64_t) {
  if (out == nullptr || key == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemImportByKey: no key or output");
  const int32_t device = current_device();
  if (device < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtIpcMemImportByKey: the thread has no device yet");
  std::lock_guard<std::mutex> guard(state().mutex);
  const auto known = state().imports.find(key);
  if (known != state().imports.end()) {
    ++known->second.count;
    *out = known->second.address;
    return ACL_SUCCESS;
  }
  size_t bytes = 0;
  const int file = open_key(key, &bytes);
  if (file < 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemImportByKey: the process that exported `%s` has ended", key);
  void* address = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (address == MAP_FAILED) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtIpcMemImportByKey: no room for %zu bytes", bytes);
  remember(address, bytes, device);
  state().imports[key] = {address, bytes, 1};
  *out = address;
  return ACL_SUCCESS;
}

int32_t aclrtIpcMemClose(const char* key) {
  if (key == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemClose: no key");
  std::lock_guard<std::mutex> guard(state().mutex);
  const auto found = state().imports.find(key);
  if (found == state().imports.end()) {
    int process = 0;
    // The exporter closes its key, too: its memory goes when it is freed.
    if (std::sscanf(key, "jumar-%d-", &process) == 1 && process == getpid()) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcMemClose: `%s` was not imported", key);
  }
  if (--found->second.count > 0) return ACL_SUCCESS;
  size_t bytes = 0;
  int32_t device = -1;
  forget(found->second.address, &bytes, &device);
  munmap(found->second.address, whole_pages(found->second.bytes));
  state().imports.erase(found);
  return ACL_SUCCESS;
}
