// Communicators and collectives between processes: every data type and reduction, sizes around a stage, transfers in a
// circle, sub-communicators, rank tables, and what happens when ranks disagree or die.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

namespace {

constexpr uint32_t kRanks = 3;
constexpr size_t kRootBytes = 4108;

void* stream = nullptr;

void begin(uint32_t rank) {
  CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(static_cast<int32_t>(rank)) == ACL_SUCCESS);
  CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
}

void finish() { CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS); }

enum class Join { kPlain, kConfig, kScalable };

// The head of the vendor's HcclCommConfig, up to the name.
struct Config {
  size_t size = sizeof(Config);
  char head[16] = {};
  uint32_t buffer_size = 0, deterministic = 0;
  char name[128] = "by-hand";
  char udi[128] = {};
};

void* join(Join how, const char* root, uint32_t rank) {
  void* comm = nullptr;
  const Config config;
  int32_t code = HCCL_E_INTERNAL;
  if (how == Join::kPlain) code = HcclCommInitRootInfo(kRanks, root, rank, &comm);
  if (how == Join::kConfig) code = HcclCommInitRootInfoConfig(kRanks, root, rank, &config, &comm);
  if (how == Join::kScalable) code = HcclCommInitRootInfoScalable(kRanks, 1, root, rank, 0, &config, &comm);
  CHECK(code == HCCL_SUCCESS);
  return comm;
}

// Runs `body` as kRanks processes that share a root info; returns their exit codes.
template <class Body>
std::vector<int> on_ranks(Body body, Join how = Join::kPlain) {
  auto* root = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      begin(rank);
      auto* ready = reinterpret_cast<volatile char*>(root + kRootBytes);
      if (rank == 0) {
        CHECK((how == Join::kScalable ? HcclGetRootInfoScalable(root) : HcclGetRootInfo(root)) == HCCL_SUCCESS);
        __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
      }
      while (__atomic_load_n(ready, __ATOMIC_ACQUIRE) == 0) usleep(1000);
      void* comm = join(how, root, rank);
      body(rank, comm);
      CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
      CHECK(HcclCommDestroy(comm) == HCCL_E_PARA);
      std::exit(0);
    }
    children.push_back(child);
  }
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  munmap(root, 8192);
  return codes;
}

const std::vector<int> kFine(kRanks, 0);

template <class T>
void reduce_type(uint32_t rank, void* comm, int32_t type) {
  for (size_t count : {size_t{1}, size_t{1000}, (size_t{4} << 20) / sizeof(T) + 3}) {
    const T expected[] = {6, 6, 3, 1};  // of 1, 2, 3
    for (int32_t op = 0; op < 4; ++op) {
      std::vector<T> data(count, static_cast<T>(rank + 1));
      CHECK(HcclAllReduce(data.data(), data.data(), count, type, op, comm, stream) == HCCL_SUCCESS);
      finish();
      for (const T& value : data) CHECK(value == expected[op]);
    }
  }
}

// 1, 2, 3 and 6 as bit patterns of a half type.
void reduce_half(uint32_t rank, void* comm, int32_t type, const uint16_t (&numbers)[4]) {
  std::vector<uint16_t> data(20000, numbers[rank]);
  CHECK(HcclAllReduce(data.data(), data.data(), data.size(), type, 0, comm, stream) == HCCL_SUCCESS);
  finish();
  for (const uint16_t value : data) CHECK(value == numbers[3]);
}

void test_types() {
  CHECK(on_ranks([](uint32_t rank, void* comm) {
          reduce_type<int8_t>(rank, comm, 0);
          reduce_type<int16_t>(rank, comm, 1);
          reduce_type<int32_t>(rank, comm, 2);
          reduce_type<float>(rank, comm, 4);
          reduce_type<int64_t>(rank, comm, 5);
          reduce_type<uint64_t>(rank, comm, 6);
          reduce_type<uint8_t>(rank, comm, 7);
          reduce_type<uint16_t>(rank, comm, 8);
          reduce_type<uint32_t>(rank, comm, 9);
          reduce_type<double>(rank, comm, 10);
          reduce_half(rank, comm, 3, {0x3c00, 0x4000, 0x4200, 0x4600});
          reduce_half(rank, comm, 11, {0x3f80, 0x4000, 0x4040, 0x40c0});
          float data = 0;
          CHECK(HcclAllReduce(&data, &data, 1, 15, 0, comm, stream) == HCCL_E_NOT_SUPPORT);
          CHECK(HcclAllReduce(&data, &data, 1, 4, 7, comm, stream) == HCCL_E_PARA);
          CHECK(HcclAllReduce(nullptr, &data, 1, 4, 0, comm, stream) == HCCL_E_PTR);
          CHECK(HcclBroadcast(&data, 1, 4, kRanks, comm, stream) == HCCL_E_PARA);
        }) == kFine);
}

