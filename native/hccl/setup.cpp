#include "hccl/setup.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "hccl/alone.h"
#include "hccl/meet.h"
#include "machine/process.h"

namespace jumar::hccl {
namespace {

constexpr auto kRetry = std::chrono::milliseconds(2);

std::string hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

uint64_t hash(const std::string& text) {
  uint64_t value = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char letter : text) value = (value ^ letter) * 0x100000001b3;
  return value;
}

void read_line(const char* path, char* out, size_t room) {
  if (FILE* file = std::fopen(path, "re")) {
    if (std::fgets(out, static_cast<int>(room), file) != nullptr) out[std::strcspn(out, "\n")] = '\0';
    std::fclose(file);
  }
}

int seconds(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return otherwise;
  char* end = nullptr;
  const long number = std::strtol(value, &end, 10);
  if (*end == '\0' && number >= 0 && number <= 2147483) return static_cast<int>(number);
  throw broken(Fault::kSetting,
               std::string(variable) + "=" + value + " is not a number of seconds from 0 to 2147483");
}

Broken too_late(const Settings& settings, const std::string& text) {
  const std::string limit = std::to_string(settings.connect_timeout) + " s (HCCL_CONNECT_TIMEOUT) ";
  return {Fault::kConnect, "jumar: HCCL: " + message(Fault::kConnect, "after " + limit + text)};
}

void check_numbers(uint32_t rank, uint32_t ranks) {
  if (ranks == 0 || ranks > kMaxRanks)
    throw broken(Fault::kArgument,
                 std::to_string(ranks) + " ranks: one emulated machine takes 1 to " + std::to_string(kMaxRanks));
  if (rank >= ranks)
    throw broken(Fault::kArgument, "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
}

std::shared_ptr<Comm> wait_for_all(std::shared_ptr<Comm> comm, const std::string& name) {
  try {
    comm->wait_for_all();
  } catch (const Broken&) {
    withdraw(name);
    throw;
  }
  withdraw(name);
  return comm;
}

}  // namespace

Settings settings_from(const void* config) {
  // The vendor's record starts with its own size; fields that a caller's version lacks are not read.
  struct Config {
    size_t size;
    char head[16];
    uint32_t buffer_size, deterministic;
    char name[128], udi[128];
    uint32_t expansion_mode, traffic_class, service_level, world_rank;
    uint64_t job;
    uint8_t zero_copy;
    int32_t exec_timeout;
  };
  Settings settings{"", seconds("HCCL_EXEC_TIMEOUT", 1836), seconds("HCCL_CONNECT_TIMEOUT", 120)};
  const auto* given = static_cast<const Config*>(config);
  if (given == nullptr) return settings;
  if (given->size >= offsetof(Config, udi)) settings.name.assign(given->name, strnlen(given->name, sizeof given->name));
  if (given->size >= sizeof(Config) && given->exec_timeout >= 0) settings.exec_timeout = given->exec_timeout;
  return settings;
}

RootInfo make_root() {
  RootInfo root{kMagic, getpid(), start_time(getpid()), 0, "", ""};
  if (getrandom(&root.id, sizeof root.id, 0) != sizeof root.id)
    throw broken(Fault::kSystem, "no random number for a root info");
  read_line("/proc/sys/kernel/random/boot_id", root.boot, sizeof root.boot);
  gethostname(root.host, sizeof root.host - 1);
  const int memory = make_memory();
  const bool offered = memory >= 0 && offer(hex(root.id), memory);
  const int reason = errno;
  if (memory >= 0) close(memory);
  if (!offered)
    throw broken(Fault::kMemory, std::string("no shared memory for a communicator: ") + std::strerror(reason));
  return root;
}

std::shared_ptr<Comm> join_root(const RootInfo& root, uint32_t ranks, uint32_t rank, Settings settings) {
  if (is_alone()) return stay_alone(root.id, ranks, rank, std::move(settings));
  check_numbers(rank, ranks);
  if (root.magic != kMagic) throw broken(Fault::kArgument, "this root info was not made by HcclGetRootInfo");
  char boot[sizeof root.boot] = "";
  read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  if (std::strncmp(boot, root.boot, sizeof boot) != 0)
    throw broken(Fault::kOtherMachine, std::string("the communicator was opened on another machine, `") + root.host +
                                           "`: emulated cards of several machines cannot be joined");
  const auto comm = std::make_shared<Comm>(root.id, rank, ranks, std::move(settings));
  const Clock::time_point until = Clock::now() + std::chrono::seconds(comm->settings.connect_timeout);
  int memory = -1;
  while ((memory = take(hex(root.id))) < 0) {
    const std::string opener = "pid " + std::to_string(root.pid) + ", which opened the communicator,";
    if (process_state(root.pid, root.started) == '\0') throw broken(Fault::kMissing, opener + " is dead");
    if (Clock::now() > until) throw too_late(comm->settings, opener + " does not answer");
    std::this_thread::sleep_for(kRetry);
  }
  bool entered = false;
  try {
    entered = comm->enter(memory);
  } catch (const Broken&) {
    close(memory);
    withdraw(hex(root.id));
    throw;
  }
  close(memory);
  if (!entered) throw broken(Fault::kArgument, "rank " + std::to_string(rank) + " is in the communicator already");
  return wait_for_all(comm, hex(root.id));
}

std::shared_ptr<Comm> join_named(const std::string& key, uint32_t ranks, uint32_t rank, Settings settings) {
  if (is_alone()) return stay_alone(hash(key), ranks, rank, std::move(settings));
  check_numbers(rank, ranks);
  const std::string name = hex(hash(key));
  const Clock::time_point until = Clock::now() + std::chrono::seconds(settings.connect_timeout);
  for (;; std::this_thread::sleep_for(kRetry)) {
    const int memory = rank == 0 ? make_memory() : take(name);
    if (memory >= 0 && (rank != 0 || offer(name, memory))) {
      const auto comm = std::make_shared<Comm>(hash(key), rank, ranks, settings);
      const bool entered = comm->enter(memory);
      close(memory);
      if (entered) return wait_for_all(comm, name);
      // An older meeting of the same name that is just breaking up: the next one is ours.
    } else if (memory >= 0) {
      close(memory);
    }
    if (Clock::now() > until)
      throw too_late(settings, rank == 0 ? "another job still uses this rank table or group" : "rank 0 has not come");
  }
}

std::vector<std::shared_ptr<Comm>> make_all(uint32_t ranks) {
  check_numbers(0, ranks);
  const int memory = make_memory();
  if (memory < 0) throw broken(Fault::kMemory, "no shared memory for a communicator");
  uint64_t id = 0;
  if (getrandom(&id, sizeof id, 0) != sizeof id) id = static_cast<uint64_t>(getpid());
  std::vector<std::shared_ptr<Comm>> comms;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    comms.push_back(std::make_shared<Comm>(id, rank, ranks, settings_from(nullptr)));
    comms.back()->enter(memory);
  }
  close(memory);
  return comms;
}

}  // namespace jumar::hccl
