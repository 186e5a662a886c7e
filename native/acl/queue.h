// What a stream still has to do. Operators and copies are done when their call returns; only collectives, which wait
// for other processes, are queued: each busy stream has a thread that works them off in order.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace jumar {

struct Failure {
  int32_t code = 0;  // an aclError; 0: none
  std::string text;
};

struct Span {
  const char* begin;
  size_t bytes;
  bool written;
};

struct Work {
  std::function<Failure()> run;  // returns when the work is done
  // For work that may wait side by side with its neighbours: begins it without waiting.
  std::function<void()> start;
  std::vector<Span> spans;  // memory in use, so that only independent work begins early
};

// A point in a stream: reached when the work before it is done.
struct Mark {
  std::atomic<uint64_t> time{0};  // nanoseconds; 0: not reached
  Failure failure;                // of the work before it; may be read once the time is set
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  void submit(Work work);
  std::shared_ptr<Mark> mark();
  Failure wait(const Mark& mark);  // blocks; the failure of the stream up to there
  Failure drain();
  bool idle();
  void set_captured(bool captured) { captured_ = captured; }

 private:
  struct Entry {
    Work work;                   // `run` is empty for a mark
    std::shared_ptr<Mark> mark;  // set for a mark
    bool started = false;
  };
  void serve();
  void reach(Mark& mark);
  void start_together();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;
  Failure failure_;  // of the first work that failed; everything after it fails too
  bool serving_ = false;
  std::atomic<bool> captured_{false};  // queued work is not recorded: it fails, or a replay would leave it out
};

// Work that is queued in this process: 0 lets every caller skip looking at streams.
extern std::atomic<int> queued_work;

// The queue of a stream; nullptr is the default stream. Kept alive by whoever holds it.
std::shared_ptr<Queue> queue_of(void* stream);

// Waits for one stream, or for all, and turns a failure into the error of the calling thread.
int32_t finish_stream(const char* function, void* stream);
int32_t finish_all(const char* function);

uint64_t now();

}  // namespace jumar