void test_moves() {
  CHECK(on_ranks([](uint32_t rank, void* comm) {
          const size_t count = (1 << 20) + 5;
          std::vector<int32_t> one(count, static_cast<int32_t>(rank)), all(count * kRanks, -1);
          CHECK(HcclAllGather(one.data(), all.data(), count, 2, comm, stream) == HCCL_SUCCESS);
          finish();
          for (uint32_t from = 0; from < kRanks; ++from)
            CHECK(all[from * count] == static_cast<int32_t>(from) && all[(from + 1) * count - 1] == all[from * count]);
          CHECK(HcclReduceScatter(all.data(), one.data(), count, 2, 0, comm, stream) == HCCL_SUCCESS);
          finish();
          CHECK(one[0] == static_cast<int32_t>(rank * kRanks) && one[count - 1] == one[0]);
          CHECK(HcclScatter(all.data(), one.data(), count, 2, 1, comm, stream) == HCCL_SUCCESS);
          finish();
          CHECK(one[7] == static_cast<int32_t>(rank));
          CHECK(HcclReduce(one.data(), one.data(), count, 2, 2, 2, comm, stream) == HCCL_SUCCESS);
          finish();
          CHECK(one[count - 1] == static_cast<int32_t>(rank));
          // Row `from` of the matrix: what that rank sends to each.
          const uint64_t matrix[] = {1, 2, 3, 0, 1, 0, 2, 2, 2};
          std::vector<int16_t> sent(6, static_cast<int16_t>(rank)), got(6, -1);
          CHECK(HcclAlltoAllVC(sent.data(), matrix, 1, got.data(), 1, comm, stream) == HCCL_SUCCESS);
          CHECK(HcclBarrier(comm, stream) == HCCL_SUCCESS);
          finish();
          size_t at = 0;
          for (uint32_t from = 0; from < kRanks; ++from)
            for (uint64_t n = 0; n < matrix[from * kRanks + rank]; ++n) CHECK(got[at++] == static_cast<int16_t>(from));
          uint64_t counts[] = {1, 2, 3}, places[] = {5, 3, 0};
          std::vector<uint8_t> own(rank + 1, static_cast<uint8_t>(rank)), gathered(6, 9);
          CHECK(HcclAllGatherV(own.data(), rank + 1, gathered.data(), counts, places, 7, comm, stream) == HCCL_SUCCESS);
          finish();
          CHECK((gathered == std::vector<uint8_t>{2, 2, 2, 1, 1, 0}));
        }) == kFine);
}

void test_transfers() {
  CHECK(on_ranks([](uint32_t rank, void* comm) {
          const uint32_t right = (rank + 1) % kRanks, left = (rank + kRanks - 1) % kRanks;
          std::vector<float> sent(1 << 18, static_cast<float>(rank)), got(1 << 18);
          CHECK(HcclSend(sent.data(), sent.size(), 4, right, comm, stream) == HCCL_SUCCESS);
          CHECK(HcclRecv(got.data(), got.size(), 4, left, comm, stream) == HCCL_SUCCESS);
          finish();
          CHECK(got[0] == static_cast<float>(left) && got.back() == got[0]);
          // What was received is sent on: the order of the stream holds where the memory is the same.
          CHECK(HcclSend(sent.data(), sent.size(), 4, right, comm, stream) == HCCL_SUCCESS);
          CHECK(HcclRecv(got.data(), got.size(), 4, left, comm, stream) == HCCL_SUCCESS);
          CHECK(HcclSend(got.data(), got.size(), 4, right, comm, stream) == HCCL_SUCCESS);
          CHECK(HcclRecv(sent.data(), sent.size(), 4, left, comm, stream) == HCCL_SUCCESS);
          finish();
          CHECK(sent[5] == static_cast<float>((left + kRanks - 1) % kRanks));
          uint32_t members[] = {2, 0};
          void* sub = nullptr;
          if (rank != 1) {
            CHECK(HcclCreateSubCommConfig(&comm, 2, members, 77, rank == 2 ? 0 : 1, nullptr, &sub) == HCCL_SUCCESS);
            int64_t data = 5;
            CHECK(HcclAllReduce(&data, &data, 1, 5, 0, sub, stream) == HCCL_SUCCESS);
            finish();
            uint32_t size = 0;
            CHECK(data == 10 && HcclGetRankSize(sub, &size) == HCCL_SUCCESS && size == 2);
            CHECK(HcclCommDestroy(sub) == HCCL_SUCCESS);
          }
        }) == kFine);
}

