#include "hccl/peer2peer.h"

#include <algorithm>
#include <cstring>

#include "hccl/futex.h"

namespace jumar::hccl {
namespace {

struct Head {
  uint64_t count;
  int32_t type;
  int32_t reserved;
};

std::string amount(uint64_t count, int32_t type) { return std::to_string(count) + " " + type_name(type); }

void copy_to_ring(char* ring, uint64_t at, const char* from, size_t size) {
  const size_t offset = at % kRing, first = std::min(size, kRing - offset);
  std::memcpy(ring + offset, from, first);
  std::memcpy(ring, from + first, size - first);
}

void copy_from_ring(const char* ring, uint64_t at, char* to, size_t size) {
  const size_t offset = at % kRing, first = std::min(size, kRing - offset);
  std::memcpy(to, ring + offset, first);
  std::memcpy(to + first, ring, size - first);
}

}  // namespace

Peer2Peer::~Peer2Peer() {
  {
    std::lock_guard<std::mutex> guard(mutex_);
    ending_ = true;
  }
  ring(comm_.rank);
  if (thread_.joinable()) thread_.join();
}

void Peer2Peer::ring(uint32_t rank) {
  Bell& bell = comm_.memory.slot(rank).bell;
  bell.value.fetch_add(1);
  if (bell.sleepers != 0) wake(bell.value);
}

void Peer2Peer::post(const std::vector<std::shared_ptr<Transfer>>& transfers) {
  {
    std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& transfer : transfers) {
      transfer->since = Clock::now();
      lines_[{transfer->peer, transfer->send}].push_back(transfer);
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  ring(comm_.rank);
}

void Peer2Peer::wait(const std::vector<std::shared_ptr<Transfer>>& transfers) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] {
    return broken_ != nullptr ||
           std::all_of(transfers.begin(), transfers.end(), [](const auto& transfer) { return transfer->done; });
  });
  if (broken_ != nullptr) throw *broken_;
}

void Peer2Peer::serve() {
  Bell& bell = comm_.memory.slot(comm_.rank).bell;
  std::vector<std::shared_ptr<Transfer>> heads;
  try {
    for (;;) {
      const uint32_t seen = bell.value.load();
      heads.clear();
      {
        std::lock_guard<std::mutex> guard(mutex_);
        if (ending_) return;
        for (auto& [line, waiting] : lines_)
          if (!waiting.empty()) heads.push_back(waiting.front());
      }
      if (move(heads) || spin(bell.value, seen)) continue;
      bell.sleepers.fetch_add(1);
      sleep_on(bell.value, seen, heads.empty() ? 10000 : 20);
      bell.sleepers.fetch_sub(1);
      if (!heads.empty()) look_for_missing(heads);
    }
  } catch (const Broken& broken) {
    std::lock_guard<std::mutex> guard(mutex_);
    broken_ = std::make_unique<Broken>(broken);
    changed_.notify_all();
  }
}

// Moves what can be moved now; false when there was nothing.
bool Peer2Peer::move(std::vector<std::shared_ptr<Transfer>>& heads) {
  bool moved = false;
  for (const auto& head : heads) {
    if (!(head->send ? push(*head) : pull(*head))) continue;
    moved = true;
    ring(head->peer);
    if (!head->announced || head->moved < head->bytes) continue;
    std::lock_guard<std::mutex> guard(mutex_);
    lines_[{head->peer, head->send}].pop_front();
    head->done = true;
    changed_.notify_all();
  }
  return moved;
}

bool Peer2Peer::push(Transfer& transfer) {
  Pipe& pipe = comm_.memory.pipe(comm_.rank, transfer.peer);
  char* ring = comm_.memory.ring(comm_.rank, transfer.peer);
  uint64_t at = pipe.written.load(std::memory_order_relaxed);
  const uint64_t before = at, limit = pipe.read.load(std::memory_order_acquire) + kRing;
  if (!transfer.announced) {
    if (limit - at < sizeof(Head)) return false;
    const Head head{transfer.count, transfer.type, 0};
    copy_to_ring(ring, at, reinterpret_cast<const char*>(&head), sizeof head);
    at += sizeof head;
    transfer.announced = true;
  }
  const size_t size = std::min<uint64_t>(limit - at, transfer.bytes - transfer.moved);
  if (size > 0) copy_to_ring(ring, at, transfer.data + transfer.moved, size);
  transfer.moved += size;
  pipe.written.store(at + size, std::memory_order_release);
  return at + size != before;
}

bool Peer2Peer::pull(Transfer& transfer) {
  Pipe& pipe = comm_.memory.pipe(transfer.peer, comm_.rank);
  const char* ring = comm_.memory.ring(transfer.peer, comm_.rank);
  uint64_t at = pipe.read.load(std::memory_order_relaxed);
  const uint64_t before = at, limit = pipe.written.load(std::memory_order_acquire);
  if (!transfer.announced) {
    if (limit - at < sizeof(Head)) return false;
    Head head;
    copy_from_ring(ring, at, reinterpret_cast<char*>(&head), sizeof head);
    at += sizeof head;
    transfer.announced = true;
    if (head.count != transfer.count || head.type != transfer.type)
      throw comm_.break_with(Fault::kMismatch, comm_.describe(transfer.peer) + " sends " + amount(head.count, head.type) +
                                                   ", " + comm_.describe(comm_.rank) + " receives " +
                                                   amount(transfer.count, transfer.type));
  }
  const size_t size = std::min<uint64_t>(limit - at, transfer.bytes - transfer.moved);
  if (size > 0) copy_from_ring(ring, at, transfer.data + transfer.moved, size);
  transfer.moved += size;
  pipe.read.store(at + size, std::memory_order_release);
  return at + size != before;
}

void Peer2Peer::look_for_missing(const std::vector<std::shared_ptr<Transfer>>& heads) {
  comm_.check_whole();
  for (const auto& head : heads) {
    const std::string call = std::string(head->send ? "Send to " : "Recv from ") + comm_.describe(head->peer);
    const Fate fate = comm_.fate(head->peer);
    const bool may_come = fate == Fate::kMayCome;
    // What a rank wrote before it ended can still be read.
    const Pipe& pipe = comm_.memory.pipe(head->peer, comm_.rank);
    if (!head->send && pipe.written != pipe.read) continue;
    const std::string end = words(fate);
    if (is_gone(fate)) throw comm_.break_with(Fault::kPeerLost, call + " cannot end, it " + end);
    if (comm_.is_late(head->since))
      throw comm_.break_with(Fault::kTimeout, call + " timed out after " + std::to_string(comm_.settings.exec_timeout) +
                                                  " s (HCCL_EXEC_TIMEOUT)" + (may_come ? "" : ", it " + end));
    if (!head->told)
      head->told = comm_.notice(head->since, !may_come, "in " + call + (may_come ? "" : ", which " + end));
  }
}

}  // namespace jumar::hccl
