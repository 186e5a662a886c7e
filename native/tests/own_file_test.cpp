// Names in /dev/shm that somebody else took: they are not waited for, not believed, and silence nobody.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "api.h"
#include "machine/codes.h"
#include "machine/ledger.h"
#include "tests/check.h"

using namespace jumar;

namespace {

std::string file(const std::string& more) { return "/jumar-" + std::to_string(getuid()) + "-" + more; }

bool exists(const std::string& name) {
  const int fd = shm_open(name.c_str(), O_RDONLY, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// A table that says that the cards are full, which everybody may write, and whose lock is held. Root can give it to
// another user too.
int taken(const std::string& name) {
  const int fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  CHECK(fd >= 0 && ftruncate(fd, sizeof(ledger::Table)) == 0);
  void* memory = mmap(nullptr, sizeof(ledger::Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(memory != MAP_FAILED);
  auto* table = static_cast<ledger::Table*>(memory);
  table->magic = ledger::kMagic;
  table->rows = ledger::kRows;
  table->row[0] = {getpid(), 0, 0, uint64_t{1} << 60, "liar"};
  munmap(memory, sizeof(ledger::Table));
  CHECK(fchmod(fd, 0666) == 0);
  if (geteuid() == 0) CHECK(fchown(fd, 65534, 65534) == 0);
  CHECK(flock(fd, LOCK_EX) == 0);
  return fd;
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  CHECK(aclrtGetMemInfo(1, &free, &total) == ACL_SUCCESS);
  return free;
}

// What a process that uses a card writes to stderr.
std::string said() {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const int before = dup(2);
  dup2(ends[1], 2);
  CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  dup2(before, 2);
  close(ends[1]);
  char text[512] = {};
  const ssize_t size = read(ends[0], text, sizeof text - 1);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : std::string();
}

}  // namespace

int main() {
  setenv("JUMAR_MACHINE", "own-file-test", 1);
  setenv("JUMAR_MEMORY", "64M", 1);
  setenv("JUMAR_ANNOUNCED", "own-file-test", 1);
  unsetenv("JUMAR_QUIET");
  const std::string table = file("own-file-test"), silence = file("announced-own-file-test");
  const int first = taken(table), second = taken(table + "~1"), third = taken(silence);
  CHECK(said().find("emulated") != std::string::npos);
  CHECK(exists(table + "~2"));
  CHECK(free_bytes() == 64 << 20);
  CHECK(aclFinalize() == ACL_SUCCESS);
  CHECK(!exists(table + "~2") && exists(table));
  for (const std::string& name : {table, table + "~1", silence}) CHECK(shm_unlink(name.c_str()) == 0);
  for (const int fd : {first, second, third}) close(fd);
  return 0;
}