void test_uneven() {
  CHECK(on_ranks([](uint32_t rank, void* comm) {
          // Rank n gets n + 1 numbers; its part of everybody's data begins at place[n].
          const uint64_t counts[] = {1, 2, 3}, places[] = {5, 3, 0};
          std::vector<int32_t> data = {1, 2, 3, 4, 5, 6}, part(rank + 1, -1);
          for (int32_t& value : data) value *= static_cast<int32_t>(rank + 1);
          CHECK(HcclReduceScatterV(data.data(), counts, places, part.data(), rank + 1, 2, 0, comm, stream) ==
                HCCL_SUCCESS);
          finish();
          for (uint32_t n = 0; n <= rank; ++n) CHECK(part[n] == 6 * static_cast<int32_t>(places[rank] + n + 1));
          // Rank `from` sends from + to numbers to rank `to`, and leaves a gap after each part.
          std::vector<uint64_t> sent(kRanks), sent_at(kRanks), got(kRanks), got_at(kRanks);
          uint64_t out = 0, in = 0;
          for (uint32_t other = 0; other < kRanks; ++other) {
            sent[other] = got[other] = rank + other;
            sent_at[other] = out;
            got_at[other] = in;
            out += sent[other] + 1;
            in += got[other] + 1;
          }
          std::vector<int64_t> from(out, static_cast<int64_t>(rank)), to(in, -1);
          CHECK(HcclAlltoAllV(from.data(), sent.data(), sent_at.data(), 5, to.data(), got.data(), got_at.data(), 5, comm,
                              stream) == HCCL_SUCCESS);
          finish();
          for (uint32_t other = 0; other < kRanks; ++other) {
            for (uint64_t n = 0; n < got[other]; ++n) CHECK(to[got_at[other] + n] == static_cast<int64_t>(other));
            CHECK(to[got_at[other] + got[other]] == -1);
          }
          // Ranks that disagree about how much goes where are named.
          if (rank == 2) ++sent[0];
          CHECK(HcclAlltoAllV(from.data(), sent.data(), sent_at.data(), 5, to.data(), got.data(), got_at.data(), 5, comm,
                              stream) == HCCL_SUCCESS);
          CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_INTERNAL_ERROR);
          const std::string text = aclGetRecentErrMsg();
          CHECK(text.find("rank 2 (") != std::string::npos && text.find("has 3 elements and rank 0") != std::string::npos);
        }) == kFine);
}

// The vendor's HcclSendRecvItem.
struct Item {
  int32_t direction;  // 0: send
  void* data;
  uint64_t count;
  int32_t type;
  uint32_t peer;
};

void test_batches() {
  for (const Join how : {Join::kConfig, Join::kScalable})
    CHECK(on_ranks([](uint32_t rank, void* comm) {
            char name[128] = "";
            uint32_t id = 9;
            CHECK(HcclGetCommName(comm, name) == HCCL_SUCCESS && std::string(name) == "by-hand");
            CHECK(HcclGetRankId(comm, &id) == HCCL_SUCCESS && id == rank);
            // Everybody with everybody, itself too, the receives first.
            std::vector<std::vector<double>> in(kRanks, std::vector<double>(50000)), out(kRanks);
            std::vector<Item> items;
            for (uint32_t peer = 0; peer < kRanks; ++peer) items.push_back({1, in[peer].data(), 50000, 10, peer});
            for (uint32_t peer = 0; peer < kRanks; ++peer) {
              out[peer].assign(50000, 10.0 * rank + peer);
              items.push_back({0, out[peer].data(), 50000, 10, peer});
            }
            CHECK(HcclBatchSendRecv(items.data(), static_cast<uint32_t>(items.size()), comm, stream) == HCCL_SUCCESS);
            finish();
            for (uint32_t peer = 0; peer < kRanks; ++peer) CHECK(in[peer].front() == 10.0 * peer + rank && in[peer].back() == in[peer][0]);
            CHECK(HcclGroupEnd() == HCCL_E_PARA);
            CHECK(HcclGroupStart() == HCCL_SUCCESS && HcclGroupStart() == HCCL_SUCCESS);
            int32_t sum = 1, gathered[kRanks] = {};
            CHECK(HcclAllReduce(&sum, &sum, 1, 2, 0, comm, stream) == HCCL_SUCCESS);
            CHECK(HcclAllGather(&sum, gathered, 1, 2, comm, stream) == HCCL_SUCCESS);
            CHECK(HcclGroupEnd() == HCCL_SUCCESS && HcclGroupEnd() == HCCL_SUCCESS);
            finish();
            CHECK(sum == static_cast<int32_t>(kRanks) && gathered[kRanks - 1] == sum);
            items[0].peer = kRanks;
            CHECK(HcclBatchSendRecv(items.data(), 1, comm, stream) == HCCL_E_PARA);
          }, how) == kFine);
}

