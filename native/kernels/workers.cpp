#include "kernels/workers.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace jumar::kernels {
namespace {

int64_t count_workers() {
  const char* asked = std::getenv("OMP_NUM_THREADS");
  const int64_t wanted = asked != nullptr ? std::strtol(asked, nullptr, 10) : 0;
  if (wanted > 0) return wanted;
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? std::max(CPU_COUNT(&cores), 1) : 1;
}

}  // namespace

int64_t workers() {
  static const int64_t found = count_workers();
  return found;
}

void share(int64_t size, int64_t least, const std::function<void(int64_t, int64_t)>& run) {
  const int64_t parts = std::min(workers(), size / std::max<int64_t>(least, 1));
  if (parts < 2) {
    if (size > 0) run(0, size);
    return;
  }
  std::vector<std::exception_ptr> problems(static_cast<size_t>(parts));
  const auto work = [&](int64_t part) {
    try {
      run(size * part / parts, size * (part + 1) / parts);
    } catch (...) {
      problems[static_cast<size_t>(part)] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int64_t part = 1; part < parts; ++part) {
    try {
      others.emplace_back(work, part);
    } catch (const std::system_error&) {  // no more threads for this process
      work(part);
    }
  }
  work(0);
  for (auto& other : others) other.join();
  for (const auto& problem : problems)
    if (problem) std::rethrow_exception(problem);
}

}  // namespace jumar::kernels
