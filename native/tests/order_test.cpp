// What ranks hand to each other is ordered by atomics alone. Here the ranks are threads with one mapping of the shared
// memory, so that the thread sanitizer, which follows addresses, sees both sides: an order that only x86 keeps is a race.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
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

std::mutex mapped_mutex;
std::map<ino_t, void*> mapped;  // the first mapping of each memory file

}  // namespace

// Take the place of the C library's for the stand-ins: every rank gets the first one's mapping.
extern "C" void* mmap(void* wish, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  const auto map = [&] { return reinterpret_cast<void*>(syscall(SYS_mmap, wish, size, protection, flags, fd, offset)); };
  struct stat info {};
  if ((flags & MAP_SHARED) == 0 || fd < 0 || fstat(fd, &info) != 0) return map();
  std::lock_guard<std::mutex> guard(mapped_mutex);
  void*& known = mapped[info.st_ino];
  return known != nullptr ? known : known = map();
}

extern "C" int munmap(void* memory, size_t size) noexcept {
  std::lock_guard<std::mutex> guard(mapped_mutex);
  for (const auto& [file, known] : mapped)
    if (known == memory) return 0;
  return static_cast<int>(syscall(SYS_munmap, memory, size));
}

namespace {

struct Rank {
  uint32_t number;
  void *comm = nullptr, *stream = nullptr;

  void finish() const { CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS); }
};

int64_t number(uint32_t rank, int round, size_t place) { return rank * 1000003 + round * 1009 + static_cast<int64_t>(place); }

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
  return 0;
}
