// Rank tables: which rank runs on which card, in the vendor's layouts 1.0, 1.2 and 2.0.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace jumar::hccl {

struct RankTable {
  std::string text;                     // as written: the same for all ranks
  std::map<uint32_t, int32_t> devices;  // by rank

  void check(uint32_t rank) const;  // throws Broken when this process cannot be that rank
};

// Both throw Broken with what is wrong and where.
RankTable read_table_file(const std::string& path);
RankTable parse_table(const std::string& what, const std::string& text);

}  // namespace jumar::hccl
