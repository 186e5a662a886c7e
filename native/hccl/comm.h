// A communicator: this process's place in it, and waiting for the other ranks without ever waiting for ever.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "acl/queue.h"
#include "hccl/fault.h"
#include "hccl/segment.h"

namespace jumar::hccl {

using Clock = std::chrono::steady_clock;

// Thrown inside a collective; the communicator is of no use afterwards, on any rank.
struct Broken {
  Fault fault;
  std::string text;
};

Broken broken(Fault fault, const std::string& text);  // with the vendor's number in front

// What is known about a rank that others wait for.
enum class Fate { kMayCome, kStopped, kDead, kLeft };

const char* words(Fate fate);  // "is dead"
inline bool is_gone(Fate fate) { return fate == Fate::kDead || fate == Fate::kLeft; }

struct Settings {
  std::string name;  // from the config; empty: made up
  int exec_timeout;  // seconds; 0: never
  int connect_timeout;
};

Settings settings_from(const void* config);  // HcclCommConfig; nullptr: only the environment

class Peer2Peer;

class Comm {
 public:
  Comm(uint64_t id, uint32_t rank, uint32_t ranks, Settings settings);
  ~Comm();

  // Takes its place in the shared memory. False: this rank sits there already.
  bool enter(int fd);
  void enter_alone();   // for a dry run: nobody else comes
  void wait_for_all();  // throws Broken
  void leave();

  // One step of a collective: returns when all ranks have come to it.
  void step(Kind kind);
  uint64_t steps() const { return steps_; }

  // Queues `body` on the stream; it runs when all collectives called before on this communicator are done, too,
  // whatever their streams.
  static void submit(const std::shared_ptr<Comm>& comm, Queue& queue, std::function<void(Comm&)> body);
  // The same on the calling thread, for a collective inside an operator: done when the call returns.
  static Failure run(const std::shared_ptr<Comm>& comm, const std::function<void(Comm&)>& body);
  // Gives what is under way a moment to end, then breaks it.
  void finish();

  // Breaks the communicator for all ranks, unless somebody did before; what to throw.
  Broken break_with(Fault fault, const std::string& text);
  void check_whole();  // throws Broken
  Fault fault(std::string* text);  // kNone, or what broke it and the words for it

  std::string describe(uint32_t rank);            // "rank 1 (RANK 3, pid 4711, card 3)"
  Fate fate(uint32_t rank);
  bool is_late(Clock::time_point since) const;    // past HCCL_EXEC_TIMEOUT
  // Tells the user where this rank waits, when it has done so for long enough; true when it did.
  bool notice(Clock::time_point since, bool stopped, const std::string& where);
  Peer2Peer& peers();

  const uint64_t id;
  const uint32_t rank, ranks;
  const Settings settings;
  const std::string name;
  const int32_t owner;  // pid; a child of fork has no part in it
  Segment memory;
  uint64_t calls = 0;  // collectives so far
  bool alone = false;  // no peers: see alone.h

 private:
  void wait_for_generation(uint32_t before, Kind kind);
  void look_for_missing(Kind kind, Clock::time_point since, bool* told);

  uint64_t steps_ = 0;
  std::atomic<bool> noticed_{false};
  Failure in_turn(uint64_t ticket, const std::function<void(Comm&)>& body);

  std::mutex submit_mutex_;
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::atomic<uint64_t> tickets_{0};
  uint64_t turn_ = 0;
  std::mutex peers_mutex_;
  std::unique_ptr<Peer2Peer> peers_;
};

Failure as_failure(const Broken& broken);

// The communicator of a handle; nullptr after an error was noted.
std::shared_ptr<Comm> find_comm(const char* function, void* handle);
// By its name, as operators know it; with several of this process, the one of the current device.
std::shared_ptr<Comm> find_named(const char* function, const char* name);

}  // namespace jumar::hccl
