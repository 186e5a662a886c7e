#include "acl/queue.h"

#include <pthread.h>

#include <chrono>
#include <set>
#include <thread>

#include "machine/error.h"
#include "machine/refusals.h"

namespace jumar {
namespace {

// Queues that ever had work. Never destroyed: their threads may outlive the end of `main`.
struct Known {
  std::mutex mutex;
  std::set<std::shared_ptr<Queue>> queues;
};

Known& known() {
  static Known* value = new Known;
  return *value;
}

bool overlap(const Span& a, const Span& b) {
  return (a.written || b.written) && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

// A child of fork has none of the threads: what its parent had queued is not its own.
void forget_queues() {
  new (&known()) Known;
  queued_work = 0;
}

__attribute__((constructor)) void watch_fork() { pthread_atfork(nullptr, nullptr, forget_queues); }

}  // namespace

std::atomic<int> queued_work{0};

uint64_t now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// Work at the head that may wait side by side begins together, up to the first one that needs another's memory.
void Queue::start_together() {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->mark != nullptr) continue;
    if (!entry->work.start) return;
    if (entry->started) continue;
    for (auto earlier = entries_.begin(); earlier != entry; ++earlier)
      for (const Span& own : entry->work.spans)
        for (const Span& other : earlier->work.spans)
          if (overlap(own, other)) return;
    entry->started = true;
    entry->work.start();
  }
}

void Queue::submit(Work work) {
  if (captured_) {
    work.run = [run = std::move(work.run)]() -> Failure {
      Failure failure = run();  // other ranks wait for it
      if (failure.code != 0) return failure;
      note(Refusal::kArguments, "collective");
      return {ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a collective inside a captured graph is not emulated"};
    };
  }
  {
    std::lock_guard<std::mutex> guard(known().mutex);
    known().queues.insert(shared_from_this());
  }
  std::lock_guard<std::mutex> guard(mutex_);
  ++queued_work;
  entries_.push_back({std::move(work), nullptr});
  start_together();
  if (!serving_) {
    serving_ = true;
    std::thread([self = shared_from_this()] { self->serve(); }).detach();
  }
  changed_.notify_all();
}

void Queue::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !entries_.empty(); });
    start_together();
    Entry& entry = entries_.front();  // a deque keeps references valid while others are appended
    if (entry.mark != nullptr) {
      reach(*entry.mark);
    } else {
      // After a failure too: other communicators may be whole, and on a broken one it ends at once.
      lock.unlock();
      Failure failure = entry.work.run();
      lock.lock();
      if (failure.code != 0 && failure_.code == 0) failure_ = std::move(failure);
      --queued_work;
    }
    Entry done = std::move(entries_.front());
    entries_.pop_front();
    changed_.notify_all();
  }
}

void Queue::reach(Mark& mark) {
  mark.failure = failure_;
  mark.time = now();
}

std::shared_ptr<Mark> Queue::mark() {
  auto mark = std::make_shared<Mark>();
  std::lock_guard<std::mutex> guard(mutex_);
  if (entries_.empty()) {
    reach(*mark);
  } else {
    Entry entry;
    entry.mark = mark;
    entries_.push_back(std::move(entry));
    changed_.notify_all();
  }
  return mark;
}

Failure Queue::wait(const Mark& mark) {
  if (mark.time == 0) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&mark] { return mark.time != 0; });
  }
  return mark.failure;
}

Failure Queue::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return entries_.empty(); });
  return failure_;
}

bool Queue::idle() {
  std::lock_guard<std::mutex> guard(mutex_);
  return entries_.empty();
}

int32_t finish_stream(const char* function, void* stream) {
  const std::shared_ptr<Queue> queue = queue_of(stream);
  if (queue == nullptr) return ACL_SUCCESS;
  const Failure failure = queue->drain();
  return failure.code == 0 ? ACL_SUCCESS : fail(failure.code, "%s: %s", function, failure.text.c_str());
}

int32_t finish_all(const char* function) {
  std::set<std::shared_ptr<Queue>> queues;
  {
    std::lock_guard<std::mutex> guard(known().mutex);
    queues = known().queues;
  }
  int32_t code = ACL_SUCCESS;
  for (const auto& queue : queues) {
    const Failure failure = queue->drain();
    if (failure.code != 0) code = fail(failure.code, "%s: %s", function, failure.text.c_str());
  }
  return code;
}

}  // namespace jumar

// Called by the glue before each operator, which runs on the caller's thread: what the stream still has to do comes
// first.
extern "C" __attribute__((visibility("default"))) int32_t jumar_finish_stream(void* stream) {
  return jumar::finish_stream("operator", stream);
}

extern "C" __attribute__((visibility("default"))) const std::atomic<int>* jumar_queued_work() {
  return &jumar::queued_work;
}
