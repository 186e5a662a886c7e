// What ranks hand to each other is ordered by atomics alone. Here the ranks are threads with one mapping of the shared
// memory, so that the thread sanitizer, which follows addresses, sees both sides: an order that only x86 keeps is a
// race.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

namespace {

constexpr uint32_t kRanks = 4;
constexpr int32_t kInt64 = 5;

struct Mapped {
  ino_t file;
  void* memory;
};

// The first mapping of each memory file, and how often one was handed out again.
std::mutex mutex;
Mapped mapped[8];
std::atomic<int> files{0};
uint32_t again = 0;

__attribute__((noinline)) void* map_once(size_t size, int protection, int flags, int fd) {
  struct stat info {};
  CHECK(fstat(fd, &info) == 0);
  std::lock_guard<std::mutex> guard(mutex);
  for (int at = 0; at < files; ++at) {
    if (mapped[at].file != info.st_ino) continue;
    ++again;
    return mapped[at].memory;
  }
  CHECK(files < 8);
  void* memory = reinterpret_cast<void*>(syscall(SYS_mmap, nullptr, size, protection, flags, fd, 0));
  mapped[files] = {info.st_ino, memory};
  ++files;
  return memory;
}

__attribute__((noinline)) bool find_shared(const void* memory) {
  std::lock_guard<std::mutex> guard(mutex);
  for (int at = 0; at < files; ++at)
    if (mapped[at].memory == memory) return true;
  return false;
}

__attribute__((no_sanitize("thread"))) bool is_shared(const void* memory) {
  return __atomic_load_n(reinterpret_cast<int*>(&files), __ATOMIC_RELAXED) > 0 && find_shared(memory);
}

}  // namespace

// Take the place of the C library's for the stand-ins: every rank gets the first one's mapping. The sanitizer itself
// calls them before it is ready: what is not shared goes straight to the kernel.
#define EARLY extern "C" __attribute__((visibility("default"), no_sanitize("thread")))

EARLY void* mmap(void* wish, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  if ((flags & MAP_SHARED) == 0 || fd < 0)
    return reinterpret_cast<void*>(syscall(SYS_mmap, wish, size, protection, flags, fd, offset));
  return map_once(size, protection, flags, fd);
}

EARLY int munmap(void* memory, size_t size) noexcept {
  return is_shared(memory) ? 0 : static_cast<int>(syscall(SYS_munmap, memory, size));
}

namespace {

struct Rank {
  uint32_t number;
  void *comm = nullptr, *stream = nullptr;

  void finish() const { CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS); }
};

int64_t number(uint32_t rank, int round, size_t place) {
  return rank * 1000003 + round * 1009 + static_cast<int64_t>(place);
}

// One meeting up to 16 KB, two for each piece of a stage above; both stages of a rank are written again and again.
void reduce(const Rank& rank, int round, size_t count) {
  std::vector<int64_t> data(count);
  for (size_t place = 0; place < count; ++place) data[place] = number(rank.number, round, place);
  CHECK(HcclAllReduce(data.data(), data.data(), count, kInt64, 0, rank.comm, rank.stream) == HCCL_SUCCESS);
  rank.finish();
  for (size_t place = 0; place < count; ++place) {
    int64_t expected = 0;
    for (uint32_t other = 0; other < kRanks; ++other) expected += number(other, round, place);
    CHECK(data[place] == expected);
  }
}

// More than the ring of a pair holds, in both directions at once: it wraps, and each side waits for the other's room.
void pass_on(const Rank& rank, int round, size_t count) {
  const uint32_t to = (rank.number + 1) % kRanks, from = (rank.number + kRanks - 1) % kRanks;
  std::vector<int64_t> sent(count), received(count);
  for (size_t place = 0; place < count; ++place) sent[place] = number(rank.number, round, place);
  CHECK(HcclSend(sent.data(), count, kInt64, to, rank.comm, rank.stream) == HCCL_SUCCESS);
  CHECK(HcclRecv(received.data(), count, kInt64, from, rank.comm, rank.stream) == HCCL_SUCCESS);
  rank.finish();
  for (size_t place = 0; place < count; ++place) CHECK(received[place] == number(from, round, place));
}

// The words for it are written by one rank and read by all.
void disagree(const Rank& rank) {
  int64_t data = 0;
  CHECK(HcclBroadcast(&data, 1, kInt64, rank.number == 0 ? 0 : 1, rank.comm, rank.stream) == HCCL_SUCCESS);
  CHECK(aclrtSynchronizeStream(rank.stream) != ACL_SUCCESS);
  int32_t error = HCCL_SUCCESS;
  CHECK(HcclGetCommAsyncError(rank.comm, &error) == HCCL_SUCCESS && error == HCCL_E_PARA);
}

void run(uint32_t number, const char* root, int rounds) {
  Rank rank{number};
  CHECK(aclrtSetDevice(static_cast<int32_t>(number)) == ACL_SUCCESS);
  CHECK(aclrtCreateStream(&rank.stream) == ACL_SUCCESS);
  CHECK(HcclCommInitRootInfo(kRanks, root, number, &rank.comm) == HCCL_SUCCESS);
  for (int round = 0; round < rounds; ++round) {
    reduce(rank, round, 1 + round % 64);
    if (round % 25 == 0) reduce(rank, round, (5 << 20) / sizeof(int64_t) + 1);
    pass_on(rank, round, round % 10 == 0 ? (1 << 20) / sizeof(int64_t) + 3 : 7);
  }
  disagree(rank);
  CHECK(HcclCommDestroy(rank.comm) == HCCL_SUCCESS);
  CHECK(aclrtDestroyStream(rank.stream) == ACL_SUCCESS);
}

}  // namespace

// The number of rounds may be given: more of them are a stress test.
int main(int count, char** arguments) {
  setenv("JUMAR_MACHINE", "order-test", 1);
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 100;
  CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  alignas(8) char root[4108];
  CHECK(HcclGetRootInfo(root) == HCCL_SUCCESS);
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < kRanks; ++rank) ranks.emplace_back(run, rank, root, rounds);
  for (std::thread& rank : ranks) rank.join();
  CHECK(again >= kRanks - 1);  // otherwise the sanitizer saw nothing
  return 0;
}
