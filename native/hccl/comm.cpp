#include "hccl/comm.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acl/context.h"
#include "hccl/futex.h"
#include "hccl/peer2peer.h"
#include "machine/error.h"
#include "machine/process.h"

namespace jumar::hccl {
namespace {

constexpr long kSlice = 20;  // milliseconds between looks at the others' health
constexpr std::chrono::seconds kGrace(5);  // for what is under way when a communicator is destroyed
constexpr int kNotice = 30;      // seconds of waiting after which the user is told for whom
constexpr int kFirstNotice = 5;  // the same for the first time: torch's own time limit, which ends the process, may be short

int world_rank() {
  for (const char* variable : {"RANK", "RANK_ID"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return std::atoi(value);
  return -1;
}

std::string made_up_name(uint64_t id) {
  char text[64];
  std::snprintf(text, sizeof text, "jumar_hccl_%016llx", static_cast<unsigned long long>(id));
  return text;
}

// The ranks that have not come to a step; whether one of them is stopped.
std::string list_missing(Comm& comm, uint64_t step, bool* stopped) {
  std::string text;
  for (uint32_t rank = 0; rank < comm.ranks; ++rank) {
    if (comm.memory.slot(rank).step >= step) continue;
    const Fate fate = comm.fate(rank);
    *stopped |= fate == Fate::kStopped;
    text += (text.empty() ? "" : ", ") + comm.describe(rank);
    if (fate != Fate::kMayCome) text += std::string(", which ") + words(fate);
  }
  return text.empty() ? "a rank" : text;
}

}  // namespace

Comm::Comm(uint64_t id, uint32_t rank, uint32_t ranks, Settings chosen)
    : id(id),
      rank(rank),
      ranks(ranks),
      settings(std::move(chosen)),
      name(settings.name.empty() ? made_up_name(id) : settings.name),
      owner(getpid()) {}

Comm::~Comm() = default;

bool Comm::enter(int fd) {
  if (!memory.map(fd, ranks))
    throw broken(Fault::kMemory, std::string("no shared memory for the communicator: ") + std::strerror(errno));
  uint32_t others = 0;
  if (!memory.header().ranks.compare_exchange_strong(others, ranks) && others != ranks)
    throw break_with(Fault::kMismatch, "rank " + std::to_string(rank) + " says the communicator has " +
                                           std::to_string(ranks) + " ranks, others say " + std::to_string(others));
  memory.header().magic = kMagic;
  Slot& slot = memory.slot(rank);
  uint32_t empty = kEmpty;
  if (!slot.state.compare_exchange_strong(empty, kTaken)) return false;
  slot.pid = getpid();
  slot.started = start_time(getpid());
  slot.card = current_device() >= 0 ? card_of(current_device()) : -1;
  slot.world_rank = world_rank();
  slot.state = kPresent;
  memory.header().present.fetch_add(1);
  wake(memory.header().present);
  return true;
}

void Comm::enter_alone() {
  if (!memory.map_alone(ranks))
    throw broken(Fault::kMemory, std::string("no memory for the communicator: ") + std::strerror(errno));
  alone = true;
  memory.slot(rank).card = current_device() >= 0 ? card_of(current_device()) : -1;
  memory.slot(rank).state = kPresent;
}

void Comm::wait_for_all() {
  const Clock::time_point since = Clock::now();
  auto& present = memory.header().present;
  for (uint32_t seen = present; seen < ranks; seen = present) {
    check_whole();
    std::string missing;
    for (uint32_t other = 0; other < ranks; ++other) {
      const Fate end = fate(other);
      if (is_gone(end)) throw break_with(Fault::kMissing, describe(other) + " " + words(end));
      if (memory.slot(other).state == kEmpty) missing += (missing.empty() ? "" : ", ") + std::to_string(other);
    }
    if (Clock::now() - since > std::chrono::seconds(settings.connect_timeout))
      throw break_with(Fault::kConnect, "after " + std::to_string(settings.connect_timeout) +
                                            " s (HCCL_CONNECT_TIMEOUT) these ranks of " + std::to_string(ranks) +
                                            " have not come: " + missing);
    sleep_on(present, seen, kSlice);
  }
  check_whole();
}

void Comm::leave() {
  if (owner != getpid()) return;
  memory.slot(rank).state = kLeft;
  wake(memory.header().generation);
}

std::string Comm::describe(uint32_t other) {
  const Slot& slot = memory.slot(other);
  std::string text = "rank " + std::to_string(other) + " (";
  if (slot.world_rank >= 0) text += "RANK " + std::to_string(slot.world_rank) + ", ";
  return text + "pid " + std::to_string(slot.pid) + ", card " + std::to_string(slot.card) + ")";
}

Fate Comm::fate(uint32_t other) {
  const Slot& slot = memory.slot(other);
  const uint32_t state = slot.state;
  if (state == kLeft) return Fate::kLeft;
  if (state != kPresent) return Fate::kMayCome;
  const char letter = process_state(slot.pid, slot.started);
  if (letter == '\0') return Fate::kDead;
  return letter == 'T' || letter == 't' ? Fate::kStopped : Fate::kMayCome;
}

bool Comm::is_late(Clock::time_point since) const {
  return settings.exec_timeout > 0 && Clock::now() - since > std::chrono::seconds(settings.exec_timeout);
}

void Comm::step(Kind kind) {
  Header& header = memory.header();
  Slot& own = memory.slot(rank);
  own.kind = static_cast<uint32_t>(kind);
  own.step = ++steps_;
  const uint32_t before = header.generation;
  if (header.arrived.fetch_add(1) + 1 == ranks) {
    header.arrived = 0;
    header.generation.fetch_add(1);
    if (header.sleepers != 0) wake(header.generation);
  } else {
    wait_for_generation(before, kind);
  }
  if (header.broken != kWhole) check_whole();
}

void Comm::wait_for_generation(uint32_t before, Kind kind) {
  Header& header = memory.header();
  if (spin(header.generation, before)) return;
  const Clock::time_point since = Clock::now();
  bool told = false;
  while (header.generation.load() == before) {
    header.sleepers.fetch_add(1);
    sleep_on(header.generation, before, kSlice);
    header.sleepers.fetch_sub(1);
    if (header.generation.load() != before) return;
    if (Clock::now() - since < std::chrono::milliseconds(kSlice)) continue;
    check_whole();
    look_for_missing(kind, since, &told);
  }
}

// The others are late: dead, gone, stopped or busy.
void Comm::look_for_missing(Kind kind, Clock::time_point since, bool* told) {
  const std::string call = std::string(kind_name(kind)) + " on `" + name + "`";
  for (uint32_t other = 0; other < ranks; ++other) {
    if (memory.slot(other).step >= steps_) continue;
    const Fate end = fate(other);
    if (is_gone(end)) throw break_with(Fault::kPeerLost, describe(other) + " " + words(end) + ", " + call + " cannot end");
  }
  const bool late = is_late(since);
  if (*told && !late) return;
  bool stopped = false;
  const std::string missing = list_missing(*this, steps_, &stopped);
  if (late)
    throw break_with(Fault::kTimeout, call + " timed out after " + std::to_string(settings.exec_timeout) +
                                          " s (HCCL_EXEC_TIMEOUT) waiting for " + missing);
  *told = notice(since, stopped, "in " + call + " for " + missing);
}

bool Comm::notice(Clock::time_point since, bool stopped, const std::string& where) {
  const int late = noticed_ ? kNotice : kFirstNotice;
  if (Clock::now() - since < std::chrono::seconds(stopped ? 1 : late)) return false;
  noticed_ = true;
  std::fprintf(stderr, "jumar: HCCL: rank %u has waited %s\n", rank, where.c_str());
  return true;
}

void Comm::submit(const std::shared_ptr<Comm>& comm, Queue& queue, std::function<void(Comm&)> body) {
  std::lock_guard<std::mutex> guard(comm->submit_mutex_);
  const uint64_t ticket = comm->tickets_++;
  queue.submit({[comm, ticket, body = std::move(body)] { return comm->in_turn(ticket, body); }, nullptr, {}});
}

Failure Comm::run(const std::shared_ptr<Comm>& comm, const std::function<void(Comm&)>& body) {
  uint64_t ticket;
  {
    std::lock_guard<std::mutex> guard(comm->submit_mutex_);
    ticket = comm->tickets_++;
  }
  return comm->in_turn(ticket, body);
}

Failure Comm::in_turn(uint64_t ticket, const std::function<void(Comm&)>& body) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    turn_changed_.wait(lock, [&] { return turn_ == ticket; });
  }
  Failure failure;
  try {
    check_whole();
    body(*this);
  } catch (const Broken& broken) {
    failure = as_failure(broken);
  }
  std::lock_guard<std::mutex> guard(mutex_);
  ++turn_;
  turn_changed_.notify_all();
  return failure;
}

void Comm::finish() {
  if (owner != getpid()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  if (turn_changed_.wait_for(lock, kGrace, [this] { return turn_ == tickets_; })) return;
  lock.unlock();
  break_with(Fault::kInternal, describe(rank) + " destroyed the communicator `" + name + "` before its work was done");
}

Broken broken(Fault fault, const std::string& text) { return {fault, message(fault, text)}; }

const char* words(Fate fate) {
  switch (fate) {
    case Fate::kMayCome: return "may come";
    case Fate::kStopped: return "is stopped";
    case Fate::kDead: return "is dead";
    case Fate::kLeft: return "has left the communicator";
  }
  return "";
}

Failure as_failure(const Broken& broken) {
  return {code_of(broken.fault) == HCCL_E_PARA ? ACL_ERROR_RT_INTERNAL_ERROR : ACL_ERROR_RT_FFTS_PLUS_TIMEOUT, broken.text};
}

Broken Comm::break_with(Fault fault, const std::string& text) {
  Header& header = memory.header();
  uint32_t whole = kWhole;
  if (header.broken.compare_exchange_strong(whole, kBreaking)) {
    header.fault = fault;
    std::snprintf(header.reason, sizeof header.reason, "jumar: HCCL: %s", message(fault, text).c_str());
    header.broken = kBroken;
    std::fprintf(stderr, "%s\n", header.reason);
  }
  wake(header.generation);
  wake(header.present);
  for (uint32_t other = 0; other < ranks; ++other) {
    memory.slot(other).bell.value.fetch_add(1);
    wake(memory.slot(other).bell.value);
  }
  std::string reason;
  const Fault known = this->fault(&reason);
  return {known, reason};
}

void Comm::check_whole() {
  std::string text;
  if (const Fault found = fault(&text); found != Fault::kNone) throw Broken{found, text};
}

Fault Comm::fault(std::string* text) {
  Header& header = memory.header();
  if (header.broken == kWhole) return Fault::kNone;
  // Whoever breaks it is writing the reason; it may be killed while doing so.
  for (int turn = 0; header.broken == kBreaking && turn < 100; ++turn) usleep(1000);
  if (header.broken != kBroken) {
    *text = "jumar: HCCL: the communicator `" + name + "` is broken";
    return Fault::kInternal;
  }
  *text = header.reason;
  return header.fault;
}

Peer2Peer& Comm::peers() {
  std::lock_guard<std::mutex> guard(peers_mutex_);
  if (peers_ == nullptr) peers_ = std::make_unique<Peer2Peer>(*this);
  return *peers_;
}

}  // namespace jumar::hccl
