// Send and Recv: any number of them are on their way at once, moved by one thread of the communicator.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "hccl/comm.h"

namespace jumar::hccl {

struct Transfer {
  bool send;
  uint32_t peer;
  char* data;
  uint64_t count, bytes;
  int32_t type;
  uint64_t moved = 0;
  bool announced = false;  // the head of the message was written or read
  bool done = false;
  bool told = false;  // that it takes long
  Clock::time_point since{};
};

class Peer2Peer {
 public:
  explicit Peer2Peer(Comm& comm) : comm_(comm) {}
  ~Peer2Peer();

  void post(const std::vector<std::shared_ptr<Transfer>>& transfers);
  void wait(const std::vector<std::shared_ptr<Transfer>>& transfers);  // throws Broken

 private:
  using Line = std::pair<uint32_t, bool>;  // peer and direction: messages of one line keep their order
  void serve();
  bool move(std::vector<std::shared_ptr<Transfer>>& heads);
  bool push(Transfer& transfer);
  bool pull(Transfer& transfer);
  void look_for_missing(const std::vector<std::shared_ptr<Transfer>>& heads);
  void ring(uint32_t rank);

  Comm& comm_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Line, std::deque<std::shared_ptr<Transfer>>> lines_;
  std::thread thread_;
  bool ending_ = false;
  std::unique_ptr<Broken> broken_;
};

}  // namespace jumar::hccl
