// The table of who uses which card: seen by other processes, freed by the next one after a kill, gone at the end.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

namespace {

std::string file() { return "/jumar-" + std::to_string(getuid()) + "-ledger-test"; }

bool exists() {
  const int fd = shm_open(file().c_str(), O_RDONLY, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  CHECK(aclrtGetMemInfo(1, &free, &total) == ACL_SUCCESS);
  return free;
}

}  // namespace

int main() {
  setenv("JUMAR_MACHINE", "ledger-test", 1);
  setenv("JUMAR_MEMORY", "64M", 1);
  int ready[2];
  CHECK(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    void* memory = nullptr;
    CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
    CHECK(aclrtMalloc(&memory, 32 << 20, 0) == ACL_SUCCESS);
    CHECK(write(ready[1], "x", 1) == 1);
    for (;;) pause();
  }
  char mark = 0;
  CHECK(read(ready[0], &mark, 1) == 1);
  CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  CHECK(free_bytes() == 32 << 20);
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, 48 << 20, 0) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(aclrtMalloc(&memory, 48 << 20, 0) == ACL_SUCCESS);
  CHECK(free_bytes() == 16 << 20);
  CHECK(exists());
  CHECK(aclFinalize() == ACL_SUCCESS);
  CHECK(!exists());
  return 0;
}
