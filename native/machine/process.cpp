#include "machine/process.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace jumar {
namespace {

struct Stat {
  char state = 0;
  uint64_t started = 0;
};

Stat read_stat(int32_t pid) {
  Stat stat;
  char path[64];
  // The first thread's: qemu, when it runs programs of another processor, makes up the process's own /proc/PID/stat,
  // with a start time that no other process sees.
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, pid);
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return stat;
  char line[1024] = "";
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  // The command name may hold spaces and brackets: count fields after the last one.
  const char* at = read ? std::strrchr(line, ')') : nullptr;
  if (at != nullptr && at[1] == ' ') stat.state = at[2];
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  if (at != nullptr) stat.started = std::strtoull(at + 1, nullptr, 10);
  return stat;
}

}  // namespace

uint64_t start_time(int32_t pid) { return read_stat(pid).started; }

char process_state(int32_t pid, uint64_t started) {
  const Stat stat = read_stat(pid);
  const bool dead = stat.started != started || stat.state == 'Z' || stat.state == 'X';
  return dead ? '\0' : stat.state;
}

}  // namespace jumar
