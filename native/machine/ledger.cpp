#include "machine/ledger.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "machine/own_file.h"
#include "machine/process.h"
#include "machine/profile.h"

namespace jumar::ledger {
namespace {

struct State {
  std::mutex mutex;
  int fd = -1;
  std::string file;  // the name that was free
  Table* table = nullptr;
  bool private_table = false;  // no /dev/shm: count for this process alone
};

State& state() {
  static State* value = new State;  // never destroyed: freed memory is given back during exit
  return *value;
}

std::string file_start() { return "/jumar-" + std::to_string(getuid()) + "-"; }

std::string file_name() {
  const Profile& machine = profile();
  const char* name = std::getenv("JUMAR_MACHINE");
  std::string key = name != nullptr && *name != '\0'
                        ? name
                        : std::string(machine.chip.name) + "-" + std::to_string(machine.cards) + "-" +
                              std::to_string(machine.memory >> 20);
  for (char& letter : key)
    if (letter == '/') letter = '_';
  return file_start() + key;
}

bool alive(const Row& row) { return process_state(row.pid, row.started) != '\0'; }

// Removes the file of a machine whose processes were all killed; a file that somebody works with is left alone.
void sweep_file(const std::string& name) {
  const int fd = shm_open(name.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK, 0);
  if (fd < 0) return;
  struct stat info {};
  if (is_own(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &info) == 0 && info.st_nlink > 0 &&
      info.st_size == static_cast<off_t>(sizeof(Table))) {
    void* memory = mmap(nullptr, sizeof(Table), PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
      const auto* table = static_cast<const Table*>(memory);
      bool used = table->magic != kMagic;
      for (const Row& row : table->row) used = used || (row.pid != 0 && alive(row));
      if (!used) shm_unlink(name.c_str());
      munmap(memory, sizeof(Table));
    }
  }
  close(fd);
}

// Killed processes cannot clean up after themselves; the next one that starts does it for all machines of the user.
void sweep_others(const std::string& used) {
  DIR* folder = opendir("/dev/shm");
  if (folder == nullptr) return;
  const std::string start = file_start().substr(1), own = used.substr(1);
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name.compare(0, start.size(), start) == 0 && name != own) sweep_file("/" + name);
  }
  closedir(folder);
}

// Opens, locks and checks that nobody removed the file between the two.
bool open_locked(State& state) {
  const std::string name = file_name();
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int fd = open_own(name, true, &state.file);
    if (fd < 0) return false;
    struct stat info {};
    if (flock(fd, LOCK_EX) == 0 && fstat(fd, &info) == 0 && info.st_nlink > 0) {
      if (info.st_size < static_cast<off_t>(sizeof(Table)) && ftruncate(fd, sizeof(Table)) != 0) {
        close(fd);
        return false;
      }
      state.fd = fd;
      return true;
    }
    close(fd);
  }
  return false;
}

void start_private(State& state) {
  state.private_table = true;
  state.table = static_cast<Table*>(std::calloc(1, sizeof(Table)));
}

// True with the file locked. Somebody may have removed it while it had no row of this process.
bool lock_mapped(State& state) {
  if (state.table == nullptr || state.private_table) return state.table != nullptr;
  struct stat info {};
  if (flock(state.fd, LOCK_EX) == 0 && fstat(state.fd, &info) == 0 && info.st_nlink > 0) return true;
  munmap(state.table, sizeof(Table));
  close(state.fd);
  state.table = nullptr;
  state.fd = -1;
  return false;
}

// Returns with the file locked.
Table& locked_table(State& state) {
  if (lock_mapped(state)) return *state.table;
  void* memory = MAP_FAILED;
  if (open_locked(state)) memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, state.fd, 0);
  if (memory == MAP_FAILED) {
    start_private(state);
  } else {
    state.table = static_cast<Table*>(memory);
  }
  Table& table = *state.table;
  if (table.magic != kMagic) {
    table.rows = kRows;
    table.cards = static_cast<uint32_t>(profile().cards);
    table.memory = profile().memory;
    std::snprintf(table.soc, sizeof table.soc, "%s", profile().chip.name);
    table.magic = kMagic;
    if (!state.private_table) sweep_others(state.file);
  }
  return table;
}

struct Locked {
  std::lock_guard<std::mutex> guard;
  Table& table;
  explicit Locked(State& state) : guard(state.mutex), table(locked_table(state)) {}
  ~Locked() {
    if (!state().private_table) flock(state().fd, LOCK_UN);
  }
};

void reclaim(Table& table) {
  for (Row& row : table.row)
    if (row.pid != 0 && row.pid != getpid() && !alive(row)) row = Row{};
}

Row* own_row(Table& table, int card) {
  Row* free_row = nullptr;
  for (Row& row : table.row) {
    if (row.pid == getpid() && row.card == card) return &row;
    if (row.pid == 0 && free_row == nullptr) free_row = &row;
  }
  if (free_row == nullptr) return nullptr;
  free_row->card = card;
  free_row->started = start_time(getpid());
  free_row->used = 0;
  if (FILE* file = std::fopen("/proc/self/comm", "re")) {
    if (std::fgets(free_row->name, sizeof free_row->name, file) != nullptr)
      free_row->name[std::strcspn(free_row->name, "\n")] = '\0';
    std::fclose(file);
  }
  free_row->pid = getpid();
  return free_row;
}

uint64_t sum(const Table& table, int card) {
  uint64_t total = 0;
  for (const Row& row : table.row)
    if (row.pid != 0 && row.card == card) total += row.used;
  return total;
}

// A child of fork starts with the parent's mapping and lock; it must have its own of both.
void forget_parent() {
  State& parent = state();
  new (&parent.mutex) std::mutex;
  if (parent.fd >= 0) close(parent.fd);
  if (parent.table != nullptr && !parent.private_table) munmap(parent.table, sizeof(Table));
  parent.fd = -1;
  parent.table = nullptr;
  parent.private_table = false;
}

__attribute__((constructor)) void watch_fork() { pthread_atfork(nullptr, nullptr, forget_parent); }
__attribute__((destructor)) void leave() { detach(); }

}  // namespace

void attach(int card) {
  Locked locked(state());
  reclaim(locked.table);
  own_row(locked.table, card);
}

bool take(int card, size_t bytes) {
  Locked locked(state());
  Row* row = own_row(locked.table, card);
  if (row == nullptr) return false;
  if (sum(locked.table, card) + bytes > profile().memory) {
    reclaim(locked.table);
    if (sum(locked.table, card) + bytes > profile().memory) return false;
  }
  row->used += bytes;
  return true;
}

void give(int card, size_t bytes) {
  Locked locked(state());
  Row* row = own_row(locked.table, card);
  if (row != nullptr) row->used -= bytes < row->used ? bytes : row->used;
}

size_t used(int card) {
  Locked locked(state());
  reclaim(locked.table);
  return sum(locked.table, card);
}

void detach() {
  State& mine = state();
  std::lock_guard<std::mutex> guard(mine.mutex);
  if (mine.table == nullptr || mine.private_table) return;
  flock(mine.fd, LOCK_EX);
  reclaim(*mine.table);
  bool empty = true;
  for (Row& row : mine.table->row) {
    if (row.pid == getpid()) row = Row{};
    if (row.pid != 0) empty = false;
  }
  if (empty) shm_unlink(mine.file.c_str());
  munmap(mine.table, sizeof(Table));
  close(mine.fd);
  mine.table = nullptr;
  mine.fd = -1;
}

}  // namespace jumar::ledger
