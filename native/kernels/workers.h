// Long rows are worked on by several threads. What a thread computes does not depend on their number.
#pragma once
#include <cstdint>
#include <functional>

namespace jumar::kernels {

int64_t workers();  // OMP_NUM_THREADS, else the cores that this process may use

// Calls `run(first, last)` for parts of [0, size), each of at least `least` items; rethrows what one of them throws.
void share(int64_t size, int64_t least, const std::function<void(int64_t, int64_t)>& run);

constexpr int64_t kLongRow = 1 << 17;  // elements: below, starting a thread costs more than it saves

}  // namespace jumar::kernels
