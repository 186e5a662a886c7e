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

bool exists(const std::string& name = file()) {
  const int fd = shm_open(name.c_str(), O_RDONLY, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  CHECK(aclrtGetMemInfo(1, &free, &total) == ACL_SUCCESS);
  return free;
}

// The file of a machine that has only one process, which is killed, or which this process keeps alive.
std::string other_machine(const char* name, bool killed, pid_t* child) {
  int ready[2];
  CHECK(pipe(ready) == 0);
  *child = fork();
  if (*child == 0) {
    setenv("JUMAR_MACHINE", name, 1);
    CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
    CHECK(write(ready[1], "x", 1) == 1);
    for (;;) pause();
  }
  char mark = 0;
  CHECK(read(ready[0], &mark, 1) == 1);
  if (killed) kill(*child, SIGKILL);  // not reaped: a zombie uses no card either
  return "/jumar-" + std::to_string(getuid()) + "-" + name;
}

void wait_for_zombie(pid_t child) {
  siginfo_t info;
  CHECK(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
}

}  // namespace

int main() {
  setenv("JUMAR_MACHINE", "ledger-test", 1);
  setenv("JUMAR_MEMORY", "64M", 1);
  pid_t living_child, killed_child;
  const std::string living = other_machine("ledger-test-living", false, &living_child);
  const std::string killed = other_machine("ledger-test-killed", true, &killed_child);
  wait_for_zombie(killed_child);
  CHECK(exists(living));
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
  CHECK(exists(living) && !exists(killed));
  kill(living_child, SIGKILL);
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, 48 << 20, 0) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(aclrtMalloc(&memory, 48 << 20, 0) == ACL_SUCCESS);
  CHECK(free_bytes() == 16 << 20);
  CHECK(exists());
  CHECK(aclFinalize() == ACL_SUCCESS);
  CHECK(!exists());
  CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS && exists());
  CHECK(aclFinalize() == ACL_SUCCESS && !exists());
  wait_for_zombie(living_child);
  const pid_t last = fork();
  if (last == 0) {
    setenv("JUMAR_MACHINE", "ledger-test-last", 1);
    CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(1) == ACL_SUCCESS);
    CHECK(!exists(living));
    std::exit(0);
  }
  int status = 0;
  CHECK(waitpid(last, &status, 0) == last && status == 0);
  return 0;
}
