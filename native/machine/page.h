// Pages of this machine: 4 KiB, on many Arm servers 64.
#pragma once
#include <unistd.h>

#include <cstddef>

namespace jumar {

// As many bytes as the pages have that hold so many.
inline size_t whole_pages(size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace jumar