// All ranks in one process, each with its own device and stream.
void test_one_process() {
  const pid_t child = fork();
  if (child == 0) {
    int32_t devices[] = {2, 0, 1}, twice[] = {0, 0};
    void *comms[kRanks], *streams[kRanks];
    begin(0);
    CHECK(HcclCommInitAll(2, twice, comms) == HCCL_E_PARA && HcclCommInitAll(1, nullptr, comms) == HCCL_E_PTR);
    CHECK(HcclCommInitAll(kRanks, devices, comms) == HCCL_SUCCESS);
    std::vector<std::vector<float>> data;
    for (uint32_t rank = 0; rank < kRanks; ++rank) data.emplace_back(300000, static_cast<float>(rank + 1));
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      uint32_t id = 9;
      CHECK(aclrtSetDevice(devices[rank]) == ACL_SUCCESS && aclrtCreateStream(&streams[rank]) == ACL_SUCCESS);
      CHECK(HcclGetRankId(comms[rank], &id) == HCCL_SUCCESS && id == rank);
      CHECK(HcclAllReduce(data[rank].data(), data[rank].data(), 300000, 4, 0, comms[rank], streams[rank]) == HCCL_SUCCESS);
    }
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      CHECK(aclrtSynchronizeStream(streams[rank]) == ACL_SUCCESS);
      CHECK(data[rank].front() == 6 && data[rank].back() == 6);
    }
    for (void* comm : comms) CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    std::exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

void test_faults() {
  setenv("HCCL_EXEC_TIMEOUT", "20", 1);
  CHECK(on_ranks([](uint32_t rank, void* comm) {
          std::vector<float> data(100);
          CHECK(HcclAllReduce(data.data(), data.data(), rank == 1 ? 50 : 100, 4, 0, comm, stream) == HCCL_SUCCESS);
          CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_INTERNAL_ERROR);
          const std::string text = aclGetRecentErrMsg();
          CHECK(text.find("EI0005") != std::string::npos && text.find("AllReduce(50 float32, sum)") != std::string::npos);
          int32_t error = 0;
          CHECK(HcclGetCommAsyncError(comm, &error) == HCCL_SUCCESS && error == HCCL_E_PARA);
          CHECK(HcclBarrier(comm, stream) == HCCL_E_PARA);
        }) == kFine);
  const std::vector<int> codes = on_ranks([](uint32_t rank, void* comm) {
    if (rank == 2) kill(getpid(), SIGKILL);
    float data = 0;
    CHECK(HcclAllReduce(&data, &data, 1, 4, 0, comm, stream) == HCCL_SUCCESS);
    CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_FFTS_PLUS_TIMEOUT);
    CHECK(std::string(aclGetRecentErrMsg()).find("rank 2") != std::string::npos);
  });
  CHECK((codes == std::vector<int>{0, 0, -SIGKILL}));
}

std::string table(const std::string& version, const std::string& rest) {
  return "{\"version\": \"" + version + "\", \"status\": \"completed\", " + rest + "}";
}

void test_tables() {
  begin(0);
  void* comm = nullptr;
  const auto join = [&](const std::string& text) {
    return HcclCommInitClusterInfoMemConfig(text.c_str(), 0, nullptr, &comm);
  };
  const std::string device = R"({"device_id": "0", "rank_id": "0"})";
  CHECK(join(table("1.0", R"("server_list": [{"server_id": "a", "device": [)" + device + "]}]")) == HCCL_SUCCESS);
  CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
  CHECK(join(table("2.0", R"("rank_list": [{"rank_id": 0, "device_id": 0}])")) == HCCL_SUCCESS);
  CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
  const std::string far = R"("server_list": [{"device": [)" + device + R"(]}, {"device": [{"device_id": "0", "rank_id": "1"}]}])";
  CHECK(join(table("1.2", far)) == HCCL_E_NOT_SUPPORT);
  CHECK(std::strstr(aclGetRecentErrMsg(), "2 machines") != nullptr);
  CHECK(join(table("1.0", R"("server_list": [{"device": [{"device_id": "0", "rank_id": "3"}]}])")) == HCCL_E_PARA);
  CHECK(join(table("3.0", R"("server_list": [])")) == HCCL_E_PARA);
  CHECK(join("{") == HCCL_E_PARA);
  CHECK(std::strstr(aclGetRecentErrMsg(), "not JSON") != nullptr);
  CHECK(HcclCommInitClusterInfo("/nowhere", 0, &comm) == HCCL_E_OPEN_FILE_FAILURE);
}

}  // namespace

int main() {
  setenv("JUMAR_MACHINE", ("hccl-test-" + std::to_string(getpid())).c_str(), 1);
  test_types();
  test_moves();
  test_transfers();
  test_uneven();
  test_batches();
  test_one_process();
  test_faults();
  test_tables();
  CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}
