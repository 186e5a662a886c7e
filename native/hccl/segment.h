// The memory that the ranks of one communicator share: who they are, what they call, and room for the data on its way.
//
// It has no name in the file system (memfd), so nothing can be left behind; meet.h hands it from rank to rank.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hccl/fault.h"
#include "hccl/types.h"

namespace jumar::hccl {

constexpr uint32_t kMagic = 0x4a4d4831;  // "JMH1"
constexpr uint32_t kMaxRanks = 256;
constexpr size_t kStage = 4 << 20;  // bytes of a rank's data that are on their way at once: fewer meetings, more memory
constexpr size_t kRing = 1 << 18;   // the same for each pair of ranks in Send and Recv

// One collective call of one rank; the ranks compare them.
struct Call {
  Kind kind;
  int32_t type, op;
  uint32_t root;
  uint64_t count;
  uint64_t number;  // of the call on this communicator
};

// Words that different ranks write lie so far apart: 64 bytes are a line of x86, the last cache of a Kunpeng 920 has 128.
constexpr size_t kApart = 128;

struct alignas(kApart) Bell {
  std::atomic<uint32_t> value;
  std::atomic<uint32_t> sleepers;
};

enum SlotState : uint32_t { kEmpty, kTaken, kPresent, kLeft };

struct alignas(kApart) Slot {
  std::atomic<uint32_t> state;
  int32_t pid;
  uint64_t started;
  int32_t card;
  int32_t world_rank;  // RANK of the process; -1: not set
  std::atomic<uint64_t> step;  // steps this rank has come to
  std::atomic<uint32_t> kind;  // of the call it is in, for messages
  Call call[2];
  Bell bell;  // rung when something changed for a Send or Recv of this rank
};

struct Pipe {
  alignas(kApart) std::atomic<uint64_t> written;
  alignas(kApart) std::atomic<uint64_t> read;
};

enum BreakState : uint32_t { kWhole, kBreaking, kBroken };

struct Header {
  std::atomic<uint32_t> magic;
  std::atomic<uint32_t> ranks;
  std::atomic<uint32_t> present;
  alignas(kApart) std::atomic<uint32_t> arrived;
  alignas(kApart) std::atomic<uint32_t> generation;  // steps all ranks have come to
  std::atomic<uint32_t> sleepers;
  alignas(kApart) std::atomic<uint32_t> broken;
  Fault fault;
  char reason[768];
};

class Segment {
 public:
  Segment() = default;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  bool map(int fd, uint32_t ranks);  // false: errno says why
  bool map_alone(uint32_t ranks);    // the same without room for data

  Header& header() { return *reinterpret_cast<Header*>(base_); }
  Slot& slot(uint32_t rank) { return reinterpret_cast<Slot*>(base_ + kHeaderRoom)[rank]; }
  Pipe& pipe(uint32_t from, uint32_t to) { return pipes_[from * ranks_ + to]; }
  char* ring(uint32_t from, uint32_t to) { return rings_ + (static_cast<size_t>(from) * ranks_ + to) * kRing; }
  // What a rank brings to a step, and what it made of the step before; both exist twice.
  char* input(uint32_t rank, uint64_t step) { return stages_ + (rank * 4 + (step & 1)) * kStage; }
  char* output(uint32_t rank, uint64_t step) { return stages_ + (rank * 4 + 2 + (step & 1)) * kStage; }

 private:
  static constexpr size_t kHeaderRoom = 4096;
  char* base_ = nullptr;
  size_t bytes_ = 0;
  uint32_t ranks_ = 0;
  Pipe* pipes_ = nullptr;
  char* stages_ = nullptr;
  char* rings_ = nullptr;
};

}  // namespace jumar::hccl
