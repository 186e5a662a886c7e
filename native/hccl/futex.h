// Sleeping on a word that other processes change.
#pragma once
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace jumar::hccl {

inline void sleep_on(std::atomic<uint32_t>& word, uint32_t seen, long milliseconds) {
  const timespec limit{milliseconds / 1000, milliseconds % 1000 * 1000000};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr, 0);
}

inline void wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");  // `yield` does nothing on most processors
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// Changes soon, most of the time: looking for a moment is cheaper than sleeping. Others may need the processor.
inline bool spin(const std::atomic<uint32_t>& word, uint32_t seen) {
  for (int turn = 0; turn < 100; ++turn) {
    if (word.load(std::memory_order_acquire) != seen) return true;
    relax();
  }
  for (int turn = 0; turn < 4; ++turn) {
    sched_yield();
    if (word.load(std::memory_order_acquire) != seen) return true;
  }
  return false;
}

}  // namespace jumar::hccl
